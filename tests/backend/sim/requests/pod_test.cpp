// SPDX-License-Identifier: Apache-2.0
// The pod of a server, as its requests and the files of the class show it.
#include "neuronbook/backend/sim/requests/pod.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr Nanoseconds kSecond{1'000'000'000};

std::unique_ptr<SimKernel> server(const char* instance, const char* driver, SimPod pod = {},
                                  SimParameters parameters = {}) {
    SimOptions options{.instance = instance, .driver_version = driver};
    options.pod = pod;
    options.parameters = parameters;
    auto made = SimKernel::make(options);
    REQUIRE(made);
    return *std::move(made);
}

struct Status {
    std::int64_t answer = 0;
    uapi::PodStatusV2 is{};
    [[nodiscard]] std::uint64_t id() const {
        std::uint64_t value = 0;
        std::memcpy(&value, is.v1.pod_id, sizeof value);
        return value;
    }
};

Status status(Process& process) {
    Status got;
    got.is.v1.sz = 276;
    got.answer = process.ask(0xC1144E7A, got.is);
    return got;
}

std::int64_t control(Process& process, std::uint32_t ctrl, std::uint32_t mode = 0,
                     std::uint32_t timeout = 0) {
    uapi::PodCtrlV2 ask;
    ask.v1.sz = 20;
    ask.v1.ctrl = ctrl;
    ask.v1.timeout = timeout;
    ask.mode = mode;
    return process.ask(0xC0144E7B, ask);
}

std::string text(SimKernel& kernel, const std::string& name) {
    std::array<char, 64> buffer;
    const auto size = kernel.read_file("/sys/class/neuron_device/" + name, buffer);
    return size < 0 ? "none" : std::string(buffer.data(), static_cast<std::size_t>(size));
}

SimPod pod_of_four(std::uint32_t node) {
    SimPod pod;
    pod.links = SimPod::Links::Both;
    pod.node = node;
    pod.serial = 0x1001;
    return pod;
}

} // namespace

TEST_CASE("a server that cannot be joined says so, and any control is taken", "[sim][pod]") {
    for (const auto* instance : {"trn1.2xlarge", "trn2.48xlarge", "trn3sn.3xlarge"}) {
        const auto kernel = make_kernel(instance);
        Process process(*kernel, 1000, Access::WriteOnly);
        const auto got = status(process);
        CHECK(got.answer == 0);
        CHECK(got.is.v1.state == 4);
        CHECK(got.is.v1.pod_type == 0);
        CHECK(got.is.v1.node_id == -1);
        CHECK(got.is.modes_supported == 0);
        CHECK(got.is.v1.sz == 0); // the whole structure is the driver's
        uapi::PodCtrl ask{.sz = 16, .reserved0 = 0, .ctrl = 99, .timeout = 0, .state = 77};
        CHECK(process.ask(0xC0104E7B, ask) == 0);
        CHECK(ask.state == (std::string(instance) == "trn1.2xlarge" ? 4 : 77));
    }
}

TEST_CASE("structures must name their own size, requests their own word", "[sim][pod]") {
    const auto kernel = make_kernel("trn2u.48xlarge");
    Process process(*kernel);
    uapi::PodStatusV2 pod;
    pod.v1.sz = 268;
    CHECK(process.ask(0xC1144E7A, pod) == -EINVAL);
    CHECK(process.ask(0xC10C4E7A, pod) == 0);
    CHECK(process.ask(0xC1004E7A, pod) == -EINVAL);
    CHECK(process.ask(0x81144E7A, pod) == -EINVAL);
    CHECK(process.ask(0xC1144E7A, nullptr) == 276);
    uapi::PodInfo info;
    CHECK(process.ask(0xC1044E79, info) == -EINVAL);
    info.sz = 260;
    CHECK(process.ask(0xC1044E79, info) == 0);
    CHECK(info.pod_type == 1);
    uapi::PodCtrlV2 ask;
    ask.v1.sz = 16;
    CHECK(process.ask(0xC0144E7B, ask) == -EINVAL);
    CHECK(process.ask(0xC0144E7B, nullptr) == 20);
}

TEST_CASE("a pod of four is cut in halves or taken whole", "[sim][pod]") {
    struct Row {
        std::uint32_t node, mode;
        int node_id;
        std::uint32_t size, state;
        std::uint64_t id;
    };
    const Row rows[] = {{0, 1, 0, 4, 2, 0x1001}, {3, 1, 3, 4, 2, 0x1001}, {1, 3, 1, 2, 2, 0x1001},
                        {2, 3, 0, 2, 2, 0x1000}, {3, 3, 1, 2, 2, 0x1000}, {3, 4, -1, 0, 4, 0}};
    for (const auto& row : rows) {
        CAPTURE(row.node, row.mode);
        const auto kernel = server("trn2u.48xlarge", "2.24.7", pod_of_four(row.node));
        Process process(*kernel);
        CHECK(status(process).is.v1.node_id == static_cast<int>(row.node));
        CHECK(control(process, 3, row.mode) == 0);
        const auto got = status(process);
        CHECK(got.answer == 0);
        CHECK(got.is.v1.node_id == row.node_id);
        CHECK(got.is.v1.pod_sz == row.size);
        CHECK(got.is.v1.state == row.state);
        CHECK(got.is.mode == row.mode);
        CHECK(got.is.modes_supported == 0b11010); // X4, X2V, X1
        CHECK(got.id() == row.id);
    }
}

TEST_CASE("a mode is set once, until no core is marked any more", "[sim][pod]") {
    const auto kernel = server("trn3p.48xlarge", "2.26.5", pod_of_four(1));
    Process process(*kernel);
    CHECK(control(process, 3, 0) == -524);
    CHECK(control(process, 3, 2) == -524);
    CHECK(control(process, 3, 70) == -524);
    CHECK(control(process, 3, 1) == 0);
    CHECK(control(process, 3, 1) == 0);
    CHECK(control(process, 1) == -EEXIST); // a server on its own is a mode too
    CHECK(control(process, 7) == -EINVAL);
    {
        Process marker(*kernel, 1, Access::WriteOnly);
        CHECK(marker.port.close(marker.fd) == 0); // unmarks what it had: nothing
    }
    CHECK(status(process).is.mode == 0);
    CHECK(control(process, 1) == 0);
    CHECK(status(process).is.v1.state == 4);
}

TEST_CASE("the dies of servers 1 and 3 are numbered the other way round", "[sim][pod]") {
    struct {
        uapi::NcMap head;
        uapi::NcMapEntry entries[8];
    } map{};
    const auto first = [&map](std::unique_ptr<SimKernel> kernel, std::uint32_t version = 0) {
        uapi::GetLogicalToPhysicalNcMap ask{&map.head, 8, version};
        CHECK(Process(*kernel).ask(uapi::kGetLogicalToPhysicalNcMap, ask) == 0);
        return map.entries[0].device_nc_idx;
    };
    CHECK(first(server("trn2u.48xlarge", "2.30.2", pod_of_four(2))) == 4);
    CHECK(first(server("trn2u.48xlarge", "2.30.2", pod_of_four(3))) == 0);
    CHECK(first(server("trn2u.48xlarge", "2.30.2", pod_of_four(3)), 1) == 4);
    CHECK(first(server("trn2u.48xlarge", "2.30.2")) == 4); // nobody elected
    CHECK(first(server("trn2.3xlarge", "2.26.5", {}, {.force_die_flip = 1})) == 0);
    CHECK(first(server("trn2.3xlarge", "2.30.2", {}, {.force_die_flip = 1}), 1) == 4);
    CHECK(first(server("trn3.48xlarge", "2.30.2", {}, {.force_die_flip = 1})) == 4);
}

TEST_CASE("an election is busy until it is decided; links that are silent take all its time",
          "[sim][pod]") {
    struct Row {
        SimPod::Links links;
        std::uint64_t seconds; ///< still busy then, and decided two later
        std::uint32_t modes, state;
    };
    using Links = SimPod::Links;
    const Row rows[] = {{Links::None, 839, 0b10000, 4},
                        {Links::Both, 0, 0b11010, 2},
                        {Links::Right, 600, 0b10100, 2},
                        {Links::Left, 720, 0b11000, 2}};
    for (const auto& row : rows) {
        SimPod pod;
        pod.links = row.links;
        pod.election = SimPod::Election::AtLoad;
        const auto kernel = server("trn2u.48xlarge", "2.26.5", pod);
        Process process(*kernel);
        kernel->sleep({row.seconds * kSecond.count});
        auto got = status(process);
        CHECK(got.answer == -EBUSY);
        CHECK(got.is.v1.state == 1);
        CHECK(got.is.v1.pod_type == 1);
        CHECK(got.is.v1.node_id == -1);
        CHECK(text(*kernel, "node_id_4") == "busy\n");
        CHECK(text(*kernel, "ultraserver_mode") == "busy\n");
        CHECK(text(*kernel, "server_id_2") == "0000000000000000\n");
        CHECK(control(process, 3, 4) == -EBUSY);
        kernel->sleep({2 * kSecond.count});
        got = status(process);
        CHECK(got.answer == 0);
        CHECK(got.is.v1.state == row.state);
        CHECK(got.is.modes_supported == row.modes);
    }
}

TEST_CASE("an election can be asked for again while no core is marked, and be stopped",
          "[sim][pod]") {
    const auto kernel = server("trn2u.48xlarge", "2.26.5", pod_of_four(2));
    Process process(*kernel);
    Process marker(*kernel, 7, Access::WriteOnly);
    uapi::CrwlNcMap map{};
    map.nc_count = 1;
    CHECK(marker.ask(uapi::kCrwlNcRangeMark, map) == 0);
    CHECK(control(process, 0, 0, 60) == -EAGAIN);
    CHECK(marker.port.close(marker.fd) == 0);
    CHECK(control(process, 0, 0, 60) == 0);
    CHECK(status(process).answer == -EBUSY);
    CHECK(control(process, 0, 0, 60) == 0);
    kernel->sleep({2 * kSecond.count});
    CHECK(status(process).is.v1.state == 2);
    CHECK(control(process, 0, 0, 60) == 0);
    CHECK(control(process, 2) == 0);
    CHECK(status(process).answer == 0);
    CHECK(status(process).is.v1.state == 4);
    CHECK(control(process, 3, 4) == 0); // a server on its own is what is left
}

TEST_CASE("with a device missing nobody is elected until the election is given up", "[sim][pod]") {
    SimOptions options{.instance = "trn2u.48xlarge", .driver_version = "2.24.7"};
    options.devices = 15;
    const auto kernel = std::move(*SimKernel::make(options));
    kernel->sleep({10'000 * kSecond.count});
    Process process(*kernel);
    CHECK(status(process).answer == -EBUSY);
    CHECK(control(process, 0) == -EAGAIN);
    CHECK(control(process, 2) == 0);
    CHECK(status(process).answer == 0);
}

TEST_CASE("behind a switch the pod is what parameters or firmware say", "[sim][pod]") {
    SimPod pod;
    pod.server = 1;
    auto kernel = server("trn3s.48xlarge", "2.26.5", pod, {.userver_pds_node_cnt = 2});
    Process process(*kernel);
    auto got = status(process);
    CHECK(got.answer == 0);
    CHECK(got.is.v1.state == 2);
    CHECK(got.is.v1.pod_type == 2);
    CHECK(got.is.v1.pod_sz == 2);
    CHECK(got.is.v1.node_id == 1);
    auto unset = server("trn3s.48xlarge", "2.26.5", pod);
    Process other(*unset);
    CHECK(status(other).is.v1.node_id == -1);
    for (const auto& [number, node] : {std::pair{2u, 3}, {3u, 2}}) {
        pod.server = number;
        auto newest = server("trn3sn.48xlarge", "2.30.2", pod);
        Process third(*newest);
        CHECK(status(third).is.v1.node_id == node);
        CHECK(status(third).is.v1.pod_sz == 4);
        CHECK(status(third).id() == 1);
        CHECK(text(*newest, "node_cnt") == "4\n");
        CHECK(text(*newest, "reservation_id") == "0000000000000001\n");
        CHECK(text(*newest, "node_id_2") == "none");
    }
    const auto max = server("trn2en.24xlarge", "2.30.2");
    CHECK(text(*max, "node_cnt") == "1\n");
    CHECK(text(*max, "ultraserver_mode") == "4\n");
}

TEST_CASE("the files of a pod of four show a half and the whole, whatever mode is set",
          "[sim][pod]") {
    const auto kernel = server("trn2u.48xlarge", "2.30.2", pod_of_four(3));
    CHECK(text(*kernel, "node_id_4") == "3\n");
    CHECK(text(*kernel, "server_id_4") == "0000000000001001\n");
    CHECK(text(*kernel, "node_id_2") == "1\n");
    CHECK(text(*kernel, "server_id_2") == "0000000000001000\n");
    CHECK(text(*kernel, "ultraserver_mode") == "1,3,4\n");
    CHECK(text(*kernel, "hbm_7200_capable") == "0\n");
    const auto failed = server("trn2u.48xlarge", "2.26.5");
    CHECK(text(*failed, "node_id_4") == "-1\n");
    CHECK(text(*failed, "ultraserver_mode") == "4\n");
    CHECK(text(*failed, "hbm_7200_capable") == "none");
    const auto plain = server("trn2.48xlarge", "2.30.2");
    CHECK(text(*plain, "node_id_2") == "none");
    CHECK(text(*plain, "current_perf_profile") == "0\n");
}

TEST_CASE("behind a switch an open waits for the pod since 2.27, until it is given up",
          "[sim][pod]") {
    SimOptions options{.instance = "trn2es.48xlarge", .driver_version = "2.30.2"};
    options.pod.server = 0;
    options.devices = 15;
    auto incomplete = SimKernel::make(options);
    REQUIRE(incomplete);
    SimPort port(**incomplete);
    CHECK(port.open("/dev/neuron0", Access::ReadWrite) == -EINTR);
    Process misc(**incomplete, 1000, Access::WriteOnly);
    CHECK(control(misc, 2) == 0);
    CHECK(port.open("/dev/neuron0", Access::ReadWrite) > 0);
    options.driver_version = "2.26.5";
    auto older = SimKernel::make(options);
    REQUIRE(older);
    CHECK(SimPort(**older).open("/dev/neuron0", Access::ReadWrite) > 0);
    options.devices = 16;
    options.driver_version = "2.30.2";
    auto complete = SimKernel::make(options);
    REQUIRE(complete);
    CHECK(SimPort(**complete).open("/dev/neuron0", Access::ReadWrite) > 0);
}

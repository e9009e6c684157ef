// SPDX-License-Identifier: Apache-2.0
// Resets of cores and devices: what they do at once, how they end, who waits for them.
#include "neuronbook/backend/sim/requests/resets.hpp"

#include <cerrno>
#include <string>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint64_t kTenth = 100'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

struct Resetter : Process {
    using Process::Process;

    std::int64_t reset(std::uint32_t map) {
        uapi::DeviceReset form{map, 0};
        return ask(uapi::kNcReset, form);
    }
    std::int32_t ready(std::int32_t pid) {
        uapi::DeviceReady form{static_cast<std::uint32_t>(pid), 77};
        error = ask(uapi::kNcResetReady, form);
        return form.result;
    }
    int device_ready() {
        std::uint8_t byte = 9;
        error = ask(uapi::kDeviceReady, &byte);
        return byte;
    }
};

std::string file(const SimKernel& kernel, const std::string& name) {
    char text[64];
    const auto size = kernel.read_file("/sys/class/neuron_device/neuron0/" + name, text);
    return size < 0 ? "none" : std::string(text, static_cast<std::size_t>(size));
}

std::string count(const SimKernel& kernel, int core, const char* what = "reset_req_count/total") {
    return file(kernel, "neuron_core" + std::to_string(core) + "/stats/other_info/" + what);
}

std::unique_ptr<SimKernel> faulty(const SimFaults& faults,
                                  const std::string& instance = "trn1.2xlarge") {
    SimOptions options;
    options.instance = instance;
    options.faults = faults;
    return std::move(*SimKernel::make(options));
}

SimFaults hang() {
    SimFaults faults;
    faults.resets_hang = true;
    return faults;
}

} // namespace

TEST_CASE("each core of the map counts a reset, all of them the one at load", "[sim][reset]") {
    const auto kernel = make_kernel();
    Resetter one(*kernel, 1);
    CHECK(count(*kernel, 0) == "1\n");
    CHECK(count(*kernel, 1) == "1\n");
    CHECK(one.reset(1) == 0);
    CHECK(one.reset(1) == 1); // refused, so not counted
    CHECK(count(*kernel, 0) == "2\n");
    CHECK(count(*kernel, 0, "reset_req_count/present") == "1\n");
    CHECK(count(*kernel, 1) == "1\n");
    CHECK(one.ready(1) == 0);
    CHECK(one.reset(0xFFFFFFFF) == 0);
    CHECK(count(*kernel, 1) == "2\n");
    CHECK(one.ready(1) == 0);
    CHECK(one.reset(0) == 0); // nothing to do, and done
    CHECK(one.reset(2) == 1);
    CHECK(one.ready(1) == 0);
    CHECK(count(*kernel, 1) == "2\n");
    CHECK(one.reset(0xFFFFFF00) == 0); // cores that no device has
    CHECK(one.ready(1) == 0);
    CHECK(count(*kernel, 1) == "2\n");
    CHECK(count(*kernel, 0, "reset_fail_count/total") == "0\n");
    CHECK(kernel->now().count == 4 * kTenth);
    CHECK(one.ask(uapi::kNcReset, nullptr) == 8);
    CHECK(one.ask(uapi::kNcResetReady, nullptr) == 8);
}

TEST_CASE("one outstanding reset per process and device, which anybody may collect",
          "[sim][reset]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Resetter one(*kernel, 1);
    Resetter elsewhere(*kernel, 1, Access::ReadWrite, "/dev/neuron1");
    Resetter two(*kernel, 2);
    CHECK(one.reset(1) == 0);
    CHECK(elsewhere.reset(1) == 0);
    CHECK(two.reset(2) == 0);
    CHECK(two.ready(1) == 0);
    CHECK(one.ready(1) == 1); // collected already
    CHECK(one.ready(0) == 1);
    CHECK(one.ready(-1) == 1);
    CHECK(one.reset(1) == 0);
    kernel->sleep({kSecond});
    CHECK(one.reset(1) == 1); // over, and not collected
    CHECK(one.device_ready() == 1);
    CHECK(one.reset(1) == 0);
    CHECK(two.ready(2) == 0);
}

TEST_CASE("what is asked for during a reset is done together after it", "[sim][reset]") {
    const auto kernel = make_kernel();
    Resetter one(*kernel, 1);
    Resetter two(*kernel, 2);
    Resetter three(*kernel, 3);
    CHECK(one.reset(1) == 0);
    kernel->sleep({kTenth / 2});
    CHECK(two.reset(1) == 0);
    CHECK(three.reset(2) == 0);
    CHECK(three.ready(3) == 0);
    CHECK(kernel->now().count == 2 * kTenth);
    CHECK(two.ready(2) == 0);
    CHECK(one.ready(1) == 0);
    CHECK(kernel->now().count == 2 * kTenth);
}

TEST_CASE("the oldest forms reset the whole device and never complain", "[sim][reset]") {
    const auto kernel = make_kernel();
    Resetter one(*kernel, 1);
    CHECK(one.device_ready() == 1); // none outstanding
    CHECK(one.ask(uapi::kDeviceReset, nullptr) == 0);
    CHECK(one.ask(uapi::kDeviceReset, nullptr) == 0);
    CHECK(count(*kernel, 1) == "2\n");
    CHECK(one.device_ready() == 1);
    CHECK(kernel->now().count == kTenth);
    kernel->set_faults(HostDeviceId{0}, hang());
    CHECK(one.ask(uapi::kDeviceReset, nullptr) == 0);
    CHECK(one.device_ready() == 0);
    std::uint8_t byte = 0;
    CHECK(one.ask(uapi::kDeviceResetStatus, &byte) == 0);
    CHECK(byte == 1);
}

TEST_CASE("firmware that never acknowledges fails a reset after the retry window", "[sim][reset]") {
    const auto [instance, window] = GENERATE(table<const char*, std::uint64_t>(
        {{"trn1.2xlarge", 120}, {"trn2.3xlarge", 480}, {"trn3pd98.3xlarge", 480}}));
    const auto kernel = make_kernel(instance);
    const bool gone = GENERATE(false, true);
    Resetter one(*kernel, 1);
    SimFaults faults;
    faults.resets_hang = !gone;
    faults.gone = gone;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.reset(1) == 0);
    CHECK(one.ready(1) == 1);
    CHECK(one.error == 0);
    CHECK(kernel->now().count == window * kSecond);
    CHECK(count(*kernel, 0, "reset_fail_count/total") == "1\n");
    CHECK(count(*kernel, 1, "reset_fail_count/total") == "1\n"); // though it was not in the map
    CHECK(file(*kernel, "reset") == "1\n"); // a process's reset does not move the state
    CHECK(Resetter(*kernel, 2).fd > 0);
    kernel->set_faults(HostDeviceId{0}, {});
    CHECK(one.reset(1) == 0);
    CHECK(one.ready(1) == 0);
}

TEST_CASE("firmware that recovers is seen at the next look", "[sim][reset]") {
    const auto kernel = make_kernel();
    Resetter one(*kernel, 1);
    kernel->set_faults(HostDeviceId{0}, hang());
    CHECK(one.reset(1) == 0);
    kernel->sleep({30 * kSecond});
    kernel->set_faults(HostDeviceId{0}, {});
    CHECK(one.ready(1) == 0);
    CHECK(kernel->now().count == 30 * kSecond);
}

TEST_CASE("a device that never got ready cannot be opened", "[sim][reset]") {
    SimFaults faults;
    faults.never_ready = true;
    const auto kernel = faulty(faults);
    CHECK(file(*kernel, "reset") == "0\n");
    CHECK(SimPort(*kernel).open("/dev/neuron0", Access::WriteOnly) > 0); // not held up
    CHECK(kernel->now().count == 0);
    CHECK(SimPort(*kernel).open("/dev/neuron0", Access::ReadWrite) == -EINVAL);
    CHECK(kernel->now().count == kSecond + kTenth);
    CHECK(file(*kernel, "reset") == "2\n");
    CHECK(count(*kernel, 1, "reset_fail_count/total") == "1\n");
    CHECK(SimPort(*kernel).open("/dev/neuron0", Access::ReadOnly) == -EINVAL);
    CHECK(kernel->census().devices[0].attached == 0);
}

TEST_CASE("time alone ends the reset at load", "[sim][reset]") {
    SimFaults faults;
    faults.never_ready = true;
    const auto kernel = faulty(faults);
    CHECK(file(*kernel, "reset") == "0\n");
    kernel->sleep({12 * kSecond});
    CHECK(file(*kernel, "reset") == "2\n");
}

TEST_CASE("opens wait for a reset at load that hangs, each with its own ticket", "[sim][reset]") {
    const auto kernel = faulty(hang(), "trn2.3xlarge");
    TrustedMemory memory;
    std::string path = "/dev/neuron0";
    Request request{OpenRequest{path, 2}};
    const auto first = kernel->submit({1, false}, request, memory, {5 * kSecond});
    REQUIRE(first.waits);
    CHECK(first.until.count == 5 * kSecond + kTenth);
    CHECK(kernel->waiting() == 1);
    // the path was the caller's; a caller that comes back may keep it elsewhere
    path = "/dev/neuron0 and more";
    path.resize(12);
    const std::string copy = "/dev/neuron0";
    request = {OpenRequest{copy, 2}, first.ticket};
    const auto second = kernel->submit({1, false}, request, memory, {6 * kSecond});
    REQUIRE(second.waits);
    CHECK(kernel->waiting() == 1);
    request.ticket = second.ticket;
    const auto last = kernel->submit({1, false}, request, memory, {485 * kSecond});
    CHECK_FALSE(last.waits);
    CHECK(last.value == -EINVAL);
    CHECK(kernel->waiting() == 0);
}

TEST_CASE("a last close waits for the process's reset, and others for that close", "[sim][reset]") {
    const auto kernel = make_kernel();
    Resetter one(*kernel, 1);
    Resetter again(*kernel, 1);
    kernel->set_faults(HostDeviceId{0}, hang());
    CHECK(one.reset(1) == 0);
    CHECK(again.port.close(again.fd) == 0); // not the last
    CHECK(kernel->now().count == 0);
    TrustedMemory memory;
    const auto close = kernel->submit({1, false}, {FlushRequest{one.fd}}, memory, {0});
    REQUIRE(close.waits);
    CHECK(close.until.count == 120 * kSecond + 10'000'000);
    const auto open = kernel->submit({2, false}, {OpenRequest{"/dev/neuron0", 2}}, memory, {1});
    REQUIRE(open.waits);
    CHECK(open.until.count == kTenth + 1); // it looks again that often
    kernel->end_process(1);                // killed: nobody holds the node any more
    CHECK(Resetter(*kernel, 2).fd > 0);
    CHECK(kernel->now().count == 0);
    CHECK(Resetter(*kernel, 2).ready(1) == 1);
}

// SPDX-License-Identifier: Apache-2.0
// Resets beside everything else: time that passes unseen, faults that come and go, who is kept
// waiting meanwhile.
#include "neuronbook/backend/sim/device/reset_thread.hpp"

#include <cerrno>
#include <string>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr Nanoseconds kSecond{1'000'000'000};
constexpr HostDeviceId kDevice{0};

SimFaults hanging() {
    SimFaults faults;
    faults.resets_hang = true;
    return faults;
}

std::string file(const SimKernel& kernel, const std::string& name) {
    char text[64];
    const auto size = kernel.read_file("/sys/class/neuron_device/" + name, text);
    return size < 0 ? "none" : std::string(text, static_cast<std::size_t>(size));
}

/// A process whose calls are submitted by hand, so that one may be left waiting.
struct Party {
    SimKernel& kernel;
    Caller caller;
    std::int64_t fd = -1;

    Party(SimKernel& where, std::int32_t pid) : kernel(where), caller{pid, false} {
        fd = SimPort(kernel, caller).open("/dev/neuron0", Access::ReadWrite);
        REQUIRE(fd > 0);
    }

    Answer submit(const Request& request) {
        TrustedMemory memory;
        return kernel.submit(caller, request, memory, kernel.now());
    }
    std::int64_t ask(std::uint32_t word, void* argument) {
        const auto address = reinterpret_cast<std::uint64_t>(argument);
        return submit({IoctlRequest{fd, word, address}}).value;
    }
    std::int64_t reset(std::uint32_t map) {
        uapi::DeviceReset form{map, 0};
        return ask(uapi::kNcReset, &form);
    }
    std::int32_t result() {
        uapi::DeviceReady form{static_cast<std::uint32_t>(caller.pid), 77};
        CHECK(ask(uapi::kNcResetReady, &form) == 0);
        return form.result;
    }
};

Request opening() { return {OpenRequest{"/dev/neuron0", 2}}; }

} // namespace

TEST_CASE("a reset that was over before a fault came is as it was then, and the other way round",
          "[sim][reset]") {
    const auto kernel = make_kernel();
    Party party(*kernel, 1);
    CHECK(party.reset(1) == 0);
    kernel->sleep(kSecond);
    kernel->set_faults(kDevice, hanging());
    CHECK(party.result() == 0);
    CHECK(party.reset(1) == 0);
    kernel->sleep({121 * kSecond.count});
    kernel->set_faults(kDevice, {});
    CHECK(party.result() == 1);
}

TEST_CASE("a reset by file begins when it is written, however long nobody looked", "[sim][reset]") {
    const auto kernel = make_kernel();
    const auto write = [&] {
        return kernel->write_file("/sys/class/neuron_device/neuron0/reset", "1");
    };
    kernel->sleep(kSecond);
    CHECK(write() == 1);
    CHECK(file(*kernel, "neuron0/reset") == "0\n");
    kernel->sleep({3600 * kSecond.count});
    CHECK(write() == 1);
    CHECK(file(*kernel, "neuron0/reset") == "0\n");
    CHECK(file(*kernel, "neuron0/neuron_core0/stats/other_info/reset_req_count/total") == "3\n");
}

TEST_CASE("since 2.29 a reset that waits for another takes its rings only when it begins",
          "[sim][reset]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Process user(*kernel, 3);
    const auto first = user.allocate_as({4096, 0, 0, 0, 0, 0, 9, 0, nullptr, 0, 0});
    const auto second = user.allocate_as({4096, 0, 0, 0, 0, 1, 9, 0, nullptr, 0, 0});
    char byte = 1;
    Party one(*kernel, 1), two(*kernel, 2);
    CHECK(one.reset(1) == 0);
    CHECK(two.reset(2) == 0);
    CHECK(user.copy_in(first, &byte, 1) == -ETIMEDOUT);
    CHECK(user.copy_in(second, &byte, 1) == 0);
    kernel->sleep(kSecond);
    CHECK(user.copy_in(first, &byte, 1) == 0);
    CHECK(user.copy_in(second, &byte, 1) == 0);
}

TEST_CASE("a last close that waits for its reset keeps the node locked until that ends",
          "[sim][reset]") {
    const auto kernel = make_kernel();
    Party closer(*kernel, 1), other(*kernel, 2), late(*kernel, 3);
    kernel->set_faults(kDevice, hanging());
    CHECK(closer.reset(1) == 0);
    CHECK(other.reset(2) == 0);
    const auto closing = closer.submit({FlushRequest{closer.fd}});
    CHECK(closing.waits);
    CHECK(late.submit(opening()).waits);
    CHECK(late.submit({FlushRequest{late.fd}}).waits); // a close needs the node too
    kernel->end_process(2);                            // no business of that lock
    CHECK(late.submit(opening()).waits);
    kernel->set_faults(kDevice, {});
    kernel->sleep(kSecond); // now it is acknowledged, and who looks again may go on
    CHECK_FALSE(late.submit(opening()).waits);
    kernel->sleep(closing.until);
    CHECK_FALSE(closer.submit({FlushRequest{closer.fd}, closing.ticket}).waits);
}

TEST_CASE("a close that comes back while its reset still runs waits on", "[sim][reset]") {
    const auto kernel = make_kernel();
    Party closer(*kernel, 1);
    CHECK(closer.reset(1) == 0);
    const auto closing = closer.submit({FlushRequest{closer.fd}});
    REQUIRE(closing.waits);
    kernel->set_faults(kDevice, hanging());
    kernel->sleep(kSecond);
    const auto again = closer.submit({FlushRequest{closer.fd}, closing.ticket});
    CHECK(again.waits);
    CHECK(again.until.count > 100 * kSecond.count);
}

TEST_CASE("no_reset is looked at whenever a reset is asked for", "[sim][reset]") {
    const auto kernel = make_kernel();
    Party party(*kernel, 1);
    CHECK(kernel->write_file("/sys/module/neuron/parameters/no_reset", "1") == 1);
    CHECK(party.reset(1) == 0);
    CHECK(party.reset(1) == 0); // nothing is pending
    CHECK(party.result() == 0);
    CHECK(file(*kernel, "neuron0/neuron_core0/stats/other_info/reset_req_count/total") == "1\n");
}

TEST_CASE("a device's reset puts its performance profile back, since 2.29", "[sim][reset]") {
    for (const bool whole : {false, true}) {
        SimOptions options{.instance = "trn2.3xlarge", .driver_version = "2.30.2"};
        options.hardware.firmware_api = 7;
        const auto kernel = std::move(*SimKernel::make(options));
        Party party(*kernel, 1);
        uapi::PowerProfile ask{8, 0, 2};
        CHECK(party.ask(uapi::kPowerProfile, &ask) == 0);
        CHECK(file(*kernel, "current_perf_profile") == "2\n");
        CHECK(party.reset(whole ? 0xFFFFFFFF : 0xFF) == 0);
        kernel->sleep(kSecond);
        CHECK(file(*kernel, "current_perf_profile") == (whole ? "0\n" : "2\n"));
    }
}

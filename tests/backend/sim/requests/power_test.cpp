// SPDX-License-Identifier: Apache-2.0
// Power profiles, metrics, throttling and bars, by release, generation and firmware.
#include "neuronbook/backend/sim/requests/power.hpp"

#include <array>
#include <cerrno>
#include <string>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::unique_ptr<SimKernel> machine(const char* instance, const char* driver,
                                   std::uint32_t firmware = 3, SimFaults faults = {}) {
    SimOptions options{.instance = instance, .driver_version = driver};
    options.hardware.firmware_api = firmware;
    options.faults = faults;
    auto made = SimKernel::make(options);
    REQUIRE(made);
    return *std::move(made);
}

std::int64_t profile(Process& process, std::uint16_t sz, std::uint16_t ctrl, std::uint32_t number) {
    uapi::PowerProfile ask{sz, ctrl, number};
    return process.ask(0x40084E7F, ask);
}

std::int64_t throttling(Process& process) {
    uapi::ThrottlingNotifications ask{1};
    return process.ask(0x40044E82, ask);
}

} // namespace

TEST_CASE("on Trn1 a power profile is checked in form and does nothing", "[sim][power]") {
    for (const auto* driver : {"2.26.5", "2.30.2"}) {
        const auto kernel = machine("trn1.2xlarge", driver);
        Process process(*kernel);
        CHECK(profile(process, 8, 0, 0) == 0);
        CHECK(profile(process, 8, 0, 3) == 0);
        CHECK(profile(process, 8, 1, 0) == -524);
        CHECK(profile(process, 4, 0, 0) == -ENXIO);
        CHECK(profile(process, 4, 1, 0) == -ENXIO);
        CHECK(throttling(process) == -524);
        Process restricted(*kernel, 5, Access::WriteOnly);
        CHECK(throttling(restricted) == -EINVAL);
    }
    const auto older = machine("trn1.2xlarge", "2.24.7");
    Process process(*older);
    CHECK(profile(process, 8, 0, 0) == -EINVAL);
}

TEST_CASE("firmware that is too old for a command is not asked", "[sim][power]") {
    const auto answer = [](const char* instance, const char* driver, std::uint32_t firmware) {
        const auto kernel = machine(instance, driver, firmware);
        Process process(*kernel);
        const auto power = profile(process, 8, 0, 1);
        CHECK(throttling(process) == power);
        return power;
    };
    CHECK(answer("trn2.48xlarge", "2.26.5", 6) == -524);
    CHECK(answer("trn2.48xlarge", "2.26.5", 7) == 0);
    CHECK(answer("trn3p.48xlarge", "2.26.5", 6) == -524);
    CHECK(answer("trn2.48xlarge", "2.30.2", 6) == -524);
    CHECK(answer("trn3p.48xlarge", "2.30.2", 6) == 0);
    CHECK(answer("trn3p.48xlarge", "2.30.2", 5) == -524);
}

TEST_CASE("2.26 takes a refusal and silence for success, 2.30 does not", "[sim][power]") {
    const auto ask = [](const char* driver, const SimFaults& faults) {
        const auto kernel = machine("trn2.3xlarge", driver, 7, faults);
        Process process(*kernel);
        const auto before = kernel->now();
        const auto answer = profile(process, 8, 0, 1);
        return std::pair{answer, (kernel->now().count - before.count) / 1'000'000'000};
    };
    const SimFaults refuses{.firmware_refuses = true};
    const SimFaults silent{.gone = true};
    CHECK(ask("2.26.5", refuses) == std::pair<std::int64_t, std::uint64_t>{0, 0});
    CHECK(ask("2.30.2", refuses) == std::pair<std::int64_t, std::uint64_t>{-EIO, 0});
    CHECK(ask("2.26.5", silent) == std::pair<std::int64_t, std::uint64_t>{0, 180});
    CHECK(ask("2.30.2", silent) == std::pair<std::int64_t, std::uint64_t>{-ETIMEDOUT, 270});
}

TEST_CASE("a profile that was set is told, by request and in the class's file", "[sim][power]") {
    const auto kernel = machine("trn2.48xlarge", "2.30.2", 7);
    Process process(*kernel);
    CHECK(profile(process, 8, 0, 0x102) == 0); // cut to eight bits
    uapi::PowerProfile ask{8, 1, 9};
    CHECK(process.ask(0xC0084E84, ask) == 0);
    CHECK(ask.profile == 2);
    ask.ctrl = 0;
    CHECK(process.ask(0xC0084E84, ask) == -524);
    ask.sz = 7;
    CHECK(process.ask(0xC0084E84, ask) == -ENXIO);
    uapi::AvailablePerfProfiles list;
    CHECK(process.ask(0xC0244E86, list) == 0);
    CHECK(list.num_profiles == 4);
    CHECK(list.bitmap[0] == 0xF);
    std::array<char, 8> text{};
    CHECK(kernel->read_file("/sys/class/neuron_device/current_perf_profile", text) == 3);
    CHECK(std::string(text.data()) == "-1\n"); // only one device of sixteen has it

    const auto trn1 = machine("trn1.2xlarge", "2.30.2");
    Process second(*trn1);
    list.bitmap[0] = 0x55;
    CHECK(second.ask(0xC0244E86, list) == 0);
    CHECK(list.num_profiles == 0);
    CHECK(list.bitmap[0] == 0x55); // as it was passed
    ask = {8, 1, 9};
    CHECK(second.ask(0xC0084E84, ask) == 0);
    CHECK(ask.profile == 0);
}

TEST_CASE("metrics are paused and resumed; an unknown mode is ignored", "[sim][power]") {
    const auto kernel = machine("trn1.2xlarge", "2.26.5");
    Process process(*kernel);
    for (const std::uint32_t mode : {0u, 1u, 2u, 0xFFFFFFFFu}) {
        uapi::MetricsCtrl ask{mode};
        CHECK(process.ask(0x40044E80, ask) == 0);
    }
    CHECK(process.ask(0x40044E80, nullptr) == 4);
}

TEST_CASE("bars of others are known behind a switch alone", "[sim][power]") {
    const auto answer = [](const char* instance, std::uint32_t query) {
        const auto kernel = machine(instance, "2.30.2");
        Process process(*kernel);
        uapi::GetBarInfo ask;
        ask.query_type = query;
        ask.count = 9;
        const auto value = process.ask(0xC0C84E8B, ask);
        if (value == 0) CHECK(ask.count == 0);
        return value;
    };
    CHECK(answer("trn1.2xlarge", 0) == -EINVAL);
    CHECK(answer("trn1.2xlarge", 3) == -EINVAL);
    CHECK(answer("trn1.2xlarge", 1) == -EAGAIN);
    CHECK(answer("trn2u.48xlarge", 2) == -EAGAIN);
    CHECK(answer("trn3.48xlarge", 1) == 0);
    CHECK(answer("trn3.48xlarge", 2) == -EAGAIN);
    CHECK(answer("trn3e.24xlarge", 2) == 0);
    const auto kernel = machine("trn3e.24xlarge", "2.30.2");
    Process restricted(*kernel, 5, Access::WriteOnly);
    CHECK(restricted.ask(0xC0C84E8B, nullptr) == -EINVAL);
}

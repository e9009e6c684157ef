// SPDX-License-Identifier: Apache-2.0
// What differs between releases on machines of many devices and servers: driver-abi.md 14.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

TEST_CASE("no release has an open wait for servers that elect a pod", "[sim][spec][versions]") {
    TrustedMemory memory;
    for (const auto& release : kReleases)
        for (const std::string instance : {"trn2.48xlarge", "trn2u.48xlarge"}) {
            CAPTURE(release, instance);
            const auto kernel = make_kernel(instance, release);
            const auto first = kernel->submit({}, {OpenRequest{"/dev/neuron0", 2}}, memory, {});
            CHECK_FALSE(first.waits);
            CHECK(first.value > 0);
            Process process(*kernel, 7);
            CHECK(process.fd > 0);
            CHECK(Process(*kernel, 8, Access::WriteOnly).fd > 0);
        }
}

TEST_CASE("only since 2.27 is an open held up by a pod behind a switch that is not complete",
          "[sim][spec][versions]") {
    TrustedMemory memory;
    for (const auto& release : kReleases) {
        CAPTURE(release);
        SimOptions options;
        options.instance = "trn2es.48xlarge";
        options.driver_version = release;
        options.devices = 15; // of 16
        options.pod.server = 0;
        auto made = SimKernel::make(options);
        REQUIRE(made.has_value());
        auto& kernel = **made;
        const auto opens = [&](std::int32_t pid) {
            const auto answer =
                kernel.submit({pid}, {OpenRequest{"/dev/neuron0", 2}}, memory, kernel.now());
            const bool held_up = answer.waits || answer.value == -EINTR;
            CHECK(held_up != (answer.value > 0));
            return !held_up;
        };
        CHECK(opens(2) == (release != k30));
        kernel.sleep(Nanoseconds{std::uint64_t{3600} * 1'000'000'000});
        CHECK(opens(3) == (release != k30)); // time does not complete it
        Process process(kernel, 4, Access::WriteOnly);
        const auto status = [&] {
            uapi::PodStatusV2 form;
            form.v1.sz = 276;
            return process.ask(0xC1144E7Au, form);
        };
        CHECK(status() == by_release(release, 0, -EBUSY, -EBUSY)); // 2.24 knows no switch
        uapi::PodCtrl kill{.sz = 16, .reserved0 = 0, .ctrl = 2, .timeout = 0, .state = 0};
        CHECK(process.ask(0xC0104E7Bu, kill) == 0);
        CHECK(status() == 0);
        CHECK(opens(5));
    }
}

TEST_CASE("mapping version 1 is the second generation's since 2.28", "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV3, release);
        Process process(*kernel, 1, Access::WriteOnly);
        std::array<std::uint32_t, 1 + 256> map{};
        uapi::GetLogicalToPhysicalNcMap ask{reinterpret_cast<uapi::NcMap*>(map.data()), 128, 1};
        CHECK(process.ask(0xC0104E78u, ask) == by_release(release, -EINVAL, -EINVAL, 0));
        ask.mapping_version = 0;
        CHECK(process.ask(0xC0104E78u, ask) == 0);
        CHECK(map[0] == 128);
        CHECK(map[2] == 4); // logical core 0 is physical core 4
        ask.mapping_version = 2;
        CHECK(process.ask(0xC0104E78u, ask) == -EINVAL);
    }
}

TEST_CASE("cores of an odd device of a joined third-generation machine changed their order",
          "[sim][spec][versions]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel(newer ? "trn3.48xlarge" : "trn3s.48xlarge", newer ? k30 : k26);
    Process process(*kernel, 1, Access::WriteOnly);
    std::array<std::uint32_t, 1 + 256> map{};
    uapi::GetLogicalToPhysicalNcMap ask{reinterpret_cast<uapi::NcMap*>(map.data()), 128, 0};
    REQUIRE(process.ask(0xC0104E78u, ask) == 0);
    const auto order = [&](std::uint32_t device) {
        std::string text;
        for (std::uint32_t k = 0; k < 8; ++k) {
            CHECK(map[1 + (device * 8 + k) * 2] == device);
            text += std::to_string(map[2 + (device * 8 + k) * 2]);
        }
        return text;
    };
    CHECK(order(0) == "45672301");
    CHECK(order(2) == "45672301");
    CHECK(order(1) == (newer ? "67450123" : "23014567"));
}

// SPDX-License-Identifier: Apache-2.0
// Scrubs: everybody's bytes of an HBM are gone, and what the driver holds until it is waited for.
#include "neuronbook/backend/sim/requests/scrub.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Scrubber : Process {
    using Process::Process;

    std::int64_t start(std::uint32_t hbm, std::uint32_t word, std::uint32_t core = 0) {
        uapi::HbmScrubStart form{core, hbm, 0, word};
        return ask(uapi::kHbmScrubStart, form);
    }
    std::int64_t wait(std::uint32_t hbm) {
        uapi::HbmScrubWait form{0, hbm};
        return ask(uapi::kHbmScrubWait, form);
    }
    std::uint32_t word(std::uint64_t handle, std::uint64_t offset = 0) {
        std::uint32_t value = 0;
        CHECK(copy_out(handle, &value, sizeof value, offset) == 0);
        return value;
    }
};

} // namespace

TEST_CASE("a scrub overwrites everybody's memory of one HBM with its word", "[sim][scrub]") {
    const std::string instance = GENERATE("trn1.2xlarge", "trn2.3xlarge", "trn3pd98.3xlarge");
    const auto kernel = make_kernel(instance);
    Scrubber one(*kernel, 1);
    Scrubber two(*kernel, 2);
    const auto small = two.allocate(4096);
    const auto large = two.allocate(1u << 30);
    const auto other = two.allocate(4096, 0, 1);
    const std::vector<char> bytes(100000, 'x');
    CHECK(two.copy_in(large, bytes.data(), bytes.size(), 12345) == 0);
    CHECK(two.copy_in(small, "text", 5) == 0);
    CHECK(two.copy_in(other, "text", 5) == 0);
    CHECK(one.start(0, 0x12345678) == 0);
    CHECK(one.wait(0) == 0);
    CHECK(two.word(small) == 0x12345678);
    CHECK(two.word(large, 12348) == 0x12345678);
    CHECK(two.word(large, 12345) == 0x78123456);
    CHECK(two.word(large, 900u << 20) == 0x12345678); // never touched before
    char kept[5];
    CHECK(two.copy_out(other, kept, 5) == 0);
    CHECK(std::memcmp(kept, "text", 5) == 0);
    CHECK(two.copy_in(large, "new", 4, 900u << 20) == 0);
    CHECK(two.word(large, (900u << 20) + 4) == 0x12345678);
    const auto view = two.port.map(two.fd, Bytes{1u << 30}, true, two.pa(large));
    REQUIRE(view.error == 0);
    std::uint32_t seen = 0;
    std::memcpy(&seen, static_cast<char*>(view.address) + (40u << 20), 4);
    CHECK(seen == 0x12345678);
    CHECK(one.start(0, 0) == 0);
    CHECK(one.wait(0) == 0);
    CHECK(two.word(large, 900u << 20) == 0);
    CHECK(two.word(large, 700u << 20) == 0);
}

TEST_CASE("what was mapped before a scrub shows its word", "[sim][scrub]") {
    const auto kernel = make_kernel();
    Scrubber one(*kernel, 1);
    const auto chunk = one.allocate(1u << 20);
    const auto view = one.port.map(one.fd, Bytes{1u << 20}, true, one.pa(chunk));
    SimPort root(*kernel, Caller{1, true});
    const auto raw = root.map(one.fd, Bytes{1u << 20}, true, 0x20000000);
    REQUIRE((view.error == 0 && raw.error == 0));
    CHECK(one.start(0, 0x12345678) == 0);
    for (const auto& map : {view, raw}) {
        std::uint32_t seen = 0;
        std::memcpy(&seen, static_cast<char*>(map.address) + 40960, sizeof seen);
        CHECK(seen == 0x12345678);
    }
    CHECK(one.word(chunk, 40960) == 0x12345678);
    one.port.unmap(view.address, Bytes{1u << 20});
    root.unmap(raw.address, Bytes{1u << 20});
}

TEST_CASE("after a scrub memory is touched as far as a copy comes, not as far as it was to come",
          "[sim][scrub]") {
    const auto resident = [] {
        std::ifstream file("/proc/self/statm");
        std::uint64_t all = 0, pages = 0;
        file >> all >> pages;
        return pages * 4096;
    };
    const auto kernel = make_kernel();
    Scrubber one(*kernel, 1);
    constexpr std::uint64_t kSize = 512u << 20;
    const auto chunk = one.allocate(kSize);
    CHECK(one.start(0, 1) == 0);
    CHECK(one.wait(0) == 0);
    const auto before = resident();
    auto* nothing = reinterpret_cast<char*>(4096);
    CHECK(one.copy_in(chunk, nothing, kSize) == 65536);
    CHECK(one.copy_out(chunk, nothing, kSize) == 65536);
    CHECK(resident() < before + kSize / 4);
    CHECK(one.word(chunk, kSize - 4) == 1);
}

TEST_CASE("a scrub sets up queue 0 of its engines", "[sim][scrub]") {
    for (const auto& [instance, length, its, others] :
         {std::tuple{"trn1.2xlarge", 32768u, 31u, 15u},
          std::tuple{"trn2.3xlarge", 32768u, 63u, 31u},
          std::tuple{"trn2.3xlarge", 32768u, 36u, 35u},
          std::tuple{"trn3pd98.3xlarge", 65536u, 52u, 48u}}) {
        const auto kernel = make_kernel(instance);
        Scrubber one(*kernel, 1);
        Scrubber two(*kernel, 2);
        const auto state = [&](std::uint32_t engine) {
            uapi::DmaQueueState transmit{}, receive{};
            uapi::DmaQueueGetState form{engine, 0, &transmit, &receive};
            CHECK(two.ask(uapi::kDmaQueueGetState, form) == 0);
            CHECK(transmit.length == receive.length);
            return transmit;
        };
        CHECK(one.start(1, 1) == 0);
        CHECK(state(its).length == length);
        CHECK(state(others).length == 0);
        const auto base = state(its).base_addr;
        CHECK(base != 0);
        CHECK(one.wait(1) == 0);
        CHECK(state(its).base_addr == base); // of memory that is somebody else's now
        CHECK(one.port.close(one.fd) == 0);
        CHECK(state(its).length == 64); // the queues were its process's
    }
}

TEST_CASE("while it runs a scrub holds host memory of its process", "[sim][scrub]") {
    const auto [instance, bytes] = GENERATE(table<const char*, std::uint64_t>(
        {{"trn1.2xlarge", 17829888}, {"trn2.3xlarge", 17829888}, {"trn3pd98.3xlarge", 34607104}}));
    const auto kernel = make_kernel(instance);
    Scrubber one(*kernel, 1);
    Scrubber two(*kernel, 2);
    CHECK(one.wait(0) == -EPERM); // nothing started
    CHECK(one.start(0, 1) == 0);
    CHECK(kernel->census().devices[0].host.bytes == bytes);
    CHECK(kernel->census().devices[0].handles == 0);
    CHECK(two.wait(1) == -EPERM);
    CHECK(two.wait(0) == 0); // anybody may
    CHECK(kernel->census().devices[0].host.bytes == 0);
    CHECK(two.wait(0) == -EPERM);
    CHECK(one.start(0, 1) == 0);
    CHECK(one.start(0, 1) == 0); // forgets the first, whose memory stays
    CHECK(one.wait(0) == 0);
    CHECK(kernel->census().devices[0].host.bytes == bytes);
    CHECK(one.port.close(one.fd) == 0);
    CHECK(kernel->census().devices[0].host.bytes == 0);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("a scrub that cannot have its memory leaves nothing behind", "[sim][scrub]") {
    const auto kernel = make_kernel();
    Scrubber one(*kernel, 1);
    const auto before = kernel->census();
    CHECK(one.start(2, 1) == -EPERM);
    CHECK(one.wait(2) == -EPERM);
    CHECK(one.start(0, 1, 8) == -EINVAL);
    SimFaults faults;
    faults.failing_allocation = 20;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.start(0, 1) == -ENOMEM);
    CHECK(kernel->census() == before);
    CHECK(one.wait(0) == -EPERM);
    CHECK(one.ask(uapi::kHbmScrubStart, nullptr) == 16);
    CHECK(one.ask(uapi::kHbmScrubWait, nullptr) == 8);
}

TEST_CASE("engines that hang change nothing, and are waited for in vain", "[sim][scrub]") {
    const auto [driver, error] =
        GENERATE(table<const char*, std::int64_t>({{"2.24.7", -EPERM}, {"2.30.2", -ETIMEDOUT}}));
    const auto kernel = make_kernel("trn1.2xlarge", driver);
    Scrubber one(*kernel, 1);
    const auto chunk = one.allocate(4096);
    CHECK(one.copy_in(chunk, "abcd", 4) == 0);
    SimFaults faults;
    faults.copies_hang = true;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.start(0, 1) == 0);
    CHECK(one.wait(0) == error);
    CHECK(kernel->now().count > 0);
    CHECK(one.wait(0) == -EPERM);
    kernel->set_faults(HostDeviceId{0}, {});
    CHECK(one.word(chunk) == 0x64636261);
    CHECK(kernel->census().devices[0].host.chunks == 0);
}

TEST_CASE("scrubs and processes that leave or are not attached bring a kernel down",
          "[sim][scrub]") {
    const auto kernel = make_kernel();
    Scrubber one(*kernel, 1);
    Scrubber two(*kernel, 2);
    Scrubber child(*kernel, 3, Access::WriteOnly);
    child.fd = two.fd;
    CHECK(child.start(0, 1) == -EPERM);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(one.start(0, 1) == 0);
    CHECK(one.port.close(one.fd) == 0);
    CHECK(two.wait(0) == -EPERM);
    CHECK(kernel->would_have_crashed().size() == 2);
    CHECK(two.wait(0) == -EPERM);
    CHECK(kernel->census().devices[0].host.chunks == 0);
}

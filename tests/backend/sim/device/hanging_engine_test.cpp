// SPDX-License-Identifier: Apache-2.0
// Engines that never finish a copy.
#include <cerrno>
#include <cstdint>
#include <tuple>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Victim : Process {
    explicit Victim(SimKernel& kernel) : Process(kernel), kernel_(&kernel) {
        chunk = allocate(std::uint64_t{256} << 20);
        copy_in(chunk, "before", 6);
    }

    void hang(bool on) {
        SimFaults faults;
        faults.copies_hang = on;
        kernel_->set_faults(HostDeviceId{0}, faults);
    }

    /// The answer and how long it took.
    template <class F>
    std::tuple<std::int64_t, std::uint64_t> timed(F what) {
        const auto start = kernel_->now().count;
        const auto answer = what();
        return {answer, kernel_->now().count - start};
    }

    std::int64_t copy(std::uint64_t size) {
        uapi::MemCopy64Deprecated form{chunk, chunk, size, 0, 0};
        return ask(uapi::kMemCopy64Deprecated, form);
    }
    std::int64_t start(std::uint32_t previous = 0xFFFFFFFF) {
        uapi::MemCopyAsync64 form{chunk, chunk, 16, 0, 4096, 0, previous, 0};
        const auto answer = ask(uapi::kMemCopyAsync64, form);
        return answer != 0 ? answer : std::int64_t{form.wait_handle};
    }
    std::int64_t wait(std::uint32_t handle) {
        uapi::MemCopyAsyncWait form{chunk, chunk, handle, 0};
        return ask(uapi::kMemCopyAsyncWait, form);
    }

    std::uint64_t chunk = 0;

private:
    SimKernel* kernel_;
};

using Timed = std::tuple<std::int64_t, std::uint64_t>;
constexpr std::uint64_t kMicro = 1000;

} // namespace

TEST_CASE("a copy that hangs is given up after a time that grows with it", "[sim][hang]") {
    for (const auto& [instance, driver, error, one, batch] :
         {std::tuple{"trn1.2xlarge", "2.24.7", -EPERM, 1 + 39900, 8125 + (812800 - 8125) * 100},
          {"trn1.2xlarge", "2.30.2", -ETIMEDOUT, 1 + 39900, 8125 + (812800 - 8125) * 100},
          {"trn2.3xlarge", "2.26.5", -EPERM, 1 + 19900, 4063 + (406400 - 4063) * 100},
          {"trn2.3xlarge", "2.30.2", -ETIMEDOUT, 1 + 79900, 4063 + (1625600 - 4063) * 100}}) {
        const auto kernel = make_kernel(instance, driver);
        Victim process(*kernel);
        process.hang(true);
        CHECK(process.timed([&] { return process.copy(16); }) ==
              Timed{error, static_cast<std::uint64_t>(one) * kMicro});
        const auto largest = std::uint64_t{2032} * 65536;
        CHECK(process.timed([&] { return process.copy(largest); }) ==
              Timed{error, static_cast<std::uint64_t>(batch) * kMicro});
        CHECK(process.timed([&] { return process.copy(largest + 65536); }) ==
              Timed{error, static_cast<std::uint64_t>(batch) * kMicro}); // its first batch
    }
}

TEST_CASE("every request that uses the engine fails, the others work", "[sim][hang]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn2.3xlarge", newer ? "2.30.2" : "2.26.5");
    const std::int64_t error = newer ? -ETIMEDOUT : -EPERM;
    Victim process(*kernel);
    const auto host = process.allocate_host(8192);
    process.hang(true);
    char bytes[65536] = {};
    CHECK(process.copy_in(process.chunk, bytes, 4096) == error);
    CHECK(process.copy_out(process.chunk, bytes, 65536) == error);
    uapi::Memset64 fill{process.chunk, 0, 0, 0, 1000};
    CHECK(process.ask(uapi::kMemset64, fill) == error);
    if (newer) {
        uapi::MemBufCopy64zc form{process.chunk, bytes, 4096, 0, 1, 0, -1, 0, 0, nullptr};
        CHECK(process.ask(uapi::kMemBufZerocopy64, form) == error);
        form.bar4_wr_threshold = 8192;
        form.offset = 65536;
        CHECK(process.ask(uapi::kMemBufZerocopy64, form) == 0);
    } else {
        uapi::MemBufCopy64zcDeprecated form{process.chunk, bytes, 4096, 0, 1, 0, -1, 0};
        CHECK(process.ask(uapi::kMemBufZerocopy64Deprecated, form) == error);
        form.bar4_wr_threshold = 8192;
        form.offset = 65536;
        CHECK(process.ask(uapi::kMemBufZerocopy64Deprecated, form) == 0);
    }
    CHECK(process.copy_in(host, bytes, 4096) == 0);
    CHECK(process.copy_in(process.chunk, nullptr, 16) == (newer ? -EFAULT : 16)); // seen first
    process.hang(false);
    CHECK(process.copy_out(process.chunk, bytes, 6) == 0);
    CHECK(std::string(bytes, 6) == "before");
}

TEST_CASE("an asynchronous copy starts well and its wait fails", "[sim][hang]") {
    const auto kernel = make_kernel();
    Victim process(*kernel);
    process.hang(true);
    CHECK(process.start() == 1);
    CHECK(process.timed([&] { return process.wait(1); }) == Timed{-EPERM, 39901 * kMicro});
    CHECK(process.wait(1) == -EINVAL);
    CHECK(process.start() == 1);
    CHECK(process.timed([&] { return process.start(1); }) == Timed{-EPERM, 39901 * kMicro});
    process.hang(false);
    CHECK(process.wait(1) == -EINVAL); // released
    CHECK(process.wait(2) == -EPERM);  // it was started all the same
    CHECK(process.start() == 1);
    CHECK(process.wait(1) == 0);
}

TEST_CASE("copies that were given up keep their place until a reset", "[sim][hang]") {
    const auto kernel = make_kernel();
    Victim process(*kernel);
    process.hang(true);
    int count = 0;
    while (process.copy(16) == -EPERM) ++count;
    CHECK(count == 4088);
    process.hang(false);
    CHECK(process.copy(16) == -ENOMEM);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0);
    uapi::DeviceReady ready{reset.request_id, 0};
    CHECK(process.ask(uapi::kNcResetReady, ready) == 0);
    CHECK(process.copy(16) == 0);
}

TEST_CASE("on Trn1 a copy that began before a reset's end is tried again", "[sim][hang]") {
    const bool trn1 = GENERATE(true, false);
    const auto kernel = make_kernel(trn1 ? "trn1.2xlarge" : "trn2.3xlarge");
    Victim process(*kernel);
    process.hang(true);
    uapi::DeviceReset reset{1, 0};
    CHECK(process.ask(uapi::kNcReset, reset) == 0); // 100 ms
    const std::uint64_t once = trn1 ? 39901 : 19901;
    CHECK(process.timed([&] { return process.copy(16); }) ==
          Timed{-EPERM, (trn1 ? 4 : 1) * once * kMicro});
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/dmem/copy/bounce_buffer.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/log_lines.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeDriver;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};
using Buffer = BounceBuffer<FakeDriver>;

DriverBounce<FakeDriver> source(FakeDriver& driver) { return {driver, kDevice, kCore}; }

/// Has nothing as large as the limit; says with which status.
struct Short {
    FakeDriver* driver;
    Bytes limit;
    Status status = Status::FailHostMemAlloc;
    std::vector<std::uint64_t>* asked;

    Result<Chunk> provide(Bytes size) {
        asked->push_back(size.count());
        if (size >= limit)
            return fail({.status = status, .detail = Detail::OutOfHostMemory, .os_error = 12});
        return source(*driver).provide(size);
    }
    Result<void> take_back(const Chunk& chunk) noexcept { return source(*driver).take_back(chunk); }
};
static_assert(BounceProvider<Short>);
static_assert(!BounceProvider<int>);

} // namespace

TEST_CASE("a bounce buffer is got and mapped once, on first use", "[dmem][bounce]") {
    FakeDriver driver;
    {
        Buffer buffer(driver, kDevice, source(driver));
        CHECK(driver.calls == 0);
        for (int i = 0; i < 2; ++i) {
            const auto mine = buffer.take();
            REQUIRE(mine);
            CHECK(mine->chunk().size == 2_MiB);
            CHECK(mine->chunk().location == MemoryLocation::Host);
            mine->bytes().back() = std::byte{7};
        }
        CHECK(driver.calls == 2);
        CHECK(driver.requests.at(0).category == 4);
    }
    CHECK(driver.outstanding() == 0);
    CHECK(driver.misuses == 0); // unmapped first
}

TEST_CASE("G01: a host short of memory gives a smaller buffer, then a host-memory error",
          "[dmem][bounce][G01]") {
    FakeDriver driver;
    std::vector<std::uint64_t> asked;
    {
        BounceBuffer<FakeDriver, Short> half(driver, kDevice,
                                             {.driver = &driver, .limit = 1_MiB, .asked = &asked});
        REQUIRE(half.take());
        CHECK(half.size() == 512_KiB);
        CHECK(asked == std::vector<std::uint64_t>{2 << 20, 1 << 20, 512 << 10});
    }
    asked.clear();
    BounceBuffer<FakeDriver, Short> none(driver, kDevice,
                                         {.driver = &driver, .limit = 1_KiB, .asked = &asked});
    for (int i = 0; i < 2; ++i) {
        const auto said = none.take();
        REQUIRE_FALSE(said);
        CHECK(said.error().status == Status::FailHostMemAlloc);
        CHECK(said.error().detail == Detail::OutOfHostMemory);
        CHECK(said.error().asked == 256 << 10);
        CHECK(said.error().os_error == 12);
    }
    CHECK(asked.size() == 8);
    asked.clear();
    BounceBuffer<FakeDriver, Short> other(
        driver, kDevice,
        {.driver = &driver, .limit = 1_KiB, .status = Status::Resource, .asked = &asked});
    CHECK(other.take().error().status == Status::Resource);
    CHECK(asked.size() == 1); // only a lack of host memory is worth another try
    CHECK(driver.outstanding() == 0);
}

TEST_CASE("G01: so does the simulated kernel's host", "[dmem][bounce][sim][G01]") {
    auto kernel = SimKernel::make({.host_memory = 5632_KiB}); // the driver itself takes 4.7 MiB
    REQUIRE(kernel);
    IoctlDriver<SimPort> driver{SimPort(**kernel)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(kDevice));
    std::list<BounceBuffer<IoctlDriver<SimPort>>> buffers;
    std::vector<std::size_t> sizes;
    for (int i = 0; i < 5; ++i) {
        auto& buffer = buffers.emplace_back(driver, kDevice, DriverBounce(driver, kDevice, kCore));
        const auto mine = buffer.take();
        if (mine) {
            std::memset(mine->bytes().data(), i, mine->bytes().size());
            sizes.push_back(mine->bytes().size());
            continue;
        }
        CHECK(mine.error().status == Status::FailHostMemAlloc);
        CHECK(mine.error().detail == Detail::OutOfHostMemory);
    }
    CHECK(sizes.at(0) == 512 << 10);
    CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    CHECK(sizes.size() < 5);
}

TEST_CASE("a buffer that cannot be mapped is given back, and tried again", "[dmem][bounce]") {
    FakeDriver driver;
    Buffer buffer(driver, kDevice, source(driver));
    driver.fail_nth(2, {.status = Status::Invalid, .detail = Detail::DriverErrno});
    CHECK(buffer.take().error().status == Status::Invalid);
    CHECK(driver.outstanding() == 0);
    CHECK(buffer.take());
}

TEST_CASE("a bounce buffer that cannot be given back is named in the log", "[dmem][bounce]") {
    FakeDriver driver;
    test::LogLines log;
    for (const std::uint64_t nth : {1u, 2u}) {
        Buffer buffer(driver, kDevice, source(driver));
        REQUIRE(buffer.take());
        driver.fail_nth(nth, {.status = Status::Invalid});
        buffer.close();
        buffer.close();
        const auto said = buffer.take();
        CHECK(said.error().status == Status::Closed);
        CHECK(driver.mapped() == 0);
    }
    CHECK(log.lines.size() == 2);
    CHECK(driver.outstanding() == 1); // the refused free
}

TEST_CASE("D04: in a forked child the bounce buffer is the parent's", "[dmem][bounce][D04]") {
    FakeDriver driver;
    {
        Buffer buffer(driver, kDevice, source(driver));
        REQUIRE(buffer.take());
        driver.up = false;
        const auto calls = driver.calls;
        buffer.close();
        CHECK(driver.calls == calls);
    }
    driver.up = true;
    Buffer abandoned(driver, kDevice, source(driver));
    REQUIRE(abandoned.take());
    const auto calls = driver.calls;
    abandoned.abandon();
    abandoned.close();
    CHECK(driver.calls == calls);
}

// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <random>
#include <span>
#include <unistd.h>
#include <vector>

#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::open_driver;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr Bytes kSize{1 << 20};

/// Numbers of this process that are in use.
std::size_t descriptors() {
    ::DIR* folder = ::opendir("/proc/self/fd");
    REQUIRE(folder != nullptr);
    std::size_t count = 0;
    while (::readdir(folder) != nullptr) ++count;
    ::closedir(folder);
    return count;
}

struct Mapped {
    Chunk chunk{};
    std::byte* address = nullptr;
};

Mapped make(SimDriver& driver, Bytes size = kSize) {
    const auto chunk = driver.allocate(kDevice, {.size = size, .category = 9});
    REQUIRE(chunk);
    const auto address = driver.map(kDevice, *chunk);
    REQUIRE(address);
    return {*chunk, static_cast<std::byte*>(*address)};
}

void drop(SimDriver& driver, const Mapped& what) {
    CHECK(driver.unmap(what.address, what.chunk));
    CHECK(driver.free(kDevice, what.chunk));
}

} // namespace

TEST_CASE("a shared range is a descriptor of those bytes, closed over exec, until it is closed",
          "[backend][driver][share]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    auto driver = open_driver(machine);
    const auto mapped = make(driver);
    std::strcpy(reinterpret_cast<char*>(mapped.address) + 8192, "for others");
    const auto shared = driver.share(kDevice, mapped.address + 8192, Bytes{4096});
    REQUIRE(shared);
    CHECK((::fcntl(*shared, F_GETFD) & FD_CLOEXEC) != 0);
    char text[16] = {};
    CHECK(::read(*shared, text, 10) == 10);
    CHECK(std::strcmp(text, "for others") == 0);
    CHECK(machine.kernel->census().exported == 1);
    CHECK(driver.close_shared(*shared));
    CHECK(machine.kernel->census().exported == 0);
    CHECK(::fcntl(*shared, F_GETFD) == -1);
    const auto again = driver.close_shared(*shared);
    REQUIRE_FALSE(again);
    CHECK(again.error().os_error == EBADF);
    drop(driver, mapped);
    driver.disconnect();
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("F01: a range that does not begin with a page is refused with the reason before any call",
          "[backend][driver][share][F01]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const auto mapped = make(driver);
    const auto calls = machine.counts.total();
    const struct {
        const void* address;
        std::uint64_t size;
        Detail detail;
    } rows[] = {
        {mapped.address + 100, 4096, Detail::NotPageAligned},
        {mapped.address + 4095, 4096, Detail::NotPageAligned},
        {mapped.address, 100, Detail::NotPageAligned},
        {mapped.address, 0, Detail::ZeroSize},
        {nullptr, 4096, Detail::NullPointer},
        {mapped.address, ~std::uint64_t{0} & ~std::uint64_t{4095}, Detail::NotMapped},
    };
    for (const auto& row : rows) {
        const auto refused = driver.share(kDevice, row.address, Bytes{row.size});
        REQUIRE_FALSE(refused);
        CHECK(static_cast<int>(refused.error().status) == 2);
        CHECK(refused.error().detail == row.detail);
        CHECK(refused.error().device == 0);
    }
    CHECK(driver.share(kDevice, mapped.address + 100, Bytes{4096}).error().limit == 4096);
    CHECK_FALSE(driver.share(HostDeviceId{1}, mapped.address, Bytes{4096}));
    CHECK(machine.counts.total() == calls);
    drop(driver, mapped);
    const auto gone = driver.share(kDevice, mapped.address, Bytes{4096});
    REQUIRE_FALSE(gone);
    CHECK(gone.error().detail == Detail::NotMapped);
    CHECK(static_cast<int>(gone.error().status) == 2);
    CHECK(gone.error().os_error == EINVAL);
}

TEST_CASE("F01: any range of a chunk becomes whole pages of it and an offset below a page",
          "[backend][share][F01]") {
    const struct {
        std::uint64_t chunk, offset, size;
        std::uint64_t start, pages, into;
    } rows[] = {
        {8192, 0, 1, 0, 4096, 0},          {8192, 0, 8192, 0, 8192, 0},
        {8192, 4095, 1, 0, 4096, 4095},    {8192, 4095, 2, 0, 8192, 4095},
        {8192, 4096, 4096, 4096, 4096, 0}, {8192, 8191, 1, 4096, 4096, 4095},
    };
    for (const auto& row : rows) {
        const auto pages = shared_pages(Bytes{row.chunk}, Bytes{row.offset}, Bytes{row.size});
        REQUIRE(pages);
        CHECK(pages->offset.count() == row.start);
        CHECK(pages->size.count() == row.pages);
        CHECK(pages->into_page.count() == row.into);
    }
    const std::uint64_t top = ~std::uint64_t{0};
    CHECK(shared_pages(Bytes{8192}, Bytes{0}, Bytes{0}).error().detail == Detail::ZeroSize);
    for (const auto [chunk, offset, size] : {std::array{8192ull, 8192ull, 1ull},
                                             {8192ull, 1ull, 8192ull},
                                             {8192ull, 0ull, top + 0ull},
                                             {8192ull, top + 0ull, 2ull},
                                             {5000ull, 4500ull, 100ull},
                                             {top + 0ull, top - 1ull, 1ull}})
        CHECK(shared_pages(Bytes{chunk}, Bytes{offset}, Bytes{size}).error().detail ==
              Detail::OutOfBounds);
}

TEST_CASE("F01: the pages around an odd range hold it at the offset told, on old drivers and new",
          "[backend][driver][share][F01]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const auto mapped = make(driver);
    std::strcpy(reinterpret_cast<char*>(mapped.address) + 12'300, "odd");
    const auto pages = shared_pages(mapped.chunk.size, Bytes{12'300}, Bytes{3});
    REQUIRE(pages);
    const auto shared = driver.share(kDevice, mapped.address + pages->offset.count(), pages->size);
    REQUIRE(shared);
    CHECK(pages->into_page.count() == 12);
    char text[4] = {};
    const auto start = ::lseek(*shared, 0, SEEK_CUR); // where the simulation's buffer begins
    CHECK(::pread(*shared, text, 3, start + 12) == 3);
    CHECK(std::strcmp(text, "odd") == 0);
    CHECK(driver.close_shared(*shared));
    drop(driver, mapped);
}

TEST_CASE("F04: thirty pairs of sharing and closing leave no descriptor behind",
          "[backend][driver][share][F04]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const auto mapped = make(driver);
    const auto before = descriptors();
    const auto closes = machine.counts.of(PortCall::Close);
    const auto ioctls = machine.counts.of(PortCall::Ioctl);
    for (int i = 0; i < 30; ++i) {
        const auto shared = driver.share(kDevice, mapped.address, kSize);
        REQUIRE(shared);
        CHECK(descriptors() == before + 1);
        CHECK(driver.close_shared(*shared));
    }
    CHECK(descriptors() == before);
    CHECK(machine.counts.of(PortCall::Ioctl) - ioctls == 30);
    CHECK(machine.counts.of(PortCall::Close) - closes == 30);
    CHECK(machine.kernel->census().exported == 0);
    drop(driver, mapped);
}

TEST_CASE("without a free descriptor sharing is status 4 and names descriptors, and an old kernel "
          "stays up",
          "[backend][driver][share][A06]") {
    SimMachine machine("trn1.2xlarge", "2.24.7");
    auto driver = open_driver(machine);
    const auto mapped = make(driver);
    const auto ioctls = machine.counts.of(PortCall::Ioctl);
    machine.plan.fail_nth(1, -EMFILE); // what reading a file answers then
    const auto refused = driver.share(kDevice, mapped.address, kSize);
    machine.plan.clear();
    REQUIRE_FALSE(refused);
    CHECK(static_cast<int>(refused.error().status) == 4);
    CHECK(refused.error().detail == Detail::OutOfDescriptors);
    CHECK(machine.counts.of(PortCall::Ioctl) == ioctls);
    CHECK(machine.kernel->would_have_crashed().empty());
    // what a kernel before 5.15 answers to the request itself
    machine.plan.fail_nth(2, -EPROTONOSUPPORT);
    const auto old = driver.share(kDevice, mapped.address, kSize);
    machine.plan.clear();
    REQUIRE_FALSE(old);
    CHECK(old.error().detail == Detail::NotOnThisKernel);
    drop(driver, mapped);
}

TEST_CASE("F03: the driver frees what is still mapped and shared, so whoever frees closes first",
          "[backend][driver][share][F03]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    const auto first = make(driver);
    const auto shared = driver.share(kDevice, first.address, kSize);
    REQUIRE(shared);
    // No word of the descriptor, nor of the mapping:
    CHECK(driver.free(kDevice, first.chunk));
    // and the next owner of the memory is seen through both.
    const auto second = driver.allocate(kDevice, {.size = kSize, .category = 9});
    REQUIRE(second);
    CHECK(second->address == first.chunk.address);
    const char secret[] = "of the next owner";
    REQUIRE(driver.write(kDevice, *second, Bytes{0}, std::as_bytes(std::span(secret))));
    CHECK(std::memcmp(first.address, secret, sizeof secret) == 0);
    char seen[sizeof secret] = {};
    CHECK(::read(*shared, seen, sizeof seen) == static_cast<ssize_t>(sizeof seen));
    CHECK(std::memcmp(seen, secret, sizeof secret) == 0);
    CHECK(driver.close_shared(*shared));
    CHECK(driver.unmap(first.address, first.chunk));
    CHECK(driver.free(kDevice, *second));
    driver.disconnect();
    CHECK(machine.kernel->census() == machine.baseline);
}

TEST_CASE("F03: in any order of allocating, mapping, sharing and closing, every chunk keeps its "
          "bytes if it is freed last",
          "[backend][driver][share][F03]") {
    SimMachine machine("trn1.2xlarge", GENERATE("2.24.7", "2.30.2"));
    auto driver = open_driver(machine);
    struct Held {
        Mapped mapped;
        std::byte mark{};
        std::vector<int> shared;
    };
    std::vector<Held> all;
    std::mt19937 random(7);
    drop(driver, make(driver)); // from now on the simulation has its memory's file
    const auto before = descriptors();
    std::size_t open = 0;
    for (int step = 0; step < 400; ++step) {
        const auto choice = all.empty() ? 0u : random() % 4;
        const auto i = all.empty() ? 0 : random() % all.size();
        if (choice == 0 && all.size() < 12) {
            auto& held = all.emplace_back(Held{make(driver), std::byte(step), {}});
            std::memset(held.mapped.address, step & 0xFF, kSize.count());
        } else if (choice == 1) {
            const auto fd = driver.share(kDevice, all[i].mapped.address + 4096, Bytes{8192});
            REQUIRE(fd);
            all[i].shared.push_back(*fd);
            ++open;
        } else if (choice == 2 && !all[i].shared.empty()) {
            CHECK(driver.close_shared(all[i].shared.back()));
            all[i].shared.pop_back();
            --open;
        } else if (choice == 3) {
            for (const int fd : all[i].shared) CHECK(driver.close_shared(fd));
            open -= all[i].shared.size();
            drop(driver, all[i].mapped);
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        }
        const auto census = machine.kernel->census();
        REQUIRE(census.exported == open);
        REQUIRE(census.user_memory().chunks == all.size());
        REQUIRE(descriptors() == before + open);
        for (const auto& held : all) {
            REQUIRE(held.mapped.address[4096] == held.mark);
            for (const int fd : held.shared) {
                std::byte byte{};
                REQUIRE(::pread(fd, &byte, 1, ::lseek(fd, 0, SEEK_CUR)) == 1);
                REQUIRE(byte == held.mark);
            }
        }
    }
    for (const auto& held : all) {
        for (const int fd : held.shared) CHECK(driver.close_shared(fd));
        drop(driver, held.mapped);
    }
    driver.disconnect();
    CHECK(machine.kernel->census() == machine.baseline);
    CHECK(machine.kernel->would_have_crashed().empty());
}

// SPDX-License-Identifier: Apache-2.0
//
// Into which requests copies and fills of any size are cut. No byte moves.
#include "support/catch.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/dry_copy_port.hpp"
#include "support/old_driver_port.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using test::DryCopy;
using test::DryCopyPort;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSizes[] = {
    1, kGiB - 1, kGiB, kGiB + 1, 2 * kGiB, 4 * kGiB - 1, 4 * kGiB, 4 * kGiB + 1, 5 * kGiB + 4097};
using Seen = std::shared_ptr<std::vector<DryCopy>>;

/// Address space without memory, for buffers that nobody reads.
struct Emptiness {
    explicit Emptiness(std::uint64_t size)
        : bytes(static_cast<std::byte*>(::mmap(nullptr, size, PROT_NONE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
                size) {
        REQUIRE(static_cast<void*>(bytes.data()) != MAP_FAILED);
    }
    Emptiness(const Emptiness&) = delete;
    Emptiness& operator=(const Emptiness&) = delete;
    ~Emptiness() { ::munmap(bytes.data(), bytes.size()); }
    std::span<std::byte> bytes;
};

/// A chunk of any size: the kernel is not asked about it.
template <class D>
Chunk any_chunk(D& driver, std::uint64_t size) {
    auto made = driver.allocate(kDevice, {.size = Bytes{4096}, .category = 9});
    REQUIRE(made);
    made->size = Bytes{size};
    return *made;
}

/// The pieces cover the range once, in order, none of them 0 or above `most`, by one request word.
void check_pieces(const Seen& seen, std::uint32_t word, std::uint64_t from, std::uint64_t to,
                  std::uint64_t size, std::uint64_t most, const std::byte* buffer = nullptr) {
    REQUIRE(seen->size() == (size + most - 1) / most);
    std::uint64_t done = 0;
    for (const auto& piece : *seen) {
        CHECK(piece.word == word);
        CHECK(piece.from == from + done);
        CHECK(piece.to == to + done);
        CHECK(piece.size > 0);
        CHECK(piece.size <= most);
        CHECK(piece.buffer == (buffer != nullptr ? buffer + done : nullptr));
        done += piece.size;
    }
    CHECK(done == size);
    seen->clear();
}

} // namespace

TEST_CASE("whatever the size, no request asks for 0 bytes or reaches 4 GiB", "[backend][copy]") {
    const struct {
        const char *instance, *release;
        std::uint32_t buffered; ///< for large device memory
        std::uint64_t most;
    } rows[] = {{"trn1.2xlarge", "2.24.7", 0xC0284E18, kGiB},
                {"trn1.2xlarge", "2.30.2", 0xC0284E18, kGiB},
                {"trn2.3xlarge", "2.26.5", 0xC0304E7C, 128 * kMiB},
                {"trn2.3xlarge", "2.30.2", 0xC0404E7C, 128 * kMiB}};
    const Emptiness buffer(6 * kGiB);
    for (const auto& row : rows) {
        test::SimMachine machine(row.instance, row.release);
        const Seen seen = std::make_shared<std::vector<DryCopy>>();
        IoctlDriver driver(DryCopyPort(SimPort(*machine.kernel), seen));
        REQUIRE(driver.connect());
        REQUIRE(driver.open_device(kDevice));
        const auto a = any_chunk(driver, 8 * kGiB), b = any_chunk(driver, 8 * kGiB);
        for (const auto size : kSizes) {
            INFO(row.instance << " " << row.release << ": " << size << " bytes");
            const auto part = buffer.bytes.first(size);
            REQUIRE(driver.copy(kDevice, a, Bytes{3}, b, Bytes{kGiB + 5}, Bytes{size}));
            check_pieces(seen, 0x80284E17, 3, kGiB + 5, size, kGiB);
            REQUIRE(driver.fill(kDevice, a, Bytes{7}, Bytes{size}, std::byte{1}));
            check_pieces(seen, 0x80204E1C, 7, 7, size, kGiB);
            const bool small = size == 1;
            const auto word = small ? 0xC0284E18 : row.buffered;
            REQUIRE(driver.write(kDevice, a, Bytes{9}, part));
            check_pieces(seen, word, 9, 9, size, row.most, part.data());
            REQUIRE(driver.read(kDevice, a, Bytes{9}, part));
            check_pieces(seen, word, 9, 9, size, row.most, part.data());
            const WritePiece alone[] = {{a, Bytes{9}, {}}, {a, Bytes{9}, part}};
            if (size > row.most || row.most == kGiB) { // else pinned, in one batch
                REQUIRE(driver.write_batch(kDevice, CoreIndex{0}, alone));
                check_pieces(seen, word, 9, 9, size, row.most, part.data());
            }
            CopyEngine engine(driver, kDevice, CoreIndex{0}); // in turns
            REQUIRE(engine.copy(a, Bytes{3}, b, Bytes{kGiB + 5}, Bytes{size}));
            check_pieces(seen, 0x80284E17, 3, kGiB + 5, size, 16 * kMiB);
            REQUIRE(engine.fill(a, Bytes{7}, Bytes{size}, std::byte{1}));
            check_pieces(seen, 0x80204E1C, 7, 7, size, kGiB);
        }
        REQUIRE(driver.copy(kDevice, a, Bytes{0}, b, Bytes{0}, Bytes{0}));
        REQUIRE(driver.fill(kDevice, a, Bytes{8 * kGiB}, Bytes{0}, std::byte{1}));
        REQUIRE(driver.write(kDevice, a, Bytes{0}, {}));
        CHECK(seen->empty());
    }
}

TEST_CASE("a driver with 32-bit requests is asked up to 4 GiB, and the limit is named",
          "[backend][copy]") {
    SimOptions options{.instance = "trn1.2xlarge", .driver_version = "2.24.7"};
    options.without = {.requests = {0x80384E66, 0x80304E66, 0xC0284E18}, .features = 0xFF & ~0x7u};
    const auto kernel = SimKernel::make(options);
    REQUIRE(kernel);
    const auto old = std::make_shared<test::OldDriver>();
    old->version = "2.12.11.0";
    const Seen seen = std::make_shared<std::vector<DryCopy>>();
    IoctlDriver driver(DryCopyPort(test::OldDriverPort(**kernel, old), seen));
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(kDevice));
    const auto a = any_chunk(driver, 8 * kGiB), b = any_chunk(driver, 8 * kGiB);
    const Emptiness buffer(5 * kGiB);
    constexpr std::uint64_t kMost = 4 * kGiB - 5;
    REQUIRE(driver.copy(kDevice, a, Bytes{3}, b, Bytes{5}, Bytes{kMost}));
    check_pieces(seen, 0x80084E17, 3, 5, kMost, kGiB);
    REQUIRE(driver.fill(kDevice, a, Bytes{5}, Bytes{kMost}, std::byte{1}));
    check_pieces(seen, 0x80084E1C, 5, 5, kMost, kGiB);
    REQUIRE(driver.write(kDevice, a, Bytes{5}, buffer.bytes.first(kMost)));
    check_pieces(seen, 0xC0084E18, 5, 5, kMost, kGiB, buffer.bytes.data());
    const auto refused = [&](const Result<void>& said, std::uint64_t offset) {
        REQUIRE_FALSE(said);
        CHECK(said.error().detail == Detail::NotOnThisDriver);
        CHECK(static_cast<int>(said.error().status) == 2);
        CHECK(said.error().value == offset);
        CHECK(said.error().limit == 0x100000000);
        CHECK(said.error().text.view() == "a copy beyond 4 GiB");
    };
    refused(driver.copy(kDevice, a, Bytes{3}, b, Bytes{6}, Bytes{kMost}), 6);
    refused(driver.copy(kDevice, a, Bytes{6}, b, Bytes{3}, Bytes{kMost}), 6);
    refused(driver.write(kDevice, a, Bytes{6}, buffer.bytes.first(kMost)), 6);
    refused(driver.read(kDevice, a, Bytes{4 * kGiB}, buffer.bytes.first(1)), 4 * kGiB);
    CHECK(seen->empty());
}

// SPDX-License-Identifier: Apache-2.0
//
// Each request of the driver's copies fails once, in five ways.
#include "support/catch.hpp"

#include <cstddef>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "faults/sweep.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};
constexpr CoreIndex kCore{0};
constexpr std::size_t kSize = 300'001; // above what only the driver's own buffer is used for

/// All kinds of copies, one after the other; what each of them moved is compared.
bool copies(SimDriver& driver, const Chunk& a, const Chunk& b) {
    static const auto sent = test::pattern(kSize);
    const std::span all(sent);
    std::vector<std::byte> back(kSize);
    const auto came_back = [&] {
        CHECK(back == sent);
        return back == sent;
    };
    if (!driver.write(kDevice, a, 3_B, sent)) return false;
    if (!driver.read(kDevice, a, 3_B, back)) return false;
    if (!came_back()) return false;
    if (!driver.copy(kDevice, a, 3_B, b, 5_B, Bytes{kSize})) return false;
    if (!driver.fill(kDevice, a, 0_B, a.size, std::byte{0})) return false;

    const WritePiece writes[] = {{b, 5_B, all.first(100)}, {a, 103_B, all.subspan(100)}};
    if (!driver.write_batch(kDevice, kCore, writes)) return false;
    const std::span out(back);
    const ReadPiece reads[] = {{b, 5_B, out.first(100)}, {a, 103_B, out.subspan(100)}};
    if (!driver.read_batch(kDevice, kCore, reads)) return false;
    if (!came_back()) return false;

    auto chain = driver.begin_copies(kDevice, kCore);
    if (!chain) return false;
    if (!chain->start(b, 5_B, a, 3_B, 100_B)) return false;
    if (!chain->start(b, 105_B, a, 103_B, Bytes{kSize - 100})) return false;
    return chain->finish().has_value();
}

} // namespace

TEST_CASE("whichever request of a copy fails, the next copy works and the kernel is as it was",
          "[faults][copy]") {
    test::LogLines log; // waits for what was never started
    const struct {
        const char *instance, *release;
        std::uint64_t calls, failures;
    } rows[] = {
        // write, read, copy, fill, two of each batch, two starts and a wait
        {"trn1.2xlarge", "2.24.7", 11, 55},
        {"trn1.2xlarge", "2.30.2", 11, 55},
        // One request a batch. Of the four with pinned pages ENOMEM and EFAULT are not seen: the
        // bytes go through the driver's own buffer.
        {"trn2.3xlarge", "2.26.5", 9, 37},
        {"trn2.3xlarge", "2.30.2", 9, 37},
    };
    for (const auto& row : rows) {
        INFO(row.instance << " " << row.release);
        SimMachine machine(row.instance, row.release);
        auto driver = test::open_driver(machine);
        const auto a = test::chunk_of(driver, 1 << 20);
        const auto b = test::chunk_of(driver, 1 << 20);
        machine.baseline = machine.kernel->census();
        test::sweep("copies", machine, row.calls, row.failures,
                    [&](SimMachine&) { return copies(driver, a, b); });
        CHECK(copies(driver, a, b));
    }
}

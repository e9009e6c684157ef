// SPDX-License-Identifier: Apache-2.0
// Sixteen processes claim, release and die in any order: a core has one owner, and no mark is left.
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;

namespace {

constexpr std::uint32_t kProcesses = 16;
constexpr int kSteps = 12'000;

/// A process: a driver object, and what it must have.
struct Process {
    std::int32_t pid = 0;
    std::unique_ptr<SimDriver> driver;
    std::unique_ptr<SimDriver> sibling; ///< of some: a second lease of the same door
    std::vector<LogicalRange> held;
};

class Storm {
public:
    explicit Storm(std::uint32_t seed) : random_(seed) {
        auto made = SimKernel::make({.instance = "trn2.48xlarge", .visible = devices()});
        REQUIRE(made);
        kernel_ = *std::move(made);
        baseline_ = kernel_->census();
        present_ =
            PresentCores(devices(), *geometry_of(Architecture::Cayman), *LncSize::make(2, 2, 8));
        for (std::uint32_t i = 0; i < kProcesses; ++i) {
            start(processes_[i]);
            if (i < kProcesses / 2) start_sibling(processes_[i]);
        }
        start(looker_);
    }

    void step() {
        Process& process = processes_[random_() % kProcesses];
        const auto what = random_() % 100;
        if (what < 35)
            claim(process, {.count = 1 + static_cast<std::uint32_t>(random_() % 9)});
        else if (what < 60)
            claim(process, {.visible = anywhere()});
        else if (what < 84)
            release(process);
        else if (what < 87)
            share(process);
        else if (what < 90)
            lose(process);
        else if (what < 95)
            end(process, [&] { process.driver.reset(); });
        else
            end(process, [&] { kernel_->end_process(process.pid); });
        REQUIRE(kernel_->census().marks == 2 * held());
    }

    /// The kernel's map, core by core, is what the processes think.
    void compare() {
        const auto free = neuronbook::detail::free_here(*looker_.driver, present_);
        REQUIRE(free);
        for (std::uint32_t i = 0; i < present_.end(); ++i) {
            const LogicalCore core{i};
            if (!present_.has(core)) continue;
            REQUIRE(present_.whole_in(*free, core) == (owners_[i] == 0));
        }
    }

    void finish() {
        for (auto& process : processes_) process.driver.reset();
        CHECK(kernel_->census().marks == 0); // by request where a sibling keeps the lane open
        for (auto& process : processes_) process.sibling.reset();
        CHECK(kernel_->census().marks == 0);
        looker_.driver.reset();
        CHECK(kernel_->census() == baseline_);
    }

    int granted = 0;
    int refused = 0;

private:
    static DeviceList devices() { // two missing
        DeviceList list;
        for (std::uint32_t i = 0; i < 16; ++i)
            if (i != 3 && i != 9) list.push_back(HostDeviceId{i});
        return list;
    }

    void start(Process& process) {
        process.pid = next_pid_++;
        process.driver = std::make_unique<SimDriver>(SimPort(*kernel_, {.pid = process.pid}));
        REQUIRE(process.driver->connect());
    }

    void start_sibling(Process& process) {
        process.sibling = std::make_unique<SimDriver>(SimPort(*kernel_, {.pid = process.pid}));
        REQUIRE(process.sibling->connect());
    }

    /// The sibling has cores of its process for a moment.
    void share(Process& process) {
        if (!process.sibling || process.held.empty()) return;
        const LogicalRange range = process.held[random_() % process.held.size()];
        const UserCore first = present_.lnc().core_of(range.first);
        for (std::uint32_t k = 0; k < range.count; ++k) // released with another entry
            if (owners_[range.first.value() + k] != process.pid) return;
        REQUIRE(process.sibling->claim(first, 2 * range.count));
        REQUIRE(process.sibling->release(first, 2 * range.count));
    }

    /// The program closes a descriptor of the lane that is its own, and looks before others do.
    void lose(Process& process) {
        SimPort careless(*kernel_, {.pid = process.pid});
        const auto fd = careless.open("/dev/neuron0", Access::WriteOnly);
        REQUIRE(careless.close(static_cast<int>(fd)) == 0);
        auto& looking = process.sibling ? *process.sibling : *process.driver;
        REQUIRE(looking.free_cores(UserCore{0}, 1));
    }

    VisibleCores anywhere() {
        return VisibleCores::of(LogicalCore{static_cast<std::uint32_t>(random_() % 64)},
                                1 + static_cast<std::uint32_t>(random_() % 6));
    }

    void claim(Process& process, const CoreWish& wish) {
        const auto got = claim_cores(*process.driver, present_, wish);
        if (!got) {
            ++refused;
            const auto detail = got.error().detail;
            const bool known = detail == Detail::LogicalCoresBusy ||
                               detail == Detail::NotEnoughCores ||
                               detail == Detail::MissingDevice || detail == Detail::CoresPastEnd;
            REQUIRE(known);
            return;
        }
        ++granted;
        for (const auto& range : *got) {
            if (wish.count != 0) REQUIRE(range.count == wish.count);
            for (std::uint32_t k = 0; k < range.count; ++k) {
                auto& owner = owners_[range.first.value() + k];
                const bool fine = owner == 0 || (owner == process.pid && wish.visible);
                REQUIRE(fine);
                owner = process.pid;
            }
            process.held.push_back(range);
        }
    }

    void release(Process& process) {
        if (process.held.empty()) return;
        const auto at = random_() % process.held.size();
        const LogicalRange range = process.held[at];
        process.held.erase(process.held.begin() + static_cast<std::ptrdiff_t>(at));
        REQUIRE(process.driver->release(present_.lnc().core_of(range.first), 2 * range.count));
        // A driver object holds a core once, however often it was claimed.
        for (std::uint32_t k = 0; k < range.count; ++k)
            if (auto& owner = owners_[range.first.value() + k]; owner == process.pid) owner = 0;
    }

    template <class F>
    void end(Process& process, F how) {
        how();
        for (auto& owner : owners_)
            if (owner == process.pid) owner = 0;
        process.held.clear();
        process.driver.reset();
        const bool paired = process.sibling != nullptr;
        process.sibling.reset();
        start(process);
        if (paired) start_sibling(process);
    }

    [[nodiscard]] std::size_t held() const {
        std::size_t count = 0;
        for (const auto owner : owners_) count += owner != 0;
        return count;
    }

    std::mt19937 random_;
    std::unique_ptr<SimKernel> kernel_;
    Census baseline_;
    PresentCores present_;
    std::array<Process, kProcesses> processes_;
    Process looker_;
    std::array<std::int32_t, 64> owners_{};
    std::int32_t next_pid_ = 1000;
};

} // namespace

TEST_CASE("claims, releases and deaths of sixteen processes never give a core two owners nor leave "
          "a mark",
          "[runtime][claims]") {
    const test::LogLines quiet(LogLevel::Quiet);
    for (const std::uint32_t seed : {1u, 20u, 300u}) {
        INFO("seed " << seed);
        Storm storm(seed);
        for (int i = 0; i < kSteps / 3; ++i) {
            storm.step();
            if (i % 40 == 0) storm.compare();
        }
        CHECK(storm.granted > 500);
        CHECK(storm.refused > 500);
        storm.finish();
    }
}

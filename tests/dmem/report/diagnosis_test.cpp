// SPDX-License-Identifier: Apache-2.0
//
// Every change that a diagnosis suggests is made on a simulated kernel, where it must do, and a
// page less must not.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "neuronbook/dmem/report/diagnosis.hpp"
#include "neuronbook/dmem/report/oom_report.hpp"
#include "support/catch.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::SimDriver;
using test::SimMachine;

namespace {

constexpr HostDeviceId kDevice{0};

/// An HBM of a Trn1 device, chunk by chunk.
struct Hbm {
    SimMachine machine{"trn1.2xlarge", "2.26.5"};
    SimDriver driver = test::open_driver(machine);
    const Geometry& geometry = *geometry_of(Architecture::Sunda);
    std::vector<Chunk> held;

    Result<Chunk> take(std::uint64_t size, std::uint64_t alignment = 0) {
        auto made = driver.allocate(kDevice, {.size = Bytes{size},
                                              .alignment = Bytes{alignment},
                                              .hbm = 0,
                                              .core = CoreIndex{0},
                                              .category = 9});
        if (made) held.push_back(*made);
        return made;
    }
    void give(std::size_t i) {
        REQUIRE(driver.free(kDevice, held[i]));
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    /// Both pools full of chunks of random sizes, then some of them free again.
    void fragment(unsigned seed, std::uint32_t keep) {
        std::mt19937_64 random(seed);
        for (std::uint64_t most = 1u << 30; most >= 4096; most /= 2)
            while (take(most / 2 + random() % (most / 2) + 1)) {}
        while (take(4096)) {}
        std::shuffle(held.begin(), held.end(), random);
        for (std::size_t i = held.size(); i-- > keep;) give(i);
    }
    LedgerSnapshot counters() const {
        LedgerSnapshot now;
        for (const Chunk& chunk : held) now.on_channel[0] += chunk.size.count();
        return now;
    }
    Diagnosis diagnose_refusal(const FailedRequest& request) {
        const DeviceUsage usage{.device = kDevice, .counters = counters()};
        const auto view = view_pools(driver, kDevice, geometry, 0, usage.counters);
        REQUIRE(view);
        CHECK(view->ours.count() == usage.counters.on_channel[0]);
        CHECK(view->others == 0_B);
        return diagnose(request, geometry, usage, &*view);
    }
};

FailedRequest request_of(std::uint64_t size, std::uint64_t alignment = 0) {
    return {.usage = Usage::Tensor, .requested = Bytes{size}, .alignment = Bytes{alignment}};
}

} // namespace

TEST_CASE("a refusal's cause is right, and asking for so much less as it says is enough",
          "[dmem][report]") {
    const auto seed = GENERATE(1u, 2u, 3u, 4u, 5u);
    Hbm hbm;
    hbm.fragment(seed, 40);
    std::mt19937_64 random(seed);
    int refused = 0;
    for (int i = 0; i < 40; ++i) {
        const std::uint64_t size = 1 + random() % (8ull << 30);
        const std::uint64_t alignment = i % 2 ? 1ull << (12 + random() % 19) : 0;
        if (hbm.take(size, alignment)) {
            hbm.give(hbm.held.size() - 1);
            continue;
        }
        ++refused;
        const auto said = hbm.diagnose_refusal(request_of(size, alignment));
        INFO("size " << size << " alignment " << alignment << "\n" << diagnosis_text(said));
        REQUIRE(said.free);
        REQUIRE(said.largest);
        if (said.cause == FailureCause::Size) CHECK(*said.free < said.charged);
        if (said.cause == FailureCause::Fragmentation) {
            CHECK(*said.free >= said.charged);
            CHECK(*said.largest < said.charged);
        }
        if (said.cause == FailureCause::Alignment) {
            CHECK(*said.largest >= said.charged);
            REQUIRE(said.change.alignment);
            CHECK(hbm.take(size, said.change.alignment->count()));
            hbm.give(hbm.held.size() - 1);
            CHECK_FALSE(hbm.take(size, said.change.alignment->count() * 2));
        }
        CHECK(said.cause != FailureCause::Unknown);
        if (!said.change.ask_less) continue;
        const std::uint64_t enough = size - said.change.ask_less->count();
        CHECK(hbm.take(enough, alignment));
        hbm.give(hbm.held.size() - 1);
        CHECK_FALSE(hbm.take(enough + 4096, alignment));
    }
    CHECK(refused > 10);
}

TEST_CASE("freeing the chunks that a diagnosis names is enough", "[dmem][report]") {
    const auto seed = GENERATE(11u, 12u, 13u);
    Hbm hbm;
    hbm.fragment(seed, 40);
    std::mt19937_64 random(seed);
    int made = 0;
    for (int i = 0; i < 20 && hbm.held.size() > 5; ++i) {
        const std::uint64_t size = (1ull << 30) + random() % (6ull << 30);
        if (hbm.take(size)) continue;
        const auto said = hbm.diagnose_refusal(request_of(size));
        if (!said.change.free) continue;
        const auto begin = said.change.free->address.value();
        std::uint64_t freed = 0, count = 0, end = begin;
        // From the place on, neighbours until so many are gone.
        std::sort(hbm.held.begin(), hbm.held.end(),
                  [](const Chunk& a, const Chunk& b) { return a.address < b.address; });
        for (std::size_t k = 0; k < hbm.held.size() && count < said.change.free->chunks;)
            if (hbm.held[k].address.value() >= begin) {
                freed += hbm.held[k].size.count();
                end = hbm.held[k].address.value() + hbm.held[k].size.count();
                hbm.give(k);
                ++count;
            } else {
                ++k;
            }
        INFO("from " << begin << " to " << end << "\n" << diagnosis_text(said));
        CHECK(freed == said.change.free->to_free.count());
        CHECK(hbm.take(size));
        ++made;
    }
    CHECK(made > 0);
}

TEST_CASE("a budget's refusal says what is left in whole pages, and what is missing",
          "[dmem][report]") {
    DeviceUsage usage;
    usage.counters.core_budget[1] = 10000;
    usage.counters.by_core[1][12] = usage.counters.by_core[1][22] = 4096;
    auto request = request_of(8000);
    request.core = CoreIndex{1};
    request.refused_by = FailureCause::CoreBudget;
    const auto said = diagnose(request, *geometry_of(Architecture::Sunda), usage, nullptr);
    CHECK(said.cause == FailureCause::CoreBudget);
    CHECK(said.charged == 8192_B);
    CHECK(said.change.raise_budget == Bytes{4096 + 8192 - 10000});
    CHECK(said.change.ask_less == Bytes{8000 - 4096}); // 5904 are left, one page of them is of use
    const auto text = diagnosis_text(said);
    INFO(text);
    CHECK(text.find("budget of the core: 4.000KB of 9.766KB are used") != std::string::npos);
    usage.counters.by_core[1][22] = 8192;
    const auto full = diagnose(request, *geometry_of(Architecture::Sunda), usage, nullptr);
    CHECK_FALSE(full.change.ask_less); // less than a page is left
}

TEST_CASE("what a driver without an aligned call was asked for is what has to fit",
          "[dmem][report]") {
    Hbm hbm;
    hbm.fragment(7, 20);
    const auto view = view_pools(hbm.driver, kDevice, hbm.geometry, 0, hbm.counters());
    REQUIRE(view);
    const std::uint64_t largest = view->largest().count();
    auto request = request_of(largest - 4096, 1 << 20);
    request.asked = Bytes{largest - 4096 + (1 << 20)}; // with its alignment on top
    REQUIRE_FALSE(hbm.take(request.asked.count()));
    const auto said = hbm.diagnose_refusal(request);
    INFO("largest " << largest << "\n" << diagnosis_text(said));
    CHECK(said.charged == request.asked);
    CHECK(said.cause == FailureCause::Alignment);
    REQUIRE(said.change.ask_less);
    CHECK(hbm.take(request.asked.count() - said.change.ask_less->count()));
    hbm.give(hbm.held.size() - 1);
    REQUIRE(said.change.alignment);
    CHECK(*said.change.alignment == 4_KiB); // 8 KiB on top is a page more than there is
}

TEST_CASE("a request of scratchpad size in vain never says to free scratchpad pages",
          "[dmem][report]") {
    Hbm hbm;
    for (int i = 0; i < 100; ++i) {
        const auto page = hbm.driver.allocate(
            kDevice, {.size = 64_MiB, .hbm = 0, .core = CoreIndex{0}, .category = 19});
        REQUIRE(page);
        hbm.held.push_back(*page);
    }
    const auto said = hbm.diagnose_refusal(request_of(12ull << 30));
    CHECK(said.cause == FailureCause::Size);
    CHECK_FALSE(said.change.free); // it would take pages, which go in reverse order only
    while (!hbm.held.empty()) hbm.give(hbm.held.size() - 1);
}

TEST_CASE("the failure line is the documented one, also for host memory", "[dmem][report]") {
    auto request = request_of(13743184);
    request.usage = Usage::DmaRing;
    request.core = CoreIndex{1};
    CHECK(failure_line(request) == "Failed to allocate 13.107MB (alignment: none, usage: "
                                   "dma_rings_runtime) on ND 0:NC 1");
    request.device = HostDeviceId{12};
    request.alignment = 4_MiB;
    request.location = MemoryLocation::Host;
    CHECK(failure_line(request) == "Failed to allocate 13.107MB (alignment: 4.000MB, usage: "
                                   "dma_rings_runtime) on ND12:NC 1");
}

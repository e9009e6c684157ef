// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/dmem/pool/segregated_fit.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "support/catch.hpp"

using neuronbook::SegregatedFit;
using neuronbook::detail::FreeClasses;
using neuronbook::detail::RangeStarts;

namespace {

constexpr std::uint64_t kMiB = 1048576;

struct Fit {
    SegregatedFit fit;

    void ready() {
        while (!fit.ready_to_add()) {
            auto room = SegregatedFit::make_room(fit.extent());
            fit.give(room);
        }
    }
    void add(SegregatedFit::Segment& segment) {
        ready();
        fit.add(segment);
    }
    SegregatedFit::Place take(std::uint64_t size, std::uint64_t alignment = 0) {
        ready();
        return fit.allocate(size, alignment);
    }
    std::uint64_t address(SegregatedFit::Place place) {
        return fit.segment_of(place).address() + fit.offset(place);
    }
};

} // namespace

TEST_CASE("a size's class begins at most 1/32 below it, and classes rise", "[dmem][pool]") {
    CHECK(FreeClasses::of(512) == 1);
    CHECK(FreeClasses::of(31 * 512) == 31);
    CHECK(FreeClasses::of(32 * 512) == 32);
    CHECK(FreeClasses::of(63 * 512) == 63);
    CHECK(FreeClasses::of(64 * 512) == 64);
    CHECK(FreeClasses::of(65 * 512) == 64);
    CHECK(FreeClasses::of(66 * 512) == 65);
    CHECK(FreeClasses::of(SegregatedFit::kMaxSize) < FreeClasses::kClasses);
    unsigned before = 0;
    std::uint64_t first = 512;
    for (std::uint64_t size = 512; size < 64 * kMiB; size += size / 100 / 512 * 512 + 512) {
        const unsigned now = FreeClasses::of(size);
        REQUIRE(now >= before);
        if (now != before) first = size;
        REQUIRE(size - first <= first / 32);
        before = now;
    }
}

TEST_CASE("the lowest and the highest class with a range are found across words", "[dmem][pool]") {
    FreeClasses classes;
    CHECK(classes.next(0) == FreeClasses::kClasses);
    CHECK(classes.highest() == FreeClasses::kClasses);
    for (const unsigned c : {3u, 63u, 64u, 700u, 1119u}) classes.mark(c);
    CHECK(classes.next(0) == 3);
    CHECK(classes.next(4) == 63);
    CHECK(classes.next(64) == 64);
    CHECK(classes.next(65) == 700);
    CHECK(classes.next(701) == 1119);
    CHECK(classes.next(1120) == FreeClasses::kClasses);
    CHECK(classes.highest() == 1119);
    classes.unmark(1119);
    CHECK(classes.next(701) == FreeClasses::kClasses);
    CHECK(classes.highest() == 700);
}

TEST_CASE("the first range of a MiB is found from the end of a very large one", "[dmem][pool]") {
    RangeStarts starts(96 * 1024 * kMiB);
    starts.put(0, 7);
    starts.put(5 * kMiB + 512, 8);
    const std::uint64_t far = 95 * 1024 * kMiB + 3;
    CHECK(starts.first(far) == RangeStarts::kNil);
    CHECK(starts.first_before(far) == 8);
    starts.clear(5 * kMiB + 512);
    CHECK(starts.first_before(far) == 7);
    starts.put(94 * 1024 * kMiB, 9);
    CHECK(starts.first_before(far) == 9);
    CHECK(starts.first_before(94 * 1024 * kMiB) == 7);
    CHECK(starts.first_before(0) == RangeStarts::kNil);
}

TEST_CASE("ranges are disjoint, aligned, and one again when all are free", "[dmem][pool]") {
    Fit f;
    SegregatedFit::Segment segment(0x7000, 4 * kMiB);
    f.add(segment);
    std::map<std::uint64_t, std::uint64_t> taken;
    std::vector<SegregatedFit::Place> places;
    for (const std::uint64_t alignment : {0u, 512u, 4096u, 65536u, 1048576u})
        for (const std::uint64_t size : {512u, 1536u, 100352u}) {
            const auto place = f.take(size, alignment);
            REQUIRE(place != SegregatedFit::kNone);
            CHECK(f.fit.size(place) == size);
            CHECK(f.address(place) % (alignment < 512 ? 512 : alignment) == 0);
            taken[f.address(place)] = size;
            places.push_back(place);
        }
    std::uint64_t end = 0x7000;
    for (const auto& [address, size] : taken) {
        CHECK(address >= end);
        end = address + size;
    }
    CHECK(end <= 0x7000 + 4 * kMiB);
    CHECK_FALSE(f.fit.unused(segment));
    for (const auto place : places) f.fit.free(place);
    CHECK(f.fit.unused(segment));
    CHECK(f.fit.free_ranges() == 1);
    CHECK(f.fit.largest_free() == 4 * kMiB);
}

TEST_CASE("all of a segment can be had, and a byte more cannot", "[dmem][pool]") {
    Fit f;
    SegregatedFit::Segment segment(4096, 3 * kMiB + 512);
    f.add(segment);
    CHECK(f.take(3 * kMiB + 1024) == SegregatedFit::kNone);
    const auto all = f.take(3 * kMiB + 512);
    REQUIRE(all != SegregatedFit::kNone);
    CHECK(f.take(512) == SegregatedFit::kNone);
    CHECK(f.fit.largest_free() == 0);
    f.fit.free(all);
    CHECK(f.take(~std::uint64_t{0} << 9) == SegregatedFit::kNone);
    CHECK(f.take(512, std::uint64_t{1} << 30) == SegregatedFit::kNone);
}

TEST_CASE("a range of the request's own class that is large enough is found behind smaller ones",
          "[dmem][pool]") {
    Fit f;
    SegregatedFit::Segment segment(0, 1 << 30);
    f.add(segment);
    // 64 and 65 granules share a class; the newest in it is one that is too small.
    const auto fits = f.take(65 * 512);
    const auto wall = f.take(512);
    const auto small = f.take(64 * 512);
    const auto rest = f.take(f.fit.largest_free());
    REQUIRE(wall != SegregatedFit::kNone);
    REQUIRE(rest != SegregatedFit::kNone);
    f.fit.free(fits);
    f.fit.free(small);
    CHECK(f.take(65 * 512) == fits);
}

TEST_CASE("segments of more than 4 GiB come and go, and their ranges stay apart", "[dmem][pool]") {
    Fit f;
    const std::uint64_t base = std::uint64_t{1} << 46;
    SegregatedFit::Segment first(base, 16ull << 30), second(base + (16ull << 30), 16ull << 30);
    f.add(second);
    f.add(first);
    const auto a = f.take(15ull << 30);
    const auto b = f.take(15ull << 30);
    REQUIRE(b != SegregatedFit::kNone);
    CHECK(f.take(2ull << 30) == SegregatedFit::kNone); // 1 GiB in each, side by side or not
    CHECK(&f.fit.segment_of(a) != &f.fit.segment_of(b));
    CHECK(f.fit.find(f.address(a) + (15ull << 30) - 1) == a);
    auto& mine = f.fit.segment_of(a);
    f.fit.free(a);
    f.fit.remove(mine);
    CHECK(f.fit.segments().size() == 1);
    CHECK(f.fit.find(mine.address()) == SegregatedFit::kNone);
    CHECK(f.take(2ull << 30) == SegregatedFit::kNone);
    f.add(mine); // takes the number that is free
    CHECK(f.take(16ull << 30) != SegregatedFit::kNone);
}

TEST_CASE("random work leaves no overlap, and each byte finds its range", "[dmem][pool]") {
    std::mt19937_64 random(7);
    Fit f;
    SegregatedFit::Segment low(1 << 20, 64 * kMiB), high(std::uint64_t{1} << 40, 64 * kMiB);
    f.add(low);
    f.add(high);
    struct Taken {
        std::uint64_t size;
        SegregatedFit::Place place;
    };
    std::map<std::uint64_t, Taken> taken;
    for (int round = 0; round < 20'000; ++round) {
        const bool more = taken.size() < 40 || (taken.size() < 400 && random() % 2 == 0);
        if (more) {
            const std::uint64_t size = ((random() % (1u << random() % 22)) / 512 + 1) * 512;
            const std::uint64_t alignment = random() % 4 == 0 ? 512u << random() % 12 : 0;
            const auto place = f.take(size, alignment);
            if (place == SegregatedFit::kNone) continue;
            const auto address = f.address(place);
            if (alignment != 0) REQUIRE(address % alignment == 0);
            const auto next = taken.lower_bound(address);
            REQUIRE((next == taken.end() || address + size <= next->first));
            if (next != taken.begin()) {
                const auto& [before, range] = *std::prev(next);
                REQUIRE(before + range.size <= address);
            }
            taken[address] = {size, place};
            f.fit.set_holder(place, &f);
        } else {
            auto at = taken.begin();
            std::advance(at, static_cast<long>(random() % taken.size()));
            REQUIRE(f.fit.holder(at->second.place) == &f);
            f.fit.free(at->second.place);
            taken.erase(at);
        }
        const std::uint64_t probe =
            (random() % 2 == 0 ? low : high).address() + random() % (64 * kMiB);
        const auto after = taken.upper_bound(probe);
        auto expected = SegregatedFit::kNone;
        if (after != taken.begin()) {
            const auto& [address, range] = *std::prev(after);
            if (probe < address + range.size) expected = range.place;
        }
        REQUIRE(f.fit.find(probe) == expected);
        // So that a look-up walks over the ranges of one MiB at most.
        if (round % 50 == 0)
            for (const auto& [address, range] : taken) {
                const auto& segment = f.fit.segment_of(range.place);
                const auto offset = address - segment.address();
                const auto first = segment.starts().first(offset);
                REQUIRE(first != SegregatedFit::kNone);
                REQUIRE(f.fit.offset(first) <= offset);
                REQUIRE(f.fit.offset(first) / kMiB == offset / kMiB);
            }
    }
    for (const auto& [address, range] : taken) f.fit.free(range.place);
    CHECK(f.fit.unused(low));
    CHECK(f.fit.unused(high));
    CHECK(f.fit.free_ranges() == 2);
}

// SPDX-License-Identifier: Apache-2.0
// One run of a simulated machine: an input says which machine, and what is asked of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/front.hpp"
#include "fuzz/input.hpp"
#include "fuzz/machine.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/paths.hpp"
#include "fuzz/words.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

inline constexpr std::size_t kPairs = kWords.size() * kSizes.size();

class Run {
public:
    /// Sets a byte of `pairs` for each request word asked for with each size.
    Run(std::span<const std::uint8_t> bytes, std::span<std::uint8_t> pairs)
        : input_(bytes), pairs_(pairs) {}

    /// Throws: Broken.
    void go() {
        auto made = SimKernel::make(machine(input_));
        if (!made) return; // no driver of that release for that machine
        front_.emplace(std::move(*made));
        const auto fresh = kernel().census();
        open(0, 2, kFirstPid);
        constexpr int kMostSteps = 400;
        for (int i = 0; i < kMostSteps && !input_.done(); ++i) step();
        require(kernel().census().open_files == descriptors().files(), "open files");
        for (std::int32_t i = 0; i < kPids; ++i) front_->end(kFirstPid + i);
        check_end(fresh, kernel(), left_);
    }

private:
    static constexpr std::int32_t kFirstPid = 1000;
    static constexpr std::int32_t kPids = 32;

    SimKernel& kernel() { return *front_->kernel; }
    Arena& arena() { return front_->arena; }
    Descriptors& descriptors() { return front_->descriptors; }

    void step() {
        constexpr std::uint8_t kFirstOfHost = 0xF0;
        const auto which = input_.byte();
        if (which >= kFirstOfHost) return step_of_host(which & 15);
        switch (which % 16) {
        case 8: return open();
        case 9: return flush(false);
        case 10: return flush(true);
        case 11: return front_->end(pid(input_.byte()));
        case 12: return pass_time();
        case 13: return map();
        case 14: return set_faults();
        case 15: return fill_slot();
        case 7: return ask_any();
        default: return ask();
        }
    }

    /// What processes do that the driver only sees a part of.
    void step_of_host(int which) {
        switch (which) {
        case 0: return fork();
        case 1: return front_->exec(pid(input_.byte()));
        case 2: return send();
        case 3: return duplicate();
        case 4: return close();
        case 5: return mapped();
        case 6: return unmap();
        case 7: return move();
        case 8: return read_file(kernel(), input_);
        case 9: return write_file(kernel(), input_, arena());
        case 10: return map_and_tell();
        case 11: return open_for_all();
        default: return step_of_host(which - 12 + 8);
        }
    }

    static std::int32_t pid(std::uint8_t which) { return kFirstPid + which % kPids; }

    /// A descriptor and a caller out of one byte: mostly who holds it.
    std::pair<Descriptor, Caller> whom() {
        if (descriptors().empty()) open(0, 2, kFirstPid);
        if (descriptors().empty()) return {Descriptor{0, kFirstPid}, Caller{kFirstPid, false}};
        const auto way = input_.byte();
        const auto one = descriptors()[way % descriptors().size()];
        return {one, Caller{way < 0xC0 ? one.holder : pid(way), way >= 0xF0}};
    }

    void open(std::uint8_t device, std::uint8_t access, std::int32_t opener,
              bool close_on_exec = true) {
        static const std::vector<std::string> kPaths = [] {
            std::vector<std::string> paths;
            for (int i = 0; i < 17; ++i) paths.push_back("/dev/neuron" + std::to_string(i));
            for (const char* odd : {"/dev/neuron", "/dev/neuron00", "", "/dev/neuron99999999999"})
                paths.emplace_back(odd);
            return paths;
        }();
        constexpr std::size_t kMostFiles = 48;
        if (descriptors().size() >= kMostFiles) return;
        const auto& path = kPaths[device % kPaths.size()];
        front_->submit({{opener, false}, {OpenRequest{path, access & 3u, close_on_exec}}});
    }

    void open() {
        const auto device = input_.byte();
        const auto access = input_.byte();
        open(device, access, pid(input_.byte()));
    }

    /// One that exec() keeps.
    void open_for_all() {
        const auto way = input_.byte();
        open(way & 3, way >> 2, pid(way >> 4), false);
    }

    /// A flush, whoever made the descriptor; then a release, if there is no other.
    void flush(bool last) {
        const auto [one, caller] = whom();
        const Caller who{last ? one.holder : caller.pid, false};
        front_->submit({who, {FlushRequest{one.number}}, last});
    }

    void close() {
        const auto [one, caller] = whom();
        front_->submit({caller, {CloseRequest{one.number}}});
    }

    void fork() {
        const auto parent = pid(input_.byte());
        front_->fork(parent, pid(input_.byte()));
    }

    void duplicate() {
        const auto [one, caller] = whom();
        if (descriptors().size() >= Front::kMostDescriptors) return;
        front_->submit({caller, {DuplicateRequest{one.number}}});
    }

    void send() {
        const auto [one, caller] = whom();
        front_->send(caller.pid, one.number, pid(input_.byte()));
    }

    /// Time moves to the end of some wait or by a power of two, then all that may go on does.
    void pass_time() {
        const auto way = input_.byte();
        const auto& waiting = front_->waiting;
        auto& now = front_->now;
        if (way < 0x80 && !waiting.empty())
            now = std::max(now, waiting[way % waiting.size()].until);
        else
            now += std::uint64_t{1} << way % 42;
        front_->go_on();
    }

    void map() {
        const auto [one, caller] = whom();
        const auto way = input_.byte();
        const Bytes length{input_.number(8, arena())};
        const auto offset = input_.number(8, arena());
        front_->map(caller,
                    {one.number, way < 0x80 ? Bytes{std::uint64_t{way & 31u} * 4096} : length,
                     offset, (way & 32) != 0, (way & 64) == 0});
    }

    /// An address of a mapping: in the memory that arguments lie in, or anywhere else.
    std::uint64_t whole_page() { return input_.pointer(arena()) / Arena::kPage * Arena::kPage; }

    void mapped() {
        const auto& what = front_->granted(input_.byte());
        const auto at = whole_page();
        if (what.grant.file < 0 || at + what.grant.length.count() < at) return;
        front_->submit({what.caller, {MappedRequest{what.file, at, what.grant}}});
    }

    /// What the kernel told last is where a chunk lies, maybe.
    void map_and_tell() {
        const auto [one, caller] = whom();
        const auto way = input_.byte();
        const Bytes length{((way & 3u) + 1) * Arena::kPage};
        const auto offset = arena().handle(way >> 3 & 7);
        front_->map(caller, {one.number, length, offset, (way & 4) != 0, way < 0xC0});
        mapped();
    }

    Caller somebody(std::uint8_t way) {
        return {way < 0xC0 && !descriptors().empty()
                    ? descriptors()[way % descriptors().size()].holder
                    : pid(way)};
    }

    void unmap() {
        const auto who = somebody(input_.byte());
        const auto at = whole_page();
        front_->submit({who, {UnmapRequest{at, Bytes{input_.number(8, arena())}}}});
    }

    void move() {
        const auto who = somebody(input_.byte());
        const auto at = whole_page();
        const auto to = whole_page();
        front_->submit({who, {MoveRequest{at, Bytes{input_.number(8, arena())}, to}}});
    }

    void set_faults() {
        const auto device = input_.byte();
        const auto bits = input_.byte();
        SimFaults faults;
        faults.copies_hang = (bits & 1) != 0;
        faults.resets_hang = (bits & 2) != 0;
        faults.firmware_refuses = (bits & 4) != 0;
        faults.gone = (bits & 8) != 0;
        if ((bits & 16) != 0) faults.failing_allocation = bits >> 5;
        if ((bits & 32) != 0) faults.largest_host_piece = Bytes{65536};
        kernel().set_faults(HostDeviceId{device % 17u}, faults);
    }

    /// Something for pointers of later arguments to point to.
    void fill_slot() {
        const auto to = Arena::kBase + input_.byte() % Arena::kSlots * Arena::kPage;
        const auto which = input_.byte();
        const auto& what =
            which < 0x80 ? kTargets[which % kTargets.size()] : kWords[which % kWords.size()];
        std::vector<std::byte> bytes;
        for (int copies = 0; copies <= (which >> 5 & 3); ++copies) {
            const auto one = argument(what, false, input_, arena());
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
        arena().put(to, bytes);
    }

    /// A request of the table, with its own size or any of them.
    void ask() {
        const auto [one, caller] = whom();
        const std::size_t row = input_.byte() % kWords.size();
        const auto way = input_.byte();
        auto word = kWords[row].word;
        std::size_t size = 0;
        if (way < kSizes.size()) word = (word & 0xC000FFFFu) | kSizes[way] << 16;
        while (size < kSizes.size() && kSizes[size] != (word >> 16 & 0x3FFF)) ++size;
        if (size < kSizes.size()) pairs_[row * kSizes.size() + size] = 1;
        ask(one, caller, word, kWords[row]);
    }

    void ask_any() {
        const auto [one, caller] = whom();
        const auto word = static_cast<std::uint32_t>(input_.raw(4));
        ask(one, caller, (word & 0x80000000u) != 0 ? (word & 0xFFFF00FFu) | 0x4E00u : word,
            Word{word, 16, "88"});
    }

    /// How the argument is made: filled or plain; in its slot, at an edge, read-only or nowhere.
    void ask(const Descriptor& to, const Caller& caller, std::uint32_t word,
             const Word& otherwise) {
        const auto* what = &otherwise;
        for (const auto& row : kWords)
            if (row.word == word) what = &row;
        const auto way = input_.byte();
        std::uint64_t at = Arena::kBase;
        if ((way & 0xF0) == 0x10) at = Arena::kReadOnly;
        if ((way & 0xF0) == 0x20) at = Arena::kEnd - (way & 15u) / 2 * 4;
        if ((way & 0xF0) == 0x30) at = Arena::kReadOnly - (way & 15u) / 2 * 4;
        if ((way & 0xF0) == 0x40) at = input_.pointer(arena());
        arena().put(at, argument(*what, (way & 1) == 0, input_, arena()));
        note_what_stays(word, caller);
        front_->submit({caller, {IoctlRequest{to.number, word, at}}});
    }

    void note_what_stays(std::uint32_t word, const Caller& caller) {
        constexpr std::size_t kMostOfOneRequest = 96;
        const auto number = word & 0xFF;
        for (const std::uint32_t keeper : {1, 51, 53, 54, 103, 111, 125})
            if (number == keeper) left_.device_chunks += kMostOfOneRequest;
        if (number == 85 && !descriptors().on_restricted_lane(caller.pid)) left_.marks = true;
        if (number == 136 && !front_->is_attached(caller.pid)) left_.pins = true;
    }

    Input input_;
    std::span<std::uint8_t> pairs_;
    std::optional<Front> front_;
    Left left_;
};

} // namespace fuzz

// SPDX-License-Identifier: Apache-2.0
// One run of a simulated machine: an input says which machine, and what is asked of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/input.hpp"
#include "fuzz/oracle.hpp"
#include "fuzz/words.hpp"
#include "neuronbook/backend/sim/kernel.hpp"

namespace fuzz {

using namespace neuronbook;

inline constexpr std::size_t kPairs = kWords.size() * kSizes.size();

class Run {
public:
    /// Sets a byte of `pairs` for each request word asked for with each size.
    Run(std::span<const std::uint8_t> bytes, std::span<std::uint8_t> pairs)
        : input_(bytes), pairs_(pairs) {}

    /// Throws: Broken.
    void go() {
        if (!start()) return;
        const auto fresh = kernel_->census();
        open(0, 2, kFirstPid);
        constexpr int kMostSteps = 400;
        for (int i = 0; i < kMostSteps && !input_.done(); ++i) step();
        for (std::int32_t i = 0; i < kPids; ++i) kernel_->end_process(kFirstPid + i);
        check_end(fresh, *kernel_, left_);
    }

private:
    static constexpr std::int32_t kFirstPid = 1000;
    static constexpr std::int32_t kPids = 32;

    struct File {
        std::int64_t number;
        std::int32_t opener;
        bool restricted;
    };
    struct Waiting {
        Caller caller;
        Request request;
        bool closing = false; ///< a flush with a release to come
        std::uint64_t until = 0;
        std::uint64_t waited = 0;
    };

    bool start() {
        constexpr std::array kInstances{"trn1.2xlarge",  "trn2.3xlarge",  "trn3pd98.3xlarge",
                                        "trn1.32xlarge", "trn2.48xlarge", "trn3p.48xlarge",
                                        "inf2.24xlarge", "trn2u.48xlarge"};
        constexpr std::array kDrivers{"2.24.7.0", "2.26.5.0", "2.30.2.0"};
        SimOptions options;
        options.instance = kInstances[input_.byte() % kInstances.size()];
        options.driver_version = kDrivers[input_.byte() % kDrivers.size()];
        const auto odd = input_.byte();
        options.poison = (odd & 1) != 0;
        options.faults.never_ready = odd == 0xFF;
        auto made = SimKernel::make(options);
        if (!made) return false; // no driver of that release for that machine
        kernel_ = std::move(*made);
        return true;
    }

    void step() {
        switch (input_.byte() % 16) {
        case 8: return open(input_.byte(), input_.byte(), pid(input_.byte()));
        case 9: return close(false);
        case 10: return close(true);
        case 11: return end(pid(input_.byte()));
        case 12: return pass_time();
        case 13: return map();
        case 14: return set_faults();
        case 15: return fill_slot();
        case 7: return ask_any();
        default: return ask();
        }
    }

    static std::int32_t pid(std::uint8_t which) { return kFirstPid + which % kPids; }

    /// A file and a caller out of one byte: mostly who opened it.
    std::pair<File, Caller> whom() {
        if (files_.empty()) open(0, 2, kFirstPid);
        if (files_.empty()) return {File{0, kFirstPid, false}, Caller{kFirstPid, false}};
        const auto way = input_.byte();
        const auto file = files_[way % files_.size()];
        return {file, Caller{way < 0xC0 ? file.opener : pid(way), way >= 0xF0}};
    }

    void open(std::uint8_t device, std::uint8_t access, std::int32_t opener) {
        static const std::vector<std::string> kPaths = [] {
            std::vector<std::string> paths;
            for (int i = 0; i < 17; ++i) paths.push_back("/dev/neuron" + std::to_string(i));
            for (const char* odd : {"/dev/neuron", "/dev/neuron00", "", "/dev/neuron99999999999"})
                paths.emplace_back(odd);
            return paths;
        }();
        constexpr std::size_t kMostFiles = 48;
        if (files_.size() >= kMostFiles) return;
        submit({{opener, false}, {OpenRequest{kPaths[device % kPaths.size()], access & 3u}}});
    }

    void opened(const Waiting& one, std::int64_t value) {
        if (value < 0) return require(known_error(-value), "errno of open");
        require(value >= 1 << 20, "file number of open");
        const bool restricted = (std::get<OpenRequest>(one.request.what).access & 1) != 0;
        files_.push_back({value, one.caller.pid, restricted});
    }

    /// close(2) of a descriptor: the last, or one more made by dup() or fork().
    void close(bool last) {
        const auto [file, caller] = whom();
        const Caller who{last ? file.opener : caller.pid, false};
        submit({who, {FlushRequest{file.number}}, last});
    }

    void end(std::int32_t who) {
        kernel_->end_process(who);
        std::erase_if(files_, [&](const File& file) { return file.opener == who; });
        std::erase_if(waiting_, [&](const Waiting& one) { return one.caller.pid == who; });
    }

    /// Time moves to the end of some wait or by a power of two, then all that may go on does.
    void pass_time() {
        const auto way = input_.byte();
        if (way < 0x80 && !waiting_.empty())
            now_ = std::max(now_, waiting_[way % waiting_.size()].until);
        else
            now_ += std::uint64_t{1} << way % 42;
        auto all = std::move(waiting_);
        waiting_.clear();
        for (auto& one : all) submit(std::move(one));
    }

    void map() {
        const auto [file, caller] = whom();
        const auto way = input_.byte();
        const Bytes length{input_.number(8, arena_)};
        const auto offset = input_.number(8, arena_);
        const MapRequest what{file.number,
                              way < 0x80 ? Bytes{std::uint64_t{way & 31u} * 4096} : length, offset,
                              (way & 32) != 0, (way & 64) == 0};
        const auto answer = kernel_->submit(caller, {what}, arena_, {now_});
        if (answer.waits) return check_wait(answer);
        if (answer.value < 0) return require(known_error(-answer.value), "errno of mmap");
        require(answer.value == 0 && answer.map.file >= 0, "answer of mmap");
        require(answer.map.writable <= what.writable, "a mapping more writable than asked");
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
        kernel_->set_faults(HostDeviceId{device % 17u}, faults);
    }

    /// Something for pointers of later arguments to point to.
    void fill_slot() {
        const auto to = Arena::kBase + input_.byte() % Arena::kSlots * Arena::kPage;
        const auto which = input_.byte();
        const auto& what =
            which < 0x80 ? kTargets[which % kTargets.size()] : kWords[which % kWords.size()];
        std::vector<std::byte> bytes;
        for (int copies = 0; copies <= (which >> 5 & 3); ++copies) {
            const auto one = argument(what, false, input_, arena_);
            bytes.insert(bytes.end(), one.begin(), one.end());
        }
        arena_.put(to, bytes);
    }

    /// A request of the table, with its own size or any of them.
    void ask() {
        const auto [file, caller] = whom();
        const std::size_t row = input_.byte() % kWords.size();
        const auto way = input_.byte();
        auto word = kWords[row].word;
        std::size_t size = 0;
        if (way < kSizes.size()) word = (word & 0xC000FFFFu) | kSizes[way] << 16;
        while (size < kSizes.size() && kSizes[size] != (word >> 16 & 0x3FFF)) ++size;
        if (size < kSizes.size()) pairs_[row * kSizes.size() + size] = 1;
        send(file, caller, word, kWords[row]);
    }

    void ask_any() {
        const auto [file, caller] = whom();
        const auto word = static_cast<std::uint32_t>(input_.raw(4));
        send(file, caller, (word & 0x80000000u) != 0 ? (word & 0xFFFF00FFu) | 0x4E00u : word,
             Word{word, 16, "88"});
    }

    /// How the argument is made: filled or plain; in its slot, at an edge, read-only or nowhere.
    void send(const File& file, const Caller& caller, std::uint32_t word, const Word& otherwise) {
        const auto* what = &otherwise;
        for (const auto& row : kWords)
            if (row.word == word) what = &row;
        const auto way = input_.byte();
        std::uint64_t at = Arena::kBase;
        if ((way & 0xF0) == 0x10) at = Arena::kReadOnly;
        if ((way & 0xF0) == 0x20) at = Arena::kEnd - (way & 15u) / 2 * 4;
        if ((way & 0xF0) == 0x30) at = Arena::kReadOnly - (way & 15u) / 2 * 4;
        if ((way & 0xF0) == 0x40) at = input_.pointer(arena_);
        arena_.put(at, argument(*what, (way & 1) == 0, input_, arena_));
        note_what_stays(word, file, caller);
        submit({caller, {IoctlRequest{file.number, word, at}}});
    }

    void note_what_stays(std::uint32_t word, const File& file, const Caller& caller) {
        constexpr std::size_t kMostOfOneRequest = 96;
        const auto number = word & 0xFF;
        for (const std::uint32_t keeper : {1, 51, 53, 54, 103, 111, 125})
            if (number == keeper) left_.device_chunks += kMostOfOneRequest;
        if (number == 85 && (!file.restricted || file.opener != caller.pid)) left_.marks = true;
    }

    void check_wait(const Answer& answer) {
        require(answer.until.count > now_, "waits for what is past");
        const auto wait = answer.until.count - now_;
        require(wait <= kLongestWait, "waits for " + std::to_string(wait) + " ns");
    }

    /// Asks, or asks again with the ticket, and looks at the answer.
    void submit(Waiting one) {
        const auto answer = kernel_->submit(one.caller, one.request, arena_, {now_});
        if (answer.waits) {
            check_wait(answer);
            if (one.request.ticket != answer.ticket) one.waited += answer.until.count - now_;
            require(one.waited <= kLongestWait,
                    "waits again and again, for " + std::to_string(one.waited) + " ns");
            one.request.ticket = answer.ticket;
            one.until = answer.until.count;
            constexpr std::size_t kMostWaiting = 64;
            if (waiting_.size() < kMostWaiting) waiting_.push_back(std::move(one));
            return;
        }
        if (const auto* ask = std::get_if<IoctlRequest>(&one.request.what)) {
            const Word* row = nullptr;
            for (const auto& known : kWords)
                if (known.word == ask->word) row = &known;
            const auto encoded = ask->word >> 16 & 0x3FFF;
            const bool buffers =
                row != nullptr && std::string_view(row->layout).find('p') != std::string_view::npos;
            return check_ioctl(answer.value, std::max(encoded, row == nullptr ? 300 : row->size),
                               buffers);
        }
        if (std::holds_alternative<OpenRequest>(one.request.what)) return opened(one, answer.value);
        require(answer.value == 0 || answer.value == -9, "answer of a close");
        if (one.closing) release(one);
    }

    void release(const Waiting& one) {
        const auto number = std::get<FlushRequest>(one.request.what).file;
        kernel_->submit(one.caller, {ReleaseRequest{number}}, arena_, {now_});
        std::erase_if(files_, [&](const File& file) { return file.number == number; });
    }

    Input input_;
    std::span<std::uint8_t> pairs_;
    std::unique_ptr<SimKernel> kernel_;
    Arena arena_;
    std::vector<File> files_;
    std::vector<Waiting> waiting_;
    Left left_;
    std::uint64_t now_ = 1;
};

} // namespace fuzz

// SPDX-License-Identifier: Apache-2.0
//
// Bytes as operations on a runtime's memory, compared after every step with a small reference and
// with the simulated kernel's own list of chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "neuronbook/neuronbook.hpp"

namespace fuzz {

namespace nb = neuronbook;

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void demand(bool holds, const char* what) {
    if (!holds) throw Wrong(what);
}

/// The reference: what must be there.
struct Expected {
    std::vector<nb::Block> handles;
    std::size_t owner = 0; ///< core 0, core 1, or 2 for the model
    nb::Usage usage{};
    bool host = false;
    std::uint32_t hbm = 0;
    std::uint64_t size = 0;
    std::vector<std::byte> bytes; ///< empty: not known

    [[nodiscard]] std::uint64_t charged() const { return (size + 4095) / 4096 * 4096; }
    [[nodiscard]] std::uint32_t core() const { return owner == 1 ? 1 : 0; }
};

class MemoryRun {
    using Port = nb::FaultPort<nb::SimPort>;
    using Driver = nb::IoctlDriver<Port>;
    using Book = nb::Runtime<Driver>;

public:
    explicit MemoryRun(std::span<const std::uint8_t> input) : input_(input) {
        static constexpr const char* kReleases[] = {"2.24.7", "2.26.5", "2.30.2"};
        const bool first = byte() % 2 != 0;
        hbms_ = first ? 2 : 4;
        kernel_ = *nb::SimKernel::make({.instance = first ? "trn1.2xlarge" : "trn2.3xlarge",
                                        .driver_version = kReleases[byte() % 3]});
        nb::RuntimeOptions options{.log_level = nb::LogLevel::Quiet};
        options.memory.events = 64;
        book_ = *Book::open(options, Driver(Port(nb::SimPort(*kernel_, {.pid = 100}), plan_)));
        start_model();
    }

    std::size_t made = 0; ///< blocks

    /// Effects: runs the whole input. Throws Wrong where library, reference and kernel differ.
    void go() {
        while (at_ < input_.size()) {
            step();
            compare();
        }
        live_.clear();
        compare();
        model_.reset();
        book_.reset();
        demand(kernel_->census().user_memory() == nb::Holdings{}, "memory is left");
        demand(kernel_->would_have_crashed().empty(), "a real kernel would have crashed");
    }

private:
    std::uint8_t byte() { return at_ < input_.size() ? input_[at_++] : 0; }

    /// Runs `use` on the allocator of an owner; two types of one shape.
    template <class F>
    auto with(std::size_t owner, F use) {
        if (owner == 2) return use(*model_);
        return use(**book_->allocator(
            {nb::DeviceIndex{0}, nb::CoreIndex{static_cast<std::uint32_t>(owner)}}));
    }

    void start_model() { model_ = *book_->model_allocator({nb::DeviceIndex{0}, nb::CoreIndex{0}}); }

    void step() {
        const std::uint8_t what = byte();
        Expected* one = live_.empty() ? nullptr : &live_[byte() % live_.size()];
        armed_ = what % 16 == 15;
        if (armed_) plan_.fail_nth(1 + byte() % 3, -ENOMEM); // somewhere in this step
        switch (what % 8) {
        case 0:
        case 1:
        case 2: allocate(); break;
        case 3:
            disarm(); // what the driver keeps then is not compared here
            if (one != nullptr) drop(*one);
            break;
        case 4:
            if (one != nullptr) one->handles.push_back(one->handles.back());
            break;
        case 5:
            if (one != nullptr) write(*one);
            break;
        case 6:
            disarm();
            if (what & 128)
                end_model();
            else if (one != nullptr)
                see(*one);
            break;
        default:
            if (one != nullptr) copy(*one, live_[byte() % live_.size()]);
        }
        disarm();
    }

    void disarm() {
        plan_.clear();
        armed_ = false;
    }

    void allocate() {
        Expected wish;
        wish.owner = byte() % 3u;
        wish.usage = static_cast<nb::Usage>(byte() % 24);
        wish.host = byte() % 4 == 0;
        wish.hbm = byte() % 5;
        wish.size = static_cast<std::uint64_t>(byte()) << (byte() % 17);
        if (byte() % 16 == 0) wish.size = ~std::uint64_t{0} - byte();
        const nb::Bytes alignment{byte() % 4 == 0 ? std::uint64_t{1} << byte() % 22 : 0};
        auto block = with(wish.owner, [&](auto& allocator) {
            return allocator.allocate(
                {.size = nb::Bytes{wish.size},
                 .usage = wish.usage,
                 .location = wish.host ? nb::MemoryLocation::Host : nb::MemoryLocation::Device,
                 .hbm = wish.hbm,
                 .alignment = alignment,
                 .hint = "fuzz"});
        });
        const bool legal = may_be(wish, alignment.count());
        demand(legal || !block, "an impossible request is met");
        demand(block || !legal || armed_ || (wish.host && host_held() > (256u << 20)),
               "a possible request is refused");
        if (!block) return;
        ++made;
        demand(block->requested() == nb::Bytes{wish.size}, "requested size");
        demand(block->charged() == nb::Bytes{wish.charged()}, "charged size");
        demand(alignment.count() == 0 || block->address().value() % alignment.count() == 0 ||
                   wish.host,
               "alignment");
        wish.handles.push_back(*std::move(block));
        live_.push_back(std::move(wish));
    }

    /// Whether a request has to be met: all live blocks together are far less than there is.
    [[nodiscard]] bool may_be(const Expected& wish, std::uint64_t alignment) const {
        constexpr std::array<std::uint32_t, 3> kNotOnTheHost{11, 15, 16};
        const auto usage = static_cast<std::uint32_t>(wish.usage);
        if (wish.size == 0 || wish.size > (64u << 20) || usage >= 22) return false;
        if (!wish.host) return wish.hbm < hbms_;
        return alignment <= 4096 && wish.size <= 4u << 20 && // more is never in one piece
               std::find(kNotOnTheHost.begin(), kNotOnTheHost.end(), usage) == kNotOnTheHost.end();
    }

    [[nodiscard]] std::uint64_t host_held() const {
        std::uint64_t sum = 0;
        for (const Expected& one : live_) sum += one.host ? one.charged() : 0;
        return sum;
    }

    void drop(Expected& one) {
        one.handles.pop_back();
        if (one.handles.empty()) live_.erase(live_.begin() + (&one - live_.data()));
    }

    void end_model() {
        model_.reset();
        for (auto& one : live_)
            if (one.owner == 2) demand(!one.handles.front(), "a handle outlives its model");
        std::erase_if(live_, [](const Expected& one) { return one.owner == 2; });
        start_model();
    }

    void write(Expected& one) {
        std::vector<std::byte> bytes(byte() * 16u, static_cast<std::byte>(byte()));
        const std::uint64_t offset = byte() % 8 == 0 ? ~std::uint64_t{0} - byte() : byte();
        const bool fits = offset <= one.size && bytes.size() <= one.size - offset;
        const auto done = with(one.owner, [&](auto& allocator) {
            return allocator.write(one.handles[0], nb::Bytes{offset}, bytes);
        });
        demand(fits || !done, "a write outside is taken");
        demand(done || !fits || armed_, "a write inside is refused");
        if (!done) {
            if (fits) one.bytes.clear(); // some of it may have arrived
            return;
        }
        know(one);
        std::copy(bytes.begin(), bytes.end(),
                  one.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    }

    void copy(Expected& from, Expected& to) {
        const std::uint64_t size = std::min<std::uint64_t>({from.size, to.size, 64u * byte()});
        if (from.size > 1 << 20 || to.size > 1 << 20) return;
        know(from);
        know(to);
        const auto done = with(to.owner, [&](auto& allocator) {
            return allocator.copy(from.handles[0], nb::Bytes{from.size - size}, to.handles[0],
                                  nb::Bytes{0}, nb::Bytes{size});
        });
        const bool overlap = &from == &to && size != 0 && size > from.size - size;
        demand(!done || !overlap, "an overlap is taken");
        demand(done || overlap || armed_, "a copy is refused");
        if (!done) return to.bytes.clear();
        std::copy_n(from.bytes.end() - static_cast<std::ptrdiff_t>(size), size, to.bytes.begin());
    }

    /// Sets a part by the driver, and looks at it through the mapping.
    void see(Expected& one) {
        know(one);
        const std::uint64_t size = std::min<std::uint64_t>(one.size, 3u * byte());
        const auto value = static_cast<std::byte>(byte());
        const auto seen = with(one.owner, [&](auto& allocator) {
            demand(
                allocator.fill(one.handles[0], nb::Bytes{one.size - size}, nb::Bytes{size}, value)
                    .has_value(),
                "a fill is refused");
            return allocator.map(one.handles[0]);
        });
        std::fill(one.bytes.end() - static_cast<std::ptrdiff_t>(size), one.bytes.end(), value);
        if (!seen) return; // up to 2.28 the end of an HBM cannot be mapped
        demand(std::equal(seen->begin(), seen->end(), one.bytes.begin(), one.bytes.end()),
               "what is mapped");
    }

    /// What the block holds, read where that is not known.
    void know(Expected& one) {
        if (!one.bytes.empty() || one.size == 0) return;
        disarm();
        one.bytes = contents(one);
    }
    std::vector<std::byte> contents(Expected& one) {
        std::vector<std::byte> bytes(one.size);
        demand(with(one.owner,
                    [&](auto& allocator) {
                        return allocator.read(one.handles[0], nb::Bytes{0}, bytes).has_value();
                    }),
               "a block cannot be read");
        return bytes;
    }

    /// What the cores' bounce buffers have of the host's memory.
    [[nodiscard]] std::uint64_t bounce() {
        std::uint64_t sum = 0;
        for (std::uint32_t core = 0; core < 2; ++core)
            sum += book_->tree()
                       .resolve({nb::DeviceIndex{0}, nb::CoreIndex{core}})
                       ->core->payload.copies->bounce_size()
                       .count();
        return sum;
    }

    void compare() {
        const auto now = book_->ledger(nb::DeviceIndex{0})->snapshot();
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_core;
        std::array<std::multimap<std::uint64_t, std::uint64_t>, 4> chunks;
        std::uint64_t host = bounce();
        for (auto& one : live_) {
            demand(one.handles[0].handles() == one.handles.size(), "number of handles");
            if (one.host) {
                host += one.charged();
                continue;
            }
            by_core[{one.core(), static_cast<std::uint32_t>(one.usage)}] += one.charged();
            chunks[one.hbm].emplace(one.handles[0].chunk()->address.value(), one.charged());
        }
        for (std::uint32_t core = 0; core < 2; ++core) {
            std::uint64_t sum = 0;
            for (std::uint32_t u = 0; u < 22; ++u) {
                demand(now.by_core[core][u] == by_core[{core, u}], "a usage's bytes");
                sum += now.by_core[core][u];
            }
            demand(now.by_core[core][22] == sum, "a core's total");
        }
        demand(now.host().count() == host, "host memory");
        for (std::uint32_t hbm = 0; hbm < hbms_; ++hbm) {
            const auto listed = book_->driver().chunks(nb::HostDeviceId{0}, hbm);
            demand(listed.has_value(), "the kernel's list");
            std::multimap<std::uint64_t, std::uint64_t> theirs;
            std::uint64_t sum = 0;
            for (const auto& chunk : *listed)
                if (chunk.category != 13) // the driver's own
                    theirs.emplace(chunk.address.value(), chunk.size.count());
            for (const auto& [address, size] : theirs) sum += size;
            demand(theirs == chunks[hbm], "the kernel's chunks");
            demand(now.on_channel[hbm] == sum, "an HBM's total");
        }
        if (live_.empty()) return;
        auto& one = live_[steps_++ % live_.size()];
        if (!one.bytes.empty()) demand(contents(one) == one.bytes, "contents");
    }

    std::span<const std::uint8_t> input_;
    std::size_t at_ = 0;
    std::size_t steps_ = 0;
    bool armed_ = false; ///< a fault may strike in this step
    std::uint32_t hbms_ = 2;
    nb::FaultPlan plan_;
    std::unique_ptr<nb::SimKernel> kernel_;
    std::unique_ptr<Book> book_;
    std::unique_ptr<typename Book::ModelAllocator> model_;
    std::vector<Expected> live_; ///< ends before what it is checked against
};

} // namespace fuzz

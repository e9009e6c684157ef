// SPDX-License-Identifier: Apache-2.0
//
// Each kernel call of a runtime's memory operations fails once, in five ways: allocator, copies,
// mappings and exports undo themselves, and the books are empty whenever the blocks are gone.
#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "faults/sweep.hpp"
#include "neuronbook/dmem/weak_list.hpp"
#include "neuronbook/neuronbook.hpp"
#include "support/book.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::Book;
using test::SimMachine;

namespace {

/// Nothing is booked that is not lost, and nobody owns a block.
bool books_are_empty(Book& book) {
    for (const auto& device : book.usage()) {
        for (const auto bytes : device.counters.on_channel)
            if (bytes != 0) return false;
        for (const auto& owner : device.owners)
            if (owner.blocks != 0 || owner.used[22] != 0) return false;
    }
    return true;
}

/// Brings a runtime up and runs `body` on the allocator of core 0 of logical core 0. Whatever
/// fails, no block is left in the books.
template <class F>
bool with_allocator(SimMachine& machine, MemoryOptions memory, F body) {
    auto options = test::quiet_cores(0, 1);
    options.memory = memory;
    auto book = Book::open(options, test::SimDriver(machine.port()));
    if (!book) return false;
    auto allocator = (*book)->allocator((*(*book)->logical_core(LogicalIndex{0}))->default_core());
    if (!allocator) return false;
    const bool done = body(**book, **allocator);
    CHECK(books_are_empty(**book));
    return done;
}

using Memory = Allocator<GlobalTag, test::SimDriver>;

bool blocks(Book&, Memory& allocator) {
    const auto device = allocator.allocate({.size = 5000_B, .usage = Usage::Tensor});
    if (!device) return false;
    const auto aligned = allocator.allocate({.size = 1_B, .alignment = 1_MiB});
    if (!aligned || aligned->address().value() % (1 << 20) != 0) return false;
    const auto host = allocator.allocate(
        {.size = 1_B, .usage = Usage::Notification, .location = MemoryLocation::Host});
    return host.has_value();
}

bool copies(Book&, Memory& allocator) {
    std::vector<std::byte> out(70'000, std::byte{7}), in(70'000);
    auto a = allocator.allocate({.size = 70'000_B, .usage = Usage::Tensor});
    auto b = allocator.allocate({.size = 70'000_B, .usage = Usage::Tensor});
    if (!a || !b) return false;
    if (!allocator.write(*a, 0_B, out) || !allocator.copy(*a, 0_B, *b, 0_B, 70'000_B)) return false;
    if (!allocator.fill(*a, 0_B, 10_B, std::byte{1}) || !allocator.read(*b, 0_B, in)) return false;
    const std::array<Memory::Write, 2> writes{{{*a, 0_B, out}, {*b, 1_B, std::span(out).first(9)}}};
    if (!allocator.write_batch(writes)) return false;
    std::array<std::byte, 9> tail{};
    const std::array<Memory::Read, 2> reads{{{*a, 0_B, in}, {*b, 1_B, tail}}};
    if (!allocator.read_batch(reads)) return false;
    return in == out && tail[8] == std::byte{7};
}

bool across(Book&, Memory& allocator) {
    const std::vector<std::byte> out(9'000, std::byte{5});
    std::vector<std::byte> in(9'000);
    auto a = allocator.allocate({.size = 9'000_B, .usage = Usage::Tensor, .hbm = 0});
    auto b = allocator.allocate({.size = 9'000_B, .usage = Usage::Tensor, .hbm = 3});
    if (!a || !b) return false;
    if (!allocator.write(*a, 0_B, out) || !allocator.copy(*a, 0_B, *b, 0_B, 9'000_B)) return false;
    return allocator.read(*b, 0_B, in) && in == out;
}

/// Blocks that outlive the runtime, and the list that knew them.
bool survivors(Book& book, Memory& allocator) {
    WeakList list;
    const auto first = allocator.allocate({.size = 5000_B, .usage = Usage::Tensor});
    const auto second = allocator.allocate({.size = 1_B, .usage = Usage::Tensor});
    if (!first || !second || !list.append(*first) || !list.append(*second)) return false;
    book.close();
    return !*first && !*second && list.count().blocks == 0;
}

bool addresses(Book&, Memory& allocator) {
    auto block = allocator.allocate({.size = 20'000_B, .usage = Usage::Tensor});
    if (!block || !allocator.map(*block)) return false;
    auto shared = allocator.share(*block, 5000_B, 100_B);
    if (!shared) return false;
    return shared->close().has_value();
}

bool moves(Book&, Memory& allocator) {
    auto block = allocator.allocate({.size = 5000_B, .usage = Usage::Tensor});
    if (!block) return false;
    auto host = allocator.relocate(*std::move(block), MemoryLocation::Host);
    return host && allocator.relocate(*std::move(host), MemoryLocation::Device);
}

bool models(Book& book, Memory& allocator) {
    auto model = book.model_allocator(allocator.core(), {.name = {1001, "m"}, .budget = 8192_B});
    if (!model) return false;
    const auto left = (**model).allocate({.size = 5000_B, .usage = Usage::Weight});
    if (!left) return false;
    const bool over = (**model).allocate({.size = 1_B, .usage = Usage::Weight}).has_value();
    model->reset(); // frees what the handle still names
    return !over && !*left;
}

} // namespace

TEST_CASE("whichever kernel call of a memory operation fails, books and kernel come back",
          "[faults][dmem]") {
    test::LogLines log(LogLevel::Quiet);
    struct Row {
        const char* name;
        const char* instance;
        const char* release;
        bool (*body)(Book&, Memory&);
        bool zero;
        std::uint64_t calls, failures;
    };
    const Row rows[] = {
        {"allocate and free", "trn1.2xlarge", "2.24.7", blocks, false, 22, 80},
        {"allocate zeroed", "trn2.3xlarge", "2.30.2", blocks, true, 24, 85},
        {"copies by buffer", "trn1.2xlarge", "2.24.7", copies, false, 27, 110},
        {"copies by pinned pages", "trn2.3xlarge", "2.30.2", copies, false, 25, 87},
        {"copy across HBMs", "trn2.3xlarge", "2.26.5", across, false, 30, 109},
        {"blocks that outlive their runtime", "trn1.2xlarge", "2.26.5", survivors, false, 19, 70},
        {"map and share", "trn1.2xlarge", "2.26.5", addresses, false, 21, 75},
        {"move to the host and back", "trn1.2xlarge", "2.26.5", moves, false, 24, 90},
        {"a model's tier", "trn2.3xlarge", "2.26.5", models, false, 19, 65},
    };
    for (const Row& row : rows) {
        SimMachine machine(row.instance, row.release);
        test::sweep(row.name, machine, row.calls, row.failures, [&](SimMachine& m) {
            return with_allocator(m, {.events = 16, .zero = row.zero}, row.body);
        });
    }
}

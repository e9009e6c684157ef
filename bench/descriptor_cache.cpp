// SPDX-License-Identifier: Apache-2.0
//
// What does it cost to add counts to a block that is there? The measure is what a C program would
// write: the block and the name in a key of 260 bytes, hashed byte by byte, in a node of its own.
// And is adding 48 counters worth more than the obvious loop?
#include <malloc.h>

#include <array>
#include <boost/intrusive/unordered_set.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "neuronbook/model/descriptor_cache.hpp"
#include "parked.hpp"

namespace {

using namespace neuronbook;

constexpr std::uint32_t kNames = 64;
constexpr std::uint32_t kBatch = 256;
constexpr std::uint32_t kQueries = 1 << 16;

/// 45 characters or so, alike for most of their length.
const std::vector<std::string>& names() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> made;
        for (std::uint32_t i = 0; i < kNames; ++i) {
            char text[64];
            std::snprintf(text, sizeof text, "/model_%02u/layer_%u/attention/self/query/matmul", i,
                          i * 37 % 97);
            made.emplace_back(text);
        }
        return made;
    }();
    return all;
}

// --- the form of a C program ------------------------------------------------------------------

struct PaddedKey {
    std::uint32_t block = 0;
    char name[256] = {};

    bool operator==(const PaddedKey& other) const {
        return std::memcmp(this, &other, sizeof other) == 0;
    }
};
static_assert(sizeof(PaddedKey) == 260);

/// The hash that C programs get from their usual hash macros: Bob Jenkins, 1996, twelve bytes at a
/// time.
struct JenkinsHash {
    std::uint32_t a = 0x9e3779b9, b = 0x9e3779b9, c = 0xfeedbeef;

    void take(const char* from) {
        std::array<std::uint32_t, 3> words;
        std::memcpy(words.data(), from, sizeof words);
        a += words[0], b += words[1], c += words[2];
        a = (a - b - c) ^ c >> 13, b = (b - c - a) ^ a << 8, c = (c - a - b) ^ b >> 13;
        a = (a - b - c) ^ c >> 12, b = (b - c - a) ^ a << 16, c = (c - a - b) ^ b >> 5;
        a = (a - b - c) ^ c >> 3, b = (b - c - a) ^ a << 10, c = (c - a - b) ^ b >> 15;
    }
    static std::size_t of(const PaddedKey& key) {
        JenkinsHash hash;
        const auto* at = reinterpret_cast<const char*>(&key);
        std::size_t left = sizeof key;
        for (; left >= 12; left -= 12, at += 12) hash.take(at);
        std::array<char, 12> rest{};
        std::memcpy(rest.data(), at, left);
        hash.c += sizeof key;
        hash.take(rest.data());
        return hash.c;
    }
    std::size_t operator()(const PaddedKey& key) const { return of(key); }
};

struct PlainCounts {
    std::uint32_t of[3][16] = {};
};

/// The obvious loop.
inline void add_nested(PlainCounts& sums, const PlainCounts& more) {
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 16; ++k) sums.of[i][k] += more.of[i][k];
}

/// Nodes with the whole key inside, chained, four times the buckets when they are two to a bucket.
class PaddedChain {
    struct Node : boost::intrusive::unordered_set_base_hook<boost::intrusive::store_hash<true>> {
        PaddedKey key;
        PlainCounts counts;
    };
    struct KeyOf {
        using type = PaddedKey;
        const type& operator()(const Node& node) const { return node.key; }
    };
    using Set = boost::intrusive::unordered_set<
        Node, boost::intrusive::key_of_value<KeyOf>, boost::intrusive::hash<JenkinsHash>,
        boost::intrusive::power_2_buckets<true>, boost::intrusive::compare_hash<true>>;
    using Buckets = std::vector<Set::bucket_type>;

public:
    PaddedChain() = default;
    PaddedChain(const PaddedChain&) = delete;
    PaddedChain& operator=(const PaddedChain&) = delete;
    ~PaddedChain() {
        set_.clear_and_dispose([](Node* node) { delete node; });
    }

    void add(const std::string& name, std::uint32_t block, const PlainCounts& more) {
        PaddedKey key;
        key.block = block;
        std::memcpy(key.name, name.data(), name.size());
        const auto at = set_.find(key);
        if (at != set_.end()) return add_nested(at->counts, more);
        auto* node = new Node;
        node->key = key;
        node->counts = more;
        set_.insert(*node);
        if (set_.size() <= buckets_.size() * 2) return;
        Buckets wider(buckets_.size() * 4);
        set_.rehash({wider.data(), wider.size()});
        buckets_.swap(wider);
    }

private:
    Buckets buckets_ = Buckets(32);
    Set set_{Set::bucket_traits(buckets_.data(), buckets_.size())};
};

// --- what is compared: each filled once, with n blocks of kNames functions -----------------------

std::size_t heap_bytes() {
    const auto heap = ::mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

template <class T>
struct Filled {
    std::unique_ptr<T> table;
    double bytes_each = 0;

    static Filled& with(std::uint32_t n) {
        static std::array<Filled, 3> all; // 10 000, 100 000, 1 000 000
        Filled& mine = all[n < 50'000 ? 0 : n < 500'000 ? 1 : 2];
        if (mine.table) return mine;
        const auto before = heap_bytes();
        mine.table = std::make_unique<T>(n);
        mine.bytes_each = static_cast<double>(heap_bytes() - before) / n;
        return mine;
    }
};

/// Every 64th block of each function.
struct ChainForm {
    PaddedChain chain;

    explicit ChainForm(std::uint32_t n) {
        for (std::uint32_t i = 0; i < n; ++i) add(i, {});
    }
    void add(std::uint32_t i, const PlainCounts& more) { chain.add(names()[i % kNames], i, more); }
};

/// A cache with one table; blocks as a function of i.
struct CacheForm {
    DescriptorCache cache;
    DescriptorTable* table;
    std::array<FunctionId, kNames> ids;

    explicit CacheForm(std::uint32_t n) : table(*cache.add_table("ring", n)) {
        for (std::uint32_t i = 0; i < kNames; ++i) ids[i] = *cache.intern(names()[i]);
    }
};
struct HeldForm : CacheForm {
    explicit HeldForm(std::uint32_t n) : CacheForm(n) {
        for (std::uint32_t i = 0; i < n; ++i) add(i, {});
    }
    void add(std::uint32_t i, const DescriptorCounts& more) {
        if (!table->add(ids[i % kNames], DescriptorBlock{i}, more)) std::abort();
    }
    void add_by_name(std::uint32_t i, const DescriptorCounts& more) {
        if (!table->add(names()[i % kNames], DescriptorBlock{i}, more)) std::abort();
    }
};
/// The same, but each function's blocks are numbered without gaps.
struct DenseForm : CacheForm {
    explicit DenseForm(std::uint32_t n) : CacheForm(n) {
        for (std::uint32_t i = 0; i < n; ++i) add(i, {});
    }
    void add(std::uint32_t i, const DescriptorCounts& more) {
        if (!table->add(ids[i % kNames], DescriptorBlock{i / kNames}, more)) std::abort();
    }
};

template <class Form, class Counts, auto Add>
void random_blocks(benchmark::State& state) {
    const auto n = static_cast<std::uint32_t>(state.range(0));
    auto& filled = Filled<Form>::with(n);
    std::vector<std::uint32_t> queries(kQueries);
    std::mt19937 random(n);
    for (auto& each : queries) each = random() % n;
    Counts more{};
    std::memset(static_cast<void*>(&more), 0, sizeof more);
    reinterpret_cast<std::uint32_t&>(more) = 1;
    std::uint32_t at = 0;
    for (auto _ : state)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            (filled.table.get()->*Add)(queries[at++ % kQueries], more);
            benchmark::ClobberMemory();
        }
    state.SetItemsProcessed(state.iterations() * kBatch);
    state.counters["bytes_each"] = filled.bytes_each;
}

void chain(benchmark::State& state) {
    random_blocks<ChainForm, PlainCounts, &ChainForm::add>(state);
}
void held(benchmark::State& state) {
    random_blocks<HeldForm, DescriptorCounts, &HeldForm::add>(state);
}
void named(benchmark::State& state) {
    random_blocks<HeldForm, DescriptorCounts, &HeldForm::add_by_name>(state);
}
void dense(benchmark::State& state) {
    random_blocks<DenseForm, DescriptorCounts, &DenseForm::add>(state);
}

#define SIZES ->Arg(10'000)->Arg(100'000)->Arg(1'000'000)
BENCHMARK(chain) SIZES;
BENCHMARK(held) SIZES;
BENCHMARK(named) SIZES;
BENCHMARK(dense) SIZES;

// --- 48 counters, in the first cache ------------------------------------------------------------

/// The obvious loop, which refuses what would wrap, and then adds nothing.
inline bool add_nested_checked(PlainCounts& sums, const PlainCounts& more) {
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 16; ++k)
            if (sums.of[i][k] + more.of[i][k] < more.of[i][k]) return false;
    add_nested(sums, more);
    return true;
}

struct Nested {
    using Counts = PlainCounts;
    bool operator()(Counts& sums, const Counts& more) { return add_nested(sums, more), true; }
};
struct NestedChecked {
    using Counts = PlainCounts;
    bool operator()(Counts& sums, const Counts& more) { return add_nested_checked(sums, more); }
};
struct Unchecked {
    using Counts = DescriptorCounts;
    bool operator()(Counts& sums, const Counts& more) { return detail::add_all(sums, more), true; }
};
struct Checked {
    using Counts = DescriptorCounts;
    detail::CounterRoom room;
    bool operator()(Counts& sums, const Counts& more) { return room.add(sums, more); }
};

/// The same function some bytes behind a cache line: where the linker puts a short loop makes it up
/// to 1.7 times slower, so each form is measured in many places.
#define PLACED(bytes)                                                                              \
    template <class Form>                                                                          \
    [[gnu::noinline, gnu::aligned(64), gnu::patchable_function_entry(bytes, bytes)]] bool          \
        add_at_##bytes(Form& form, typename Form::Counts& to, const typename Form::Counts& more) { \
        return form(to, more);                                                                     \
    }
PLACED(0)
PLACED(8)
PLACED(16)
PLACED(24)
PLACED(32)
PLACED(40)
PLACED(48)
PLACED(56)
#undef PLACED

template <class Form>
void sum(benchmark::State& state) {
    using Counts = typename Form::Counts;
    constexpr std::array<bool (*)(Form&, Counts&, const Counts&), 8> kPlaces{
        add_at_0<Form>,  add_at_8<Form>,  add_at_16<Form>, add_at_24<Form>,
        add_at_32<Form>, add_at_40<Form>, add_at_48<Form>, add_at_56<Form>};
    // Thirty-two entries take turns, so that no addition waits for the one before.
    std::vector<Counts> entries(32);
    Counts more{};
    benchmark::DoNotOptimize(more);
    Form form;
    for (auto _ : state)
        for (const auto add : kPlaces)
            for (std::uint32_t i = 0; i < kBatch; ++i)
                if (!add(form, entries[i % 32], more)) std::abort();
    state.SetItemsProcessed(state.iterations() * kBatch * static_cast<int>(kPlaces.size()));
}

BENCHMARK(sum<Nested>)->Name("sum/nested");
BENCHMARK(sum<NestedChecked>)->Name("sum/nested_checked");
BENCHMARK(sum<Unchecked>)->Name("sum/unchecked");
BENCHMARK(sum<Checked>)->Name("sum/checked");

} // namespace

BENCH_MAIN()

// SPDX-License-Identifier: Apache-2.0
//
// What bench/models.cpp compares: our databases, a bare counter, and the documented protocol, a
// hash table under a mutex.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <array>
#include <atomic>
#include <boost/intrusive/unordered_set.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "neuronbook/model/model_database.hpp"

namespace bench {

using namespace neuronbook;

/// In a register: through memory, an atomic addition would wait for that store.
template <class U>
void use(U value) {
    asm volatile("" : : "r"(value));
}
/// The same value, which the compiler does not know any more.
inline std::uint32_t anew(std::uint32_t value) {
    asm volatile("" : "+r"(value));
    return value;
}
inline ModelHandle anew(ModelHandle handle) { return ModelHandle{anew(handle.value())}; }

struct Model : ModelRecord {
    using ModelRecord::ModelRecord;
    std::uint64_t step = 0;
    std::array<std::uint64_t, 28> rest{};
};

/// What models_object.cpp has: `times` pairs.
using ModelsLoop = void (*)(const ModelDatabase<Model, ThreadCounts>& models, ModelHandle handle,
                            std::uint32_t times);

/// A database of `count` models of ours.
template <class Counts>
struct Database {
    explicit Database(std::uint32_t count) : models({}) {
        for (std::uint32_t i = 0; i < count; ++i)
            handles.push_back(
                *models.add(std::make_unique<Model>(*process_handles().mint(), "bench")));
    }
    ModelDatabase<Model, Counts> models;
    std::vector<ModelHandle> handles;
};

/// One counter a model, each in lines of its own, and nothing to look up or to check.
struct Counters {
    explicit Counters(std::uint32_t count) : cells(new Cell[count]) {}
    struct alignas(128) Cell {
        std::atomic<std::uint32_t> count{1};
    };
    std::unique_ptr<Cell[]> cells;
};

/// The documented protocol: find and count up under a mutex, count down without.
struct Locked {
    struct alignas(128) Node : boost::intrusive::unordered_set_base_hook<> {
        std::uint32_t handle = 0;
        std::atomic<std::uint32_t> count{0};
    };
    struct KeyOf {
        using type = std::uint32_t;
        const type& operator()(const Node& node) const { return node.handle; }
    };
    struct Hash {
        std::size_t operator()(std::uint32_t h) const { return h * 0x9E3779B1u >> 7; }
    };
    using Set = boost::intrusive::unordered_set<Node, boost::intrusive::key_of_value<KeyOf>,
                                                boost::intrusive::hash<Hash>,
                                                boost::intrusive::power_2_buckets<true>>;

    explicit Locked(std::uint32_t count)
        : nodes(new Node[count]), buckets(new Set::bucket_type[256]),
          set(Set::bucket_traits(buckets.get(), 256)) {
        for (std::uint32_t i = 0; i < count; ++i) {
            nodes[i].handle = i + 1;
            set.insert(nodes[i]);
        }
    }
    ~Locked() { set.clear(); }

    alignas(128) std::mutex mutex;
    alignas(128) std::unique_ptr<Node[]> nodes;
    std::unique_ptr<Set::bucket_type[]> buckets;
    Set set;
};

} // namespace bench

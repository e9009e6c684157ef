// expect: kMaxLncSize must be 1, 2, 4 or 8
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

struct Traits {
#ifdef REJECT
    static constexpr std::uint32_t kMaxLncSize = 3;
#else
    static constexpr std::uint32_t kMaxLncSize = 4;
#endif
};

ContextTree<4, 8, NoPayload, Traits> tree;

// expect: CorePayload must be default constructible
// The tree has a payload for every core from the start.
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

struct Payload {
#ifdef REJECT
    explicit Payload(int);
#endif
    int number = 0;
};

ContextTree<4, 8, Payload> tree;

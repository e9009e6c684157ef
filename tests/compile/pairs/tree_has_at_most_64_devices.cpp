// expect: NumMla must be 1 to 64
// Device nodes carry the numbers 0 to 63.
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

#ifdef REJECT
ContextTree<65> tree;
#else
ContextTree<64> tree;
#endif

// expect: NumMla must be 1 to 64
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

#ifdef REJECT
ContextTree<0> tree;
#else
ContextTree<1> tree;
#endif

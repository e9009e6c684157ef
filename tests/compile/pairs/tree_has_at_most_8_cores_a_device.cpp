// expect: NumTpb must be 1 to 8
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

#ifdef REJECT
ContextTree<4, 9> tree;
#else
ContextTree<4, 8> tree;
#endif

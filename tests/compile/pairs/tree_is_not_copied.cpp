// expect: use of deleted function || call to deleted constructor
// Others hold pointers into a tree.
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

using Tree = ContextTree<2>;

#ifdef REJECT
Tree copied(const Tree& tree) { return tree; }
#else
const Tree& shared(const Tree& tree) { return tree; }
#endif

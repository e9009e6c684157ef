// expect: AllocTag
// A tier is an empty type with a name, a number and a lifetime.
#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

struct Pool {};

#ifdef REJECT
Allocator<Pool>* allocator;
#else
Allocator<GlobalTag>* allocator;
#endif

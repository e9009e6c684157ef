// expect: cannot convert || invalid conversion || cannot initialize
// The driver's category 12 and usage 12 are different things.
#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

#ifdef REJECT
AllocationRequest request{.size = Bytes{1}, .usage = 12};
#else
AllocationRequest request{.size = Bytes{1}, .usage = Usage::Tensor};
#endif

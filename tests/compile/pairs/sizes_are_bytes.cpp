// expect: could not convert || no viable conversion || converting to
// A bare number does not say what it counts.
#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

#ifdef REJECT
AllocationRequest request{.size = 4096};
#else
AllocationRequest request{.size = 4_KiB};
#endif

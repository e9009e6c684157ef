// expect: UsageLedger
#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

struct Uncounted {};

#ifdef REJECT
Allocator<GlobalTag, DefaultDriver, Uncounted>* allocator;
#else
Allocator<GlobalTag, DefaultDriver, NullLedger>* allocator;
#endif

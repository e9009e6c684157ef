// expect: use of deleted function || call to deleted
// It is large, and its tables are pointed to; it moves with its model.
#include <utility>

#include "neuronbook/model/descriptor_cache.hpp"

using namespace neuronbook;

#ifdef REJECT
DescriptorCache taken(DescriptorCache& from) { return from; }
#else
DescriptorCache taken(DescriptorCache& from) { return std::move(from); }
#endif

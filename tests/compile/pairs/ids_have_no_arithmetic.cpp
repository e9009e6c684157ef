// expect: no match for 'operator+' || invalid operands to binary expression
// The next device is a question for the tree: ids compare, but do not count.
#include "neuronbook/base/ids.hpp"

using namespace neuronbook;

static_assert(DeviceIndex{1} < DeviceIndex{2});

#ifdef REJECT
constexpr auto kNext = DeviceIndex{1} + 1;
#else
constexpr auto kNext = DeviceIndex{DeviceIndex{1}.value() + 1};
#endif
static_assert(kNext.value() == 2);

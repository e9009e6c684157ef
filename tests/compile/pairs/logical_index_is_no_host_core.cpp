// expect: cannot convert || no viable conversion
// A program's own number of a logical core is not the host's: only the book turns one into the
// other.
#include "neuronbook/topology/present_cores.hpp"

#include "neuronbook/topology/logical_cores.hpp"

using namespace neuronbook;

HostDeviceId where(const PresentCores& cores, const LogicalCoreRecord<2>& record) {
#ifdef REJECT
    return cores.device_of(record.index);
#else
    return cores.device_of(record.id);
#endif
}

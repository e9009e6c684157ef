// expect: could not convert || no known conversion
// A host's device number names a different device in the tree, so it does not pass for one.
#include "neuronbook/base/ids.hpp"

using namespace neuronbook;

void open(DeviceIndex);

void use(HostDeviceId host, DeviceIndex slot) {
#ifdef REJECT
    open(host);
#else
    open(slot);
    open(DeviceIndex{host.value()});
#endif
}

// SPDX-License-Identifier: Apache-2.0
// A shared object with a runtime of its own, which it keeps open for the life of the process.
#ifdef OTHER_VERSION
// The headers of another version: another inline namespace, another registry of doors.
#define v0 v9
#define NEURONBOOK_DOORS "neuronbook_doors_v9"
#endif

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"

using namespace neuronbook;

namespace {
IoctlDriver<SimPort>* driver = nullptr;
}

extern "C" [[gnu::visibility("default")]] int attach(void* kernel, std::int32_t pid) {
    using Driver = IoctlDriver<SimPort>;
    driver = new Driver(SimPort(*static_cast<SimKernel*>(kernel), {.pid = pid}));
    if (!driver->connect()) return 1;
    if (!driver->open_device(HostDeviceId{0})) return 2;
    const auto chunk = driver->allocate(HostDeviceId{0}, {.size = Bytes{4096}, .alignment = {}});
    if (!chunk) return 3;
    return driver->free(HostDeviceId{0}, *chunk) ? 0 : 4;
}

extern "C" [[gnu::visibility("default")]] void detach() {
    delete driver;
    driver = nullptr;
}

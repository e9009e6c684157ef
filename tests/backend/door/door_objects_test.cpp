// SPDX-License-Identifier: Apache-2.0
// The door of a program and of the shared objects it loads.
#include "support/catch.hpp"

#include <cerrno>
#include <dlfcn.h>

#include "neuronbook/backend/decorated_port.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "support/door_drivers.hpp"

using namespace neuronbook;
using test::door::connected;
using test::door::machine;
using test::door::SimDriver;

namespace {

/// A driver that takes no marks back while it refuses.
struct NoUnmark {
    bool* refusing;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        return *refusing && event.request == uapi::kCrwlNcRangeUnmarkExt0 ? -EPERM : call();
    }
};

} // namespace

TEST_CASE("two shared objects of one version share the door, whatever opened them",
          "[backend][door]") {
    const auto kernel = machine();
    auto driver = connected(*kernel, 42);
    REQUIRE(driver.open_device(HostDeviceId{0}));
    const auto opened = kernel->census().open_files;
    using Attach = int (*)(void*, std::int32_t);
    for (const char* path : {DOOR_PLUGIN_A, DOOR_PLUGIN_B}) {
        void* plugin = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
        INFO((plugin ? "" : ::dlerror()));
        REQUIRE(plugin);
        const auto attach = reinterpret_cast<Attach>(::dlsym(plugin, "attach"));
        REQUIRE(attach);
        // 0: the plugin's runtime works; it added no descriptor.
        CHECK(attach(kernel.get(), 42) == 0);
        CHECK(kernel->census().open_files == opened);
        reinterpret_cast<void (*)()>(::dlsym(plugin, "detach"))();
        CHECK(kernel->census().open_files == opened);
    }
}

TEST_CASE("an object of another version has a door of its own, and shutting it takes no mark",
          "[backend][door]") {
    const auto kernel = machine();
    auto driver = connected(*kernel, 42);
    REQUIRE(driver.open_device(HostDeviceId{0}));
    REQUIRE(driver.claim(UserCore{0}, 2));
    const auto opened = kernel->census().open_files;
    void* plugin = ::dlopen(DOOR_PLUGIN_OTHER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin);
    using Attach = int (*)(void*, std::int32_t);
    const auto attach = reinterpret_cast<Attach>(::dlsym(plugin, "attach"));
    const auto detach = reinterpret_cast<void (*)()>(::dlsym(plugin, "detach"));
    for (int round = 0; round < 3; ++round) {
        REQUIRE(attach(kernel.get(), 42) == 0);
        CHECK(kernel->census().open_files == opened + 2); // its own lane and device
        detach();
        // It leaves its lane open, since the kernel would drop our marks with it, and uses it
        // again.
        CHECK(kernel->census().open_files == opened + 1);
        CHECK(kernel->census().marks == 2);
    }
    // The last version that is up closes its own.
    REQUIRE(attach(kernel.get(), 42) == 0);
    driver.disconnect();
    CHECK(kernel->census().open_files == 3); // our parked lane, its lane and device
    detach();
    CHECK(kernel->census().marks == 0);
    CHECK(kernel->census().open_files == 1);
}

TEST_CASE("a mark that was not taken back is not trusted once other versions may drop it",
          "[backend][door]") {
    const auto kernel = machine();
    bool refusing = false;
    const DecoratedPort port(SimPort(*kernel, {.pid = 42}), NoUnmark{&refusing});
    void* plugin = ::dlopen(DOOR_PLUGIN_OTHER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin);
    using Attach = int (*)(void*, std::int32_t);
    const auto attach = reinterpret_cast<Attach>(::dlsym(plugin, "attach"));
    const auto detach = reinterpret_cast<void (*)()>(::dlsym(plugin, "detach"));
    {
        IoctlDriver mine(port);
        REQUIRE(mine.connect());
        REQUIRE(mine.claim(UserCore{0}, 1));
        REQUIRE(attach(kernel.get(), 42) == 0);
        refusing = true; // UNMARK, as mine goes, and once more
    }
    refusing = false;
    CHECK(kernel->census().marks == 1);
    detach(); // the last version closes its lane, and the kernel drops all marks
    CHECK(kernel->census().marks == 0);
    IoctlDriver again(port);
    REQUIRE(again.connect());
    REQUIRE(again.claim(UserCore{0}, 1));
    CHECK(kernel->census().marks == 1);
}

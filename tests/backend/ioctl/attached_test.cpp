// SPDX-License-Identifier: Apache-2.0
// Asking a device who is attached to it, against a driver that a test speaks for.
#include "support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/topology/core_claim.hpp"
#include "support/script_port.hpp"

using namespace neuronbook;
using test::Script;
using test::ScriptPort;

namespace {

constexpr const char* kResetFile = "/sys/devices/virtual/neuron_device/neuron0/reset";

/// A trn1.2xlarge whose cores are all taken, with these processes attached to its device, and this
/// one as the kernel sees it.
std::shared_ptr<Script> busy_machine(std::vector<std::int32_t> pids, std::int64_t apps_answer = 0,
                                     std::int32_t own = ::getpid()) {
    if (pids.size() < 16) pids.push_back(own);
    auto script = std::make_shared<Script>();
    script->files = {{"/sys/module/neuron", ""},
                     {"/sys/module/neuron/version", "2.24.7.0\n"},
                     {"/dev/neuron0", ""},
                     {kResetFile, "1\n"},
                     {"/proc/4711/comm", "python3\n"}};
    script->ioctl = [pids, apps_answer](std::uint32_t word, void* argument) -> std::int64_t {
        if (word == 0x80184E6E)
            *static_cast<uapi::DeviceDriverInfo*>(argument) = {.architecture = 2,
                                                               .feature_flags1 = 0xFF};
        if (word == 0x40084E5D)
            *static_cast<uapi::CompatibleVersion*>(argument) = {.max = 7, .min = 5};
        if (word == 0xC0504E55) {
            static_cast<uapi::CrwlNcMapExt*>(argument)->max_nc_available = 0;
            return -EBUSY;
        }
        if (word != 0x80084E07) return 0;
        if (apps_answer != 0) return apps_answer;
        auto* head = static_cast<uapi::GetAppsInfo*>(argument);
        CHECK(head->capacity == 16);
        CHECK(head->apps_info_flags == 0xF);
        auto* rows = reinterpret_cast<uapi::AppInfo*>(head + 1);
        head->size = static_cast<std::uint32_t>(pids.size());
        for (std::size_t i = 0; i < std::min<std::size_t>(pids.size(), 16); ++i)
            rows[i].pid = pids[i];
        return 0;
    };
    return script;
}

/// The text of a claim that must fail, and what was opened and closed for it.
std::string refusal(const std::shared_ptr<Script>& script) {
    IoctlDriver driver{ScriptPort(script)};
    REQUIRE(driver.connect());
    script->calls.clear();
    const PresentCores present({HostDeviceId{0}}, *geometry_of(Architecture::Sunda), LncSize{});
    const auto claimed =
        claim_cores(driver, present, {.visible = VisibleCores::of(LogicalCore{0}, 1)});
    REQUIRE_FALSE(claimed);
    CHECK(claimed.error().detail == Detail::LogicalCoresBusy);
    return describe(claimed.error());
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("attached processes are told with their commands, this process left out", "[backend]") {
    const auto script = busy_machine({4711, 12});
    IoctlDriver driver{ScriptPort(script)};
    REQUIRE(driver.connect());
    const auto found = driver.attached(HostDeviceId{0});
    REQUIRE(found);
    REQUIRE(found->size() == 2);
    CHECK((*found)[0].pid == 4711);
    CHECK((*found)[0].command.view() == "python3");
    CHECK((*found)[1].pid == 12);
    CHECK((*found)[1].command.view().empty());
    CHECK(driver.attached(HostDeviceId{64}).error().detail == Detail::DeviceOutOfRange);
}

TEST_CASE("a list that is longer than it can be is read up to its room", "[backend]") {
    const auto script = busy_machine(std::vector<std::int32_t>(400, 7));
    IoctlDriver driver{ScriptPort(script)};
    REQUIRE(driver.connect());
    CHECK(driver.attached(HostDeviceId{0})->size() == 16);
}

TEST_CASE("a device is opened for the question and closed again, one that is open stays open",
          "[backend]") {
    const auto script = busy_machine({4711});
    IoctlDriver driver{ScriptPort(script)};
    REQUIRE(driver.connect());
    script->calls.clear();
    REQUIRE(driver.attached(HostDeviceId{0}));
    CHECK(script->calls == std::vector<std::string>{"open /dev/neuron0 2", "ioctl", "close"});
    REQUIRE(driver.open_device(HostDeviceId{0}));
    script->calls.clear();
    REQUIRE(driver.attached(HostDeviceId{0}));
    CHECK(script->calls == std::vector<std::string>{"ioctl"});
}

TEST_CASE("C07, D06: a refusal names who is attached as candidates, never as owners",
          "[backend][C07][D06]") {
    const auto script = busy_machine({4711, 12});
    const auto text = refusal(script);
    CHECK(text == "claim cores: in use by another process: 1 requested from logical core 0 on, 0 "
                  "available, virtual core size 1, 0 free elsewhere; attached: 4711 (python3), 12, "
                  "EBUSY (LOAD_NOT_ENOUGH_NC, 9)");
    CHECK_FALSE(has(text, "owner"));
    const auto closed = std::count(script->calls.begin(), script->calls.end(), "close");
    CHECK(closed == 2); // the device after the question, the lane at the end
}

TEST_CASE("in a container no command is told, and that this process is among the numbers",
          "[backend][C07][D06]") {
    const auto script = busy_machine({4711}, 0, 815); // 815 is this process to the kernel
    const auto text = refusal(script);
    CHECK(has(text, "attached: 4711, 815 (numbers of the host, this process among them)"));
    CHECK_FALSE(has(text, "python3"));
}

TEST_CASE("candidates that have no room are counted, and none is cut", "[backend][C07]") {
    std::vector<std::int32_t> pids;
    for (std::int32_t i = 0; i < 15; ++i) pids.push_back(1'234'500 + i);
    CHECK(has(refusal(busy_machine(pids)),
              "attached: 1234500, 1234501, 1234502, 1234503, 1234504, 1234505, 1234506, "
              "1234507 and 7 more, EBUSY"));
    CHECK(has(
        refusal(busy_machine(pids, 0, 815)),
        "attached: 1234500, 1234501, 1234502 and 13 more (numbers of the host, this process among "
        "them)"));
}

TEST_CASE("when nobody can be named the refusal says why", "[backend][C07]") {
    CHECK(has(refusal(busy_machine({}, -EINVAL)),
              "who is attached to nd0 cannot be told: the question was refused with EINVAL"));
    CHECK(has(refusal(busy_machine({})), "nobody else is attached to the devices"));
    const auto full = busy_machine({4711});
    IoctlDriver driver{ScriptPort(full)};
    REQUIRE(driver.connect()); // the lane is open: what follows is the attach
    full->open_errors["/dev/neuron0"] = EBUSY;
    const PresentCores present({HostDeviceId{0}}, *geometry_of(Architecture::Sunda), LncSize{});
    const auto claimed =
        claim_cores(driver, present, {.visible = VisibleCores::of(LogicalCore{0}, 1)});
    REQUIRE_FALSE(claimed);
    CHECK(has(describe(claimed.error()),
              "who is attached to nd0 cannot be told: the attach was refused with EBUSY"));
}

TEST_CASE("a device that may be in a reset is not opened for a question", "[backend][C07]") {
    const auto script = busy_machine({4711});
    script->files[kResetFile] = "0\n";
    CHECK(has(refusal(script), "who is attached to nd0 cannot be told: the device is being reset"));
    CHECK(std::count(script->calls.begin(), script->calls.end(), "open /dev/neuron0 2") == 0);
    script->files.erase(kResetFile);
    script->read_errors[kResetFile] = EACCES; // only root may read it
    CHECK(has(refusal(script),
              "who is attached to nd0 cannot be told: a reset may be running (EACCES)"));
    CHECK(std::count(script->calls.begin(), script->calls.end(), "open /dev/neuron0 2") == 0);
    // What is open already can be asked.
    IoctlDriver driver{ScriptPort(script)};
    REQUIRE(driver.connect());
    REQUIRE(driver.open_device(HostDeviceId{0}));
    CHECK(driver.attached(HostDeviceId{0}));
}

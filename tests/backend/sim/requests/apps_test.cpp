// SPDX-License-Identifier: Apache-2.0
// What the driver tells of the processes attached to a device, and what it writes to the log.
#include "neuronbook/backend/sim/requests/apps.hpp"

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint32_t kAll = 15;

struct Answer16 {
    uapi::GetAppsInfo head{};
    uapi::AppInfo apps[16]{};
};
static_assert(sizeof(uapi::GetAppsInfo) == 16 && sizeof(uapi::AppInfo) == 152);

Answer16 apps(Process& process, std::uint32_t flags = kAll, std::uint32_t capacity = 16) {
    Answer16 answer;
    answer.head.apps_info_flags = static_cast<std::uint16_t>(flags);
    answer.head.capacity = capacity;
    process.error = process.ask(uapi::kDeviceGetAllAppsInfo, answer);
    return answer;
}

std::int64_t print(Process& process, const char* text, std::uint32_t size) {
    uapi::Printk form{const_cast<char*>(text), size, 0};
    return process.ask(uapi::kPrintk, form);
}

} // namespace

TEST_CASE("attached processes come in the order of their slots, as many as fit", "[sim][apps]") {
    const auto kernel = make_kernel();
    std::deque<Process> processes;
    for (int i = 0; i < 3; ++i) processes.emplace_back(*kernel, 100 + i);
    CHECK(processes[1].port.close(processes[1].fd) == 0);
    CHECK(apps(processes[0]).head.size == 2);
    Process fourth(*kernel, 200);
    const auto all = apps(fourth);
    CHECK(fourth.error == 0);
    CHECK(all.head.size == 3);
    CHECK(all.apps[0].pid == 100);
    CHECK(all.apps[1].pid == 200); // the lowest free slot
    CHECK(all.apps[2].pid == 102);
    CHECK(all.apps[3].pid == 0);
    CHECK(apps(fourth, kAll, 1).head.size == 1);
    CHECK(apps(fourth, kAll, 0).head.size == 0);
    std::int32_t first = 0;
    CHECK(fourth.ask(uapi::kDeviceAppPid, first) == 0);
    CHECK(first == 100);
    CHECK(processes[0].port.close(processes[0].fd) == 0);
    CHECK(fourth.ask(uapi::kDeviceAppPid, first) == 0);
    CHECK(first == 0);
    CHECK(fourth.ask(uapi::kDeviceGetAllAppsInfo, nullptr) == 16);
}

TEST_CASE("memory is counted for who asks, so what another frees stays", "[sim][apps]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    const auto mine = one.allocate(5000);
    one.allocate_host(4096);
    const auto theirs = two.allocate(4096);
    auto info = apps(one);
    CHECK(info.apps[0].device_mem_size == 8192);
    CHECK(info.apps[0].host_mem_size == 4096);
    CHECK(apps(one, 1).apps[0].device_mem_size == 0); // only when asked for
    CHECK(two.free(mine) == 0);                       // 4096 less 8192 is nothing
    info = apps(one);
    CHECK(info.apps[0].device_mem_size == 8192);
    CHECK(info.apps[1].device_mem_size == 0);
    CHECK(two.free(theirs) == 0);
    CHECK(one.port.close(one.fd) == 0);
    Process heir(*kernel, 3); // of the slot and of what was left in it
    info = apps(heir);
    CHECK(info.apps[0].pid == 3);
    CHECK(info.apps[0].device_mem_size == 8192);
    CHECK(info.apps[0].host_mem_size == 0);
}

TEST_CASE("memory of queues is charged to who sets them up", "[sim][apps]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1);
    uapi::NotificationsInitV2 queue{0, 0, 0, 0, 8192, 1, 0, 0, 0, 0};
    CHECK(one.ask(uapi::kNotificationsInitV2, queue) == 0);
    CHECK(apps(one).apps[0].host_mem_size == 8192);
}

TEST_CASE("locks of the first four cores are told to who asks for them", "[sim][apps]") {
    const auto kernel = make_kernel("trn2.3xlarge");
    Process one(*kernel, 1);
    Process two(*kernel, 2);
    for (const std::uint32_t core : {1u, 3u, 4u}) {
        uapi::Crwl form{core, {}};
        form.uuid.value[0] = static_cast<std::uint8_t>(core);
        CHECK(two.ask(uapi::kCrwlWriterEnter, form) == 0);
        if (core == 3) CHECK(two.ask(uapi::kCrwlWriterDowngrade, form) == 0);
    }
    const auto info = apps(one);
    CHECK(info.apps[0].nc_lock_map == 0);
    CHECK(info.apps[1].nc_lock_map == 0b1010);
    CHECK(info.apps[1].uuid_data[1].value[0] == 1);
    CHECK(info.apps[1].uuid_data[3].value[0] == 3);
    CHECK(apps(one, 2).apps[1].nc_lock_map == 0);
    uapi::Crwl form{3, {}};
    form.uuid.value[0] = 3;
    CHECK(two.ask(uapi::kCrwlReaderExit, form) == 0); // free, though its name is still there
    CHECK(apps(one).apps[1].nc_lock_map == 0b0010);
}

TEST_CASE("anybody may write a line to the kernel's log", "[sim][log]") {
    const auto kernel = make_kernel();
    Process one(*kernel, 1, Access::WriteOnly);
    CHECK(print(one, "hello", 6) == 0);
    CHECK(print(one, "hello", 6) == 0);
    CHECK(print(one, "hello", 5) == -EBADMSG);
    const std::string longest(511, 'x');
    CHECK(print(one, longest.c_str(), 512) == 0);
    CHECK(print(one, longest.c_str(), 513) == -EFAULT);
    CHECK(print(one, nullptr, 20) == 20);
    CHECK(print(one, "", 0) == -EBADMSG);
    CHECK(kernel->log() == std::vector<std::string>{"hello", "hello", longest});
    for (int i = 0; i < 2000; ++i) print(one, "again", 6);
    CHECK(kernel->log().size() == 1000);
}

TEST_CASE("what is known of who marked a core goes to the log", "[sim][log]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process one(*kernel, 1, Access::WriteOnly);
    const auto dump = [&](std::uint32_t core) {
        uapi::NcPidStateDump form{sizeof form, core, 0, 0};
        return one.ask(uapi::kNcPidStateDump, form);
    };
    CHECK(dump(512) == -ENOENT);
    CHECK(dump(3) == 0); // nobody's
    CHECK(kernel->log().empty());
    uapi::CrwlNcMapExt map{40, 3, 511, 0, {}};
    CHECK(one.ask(uapi::kCrwlNcRangeMarkExt0, map) == 0);
    CHECK(dump(3) == 0);
    REQUIRE(kernel->log().size() == 1);
    CHECK(kernel->log()[0] == "neuron1 core 1: marked by process 1, not attached");
    CHECK(dump(40) == -EPERM); // a device that is not there
}

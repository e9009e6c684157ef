// SPDX-License-Identifier: Apache-2.0
// Registers by kernel address, through the firmware, and programs written to cores.
#include "neuronbook/backend/sim/requests/registers.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Prober : Process {
    explicit Prober(SimKernel& kernel, std::int32_t pid = 1, const char* path = "/dev/neuron0")
        : Process(kernel, pid, Access::ReadWrite, path) {
        uapi::DeviceInfo info;
        CHECK(ask(uapi::kDeviceInfo, info) == 0);
        base = info.bar_address[0];
        size = info.bar_size[0];
    }

    std::int64_t read(std::vector<std::uint64_t> at, std::uint32_t bar = 0) {
        values.assign(at.size(), 7);
        uapi::BarRw form{bar, 0, at.data(), values.data(), static_cast<std::uint32_t>(at.size()),
                         0};
        return ask(uapi::kBarRead, form);
    }
    std::int64_t write(std::vector<std::uint64_t> at, std::uint32_t value, std::uint32_t bar = 0) {
        values.assign(at.size(), value);
        uapi::BarRw form{bar, 0, at.data(), values.data(), static_cast<std::uint32_t>(at.size()),
                         0};
        return ask(uapi::kBarWrite, form);
    }
    std::int64_t counters(std::vector<std::uint64_t> at) {
        values.assign(at.size(), 7);
        uapi::ReadHwCounters form{at.data(), values.data(), static_cast<std::uint32_t>(at.size()),
                                  0};
        return ask(uapi::kReadHwCounters, form);
    }
    std::int64_t program(std::uint64_t to, const void* from, std::uint64_t length,
                         std::uint64_t offset = 0, std::uint32_t core = 0) {
        uapi::ProgramEngineNc64 form{core, 0, to, const_cast<void*>(from), length, offset};
        return ask(uapi::kProgramEngineNc64, form);
    }
    std::uint64_t base = 0, size = 0;
    std::vector<std::uint32_t> values;
};

} // namespace

TEST_CASE("the firmware's mailbox is where each generation has it", "[sim][bar]") {
    const auto [instance, size, mailbox] =
        GENERATE(table<const char*, std::uint64_t, std::uint64_t>(
            {{"trn1.2xlarge", 0x40000000, 0x30FA0000}, {"trn2.3xlarge", 0x100000000, 0x06C84000}}));
    const auto kernel = make_kernel(instance);
    Prober one(*kernel);
    CHECK(one.size == size);
    const auto at = one.base + mailbox;
    CHECK(one.read({at + 0x38, at + 0x3C, at + 0x24}) == 0);
    CHECK(one.values == std::vector<std::uint32_t>{0x5E0000, 0xFA4E, 0});
    CHECK(one.read({at + 0x38}, 2) == 0); // bar 2 is bar 0 here
    CHECK(one.values[0] == 0x5E0000);
}

TEST_CASE("registers outside of the BAR are neither read nor written", "[sim][bar]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.26.5", "2.30.2"));
    Prober one(*kernel);
    for (const auto bad : {one.base + one.size, one.base - 4, std::uint64_t{0}}) {
        CHECK(one.read({one.base, bad}) == -EINVAL);
        CHECK(one.values[0] == 7);
        CHECK(one.write({one.base, bad}, 9) == -EINVAL);
    }
    CHECK(one.read({one.base}) == 0);
    CHECK(one.values[0] == 9); // written before the bad one
    CHECK(one.read({one.base}, 1) == -EINVAL);
    CHECK(one.read({one.base}, 4) == -EINVAL);
    CHECK(one.write({one.base}, 1, 2) == -EINVAL);
    CHECK(one.write({one.base}, 1, 4) == -EINVAL);
    CHECK(one.read({}) == 0);
    CHECK(one.write({}, 0) == 0);
    CHECK(one.read(std::vector<std::uint64_t>(100, one.base)) == 0);
    CHECK(one.read(std::vector<std::uint64_t>(101, one.base)) == -EINVAL);
    CHECK(one.write(std::vector<std::uint64_t>(101, one.base), 1) == 0);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("2.24 reads whatever it is told to, which is noted", "[sim][bar]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    Prober one(*kernel);
    CHECK(one.read({one.base + one.size}) == -EINVAL);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(one.write({one.base + one.size}, 1) == 0); // off by one
    CHECK(one.write({one.base + one.size + 1}, 1) == -EINVAL);
    CHECK(kernel->would_have_crashed().size() == 2);
}

TEST_CASE("bad pointers of register requests", "[sim][bar]") {
    const auto [driver, missing] =
        GENERATE(table<const char*, std::int64_t>({{"2.26.5", 16}, {"2.30.2", -EFAULT}}));
    const auto kernel = make_kernel("trn1.2xlarge", driver);
    Prober one(*kernel);
    std::uint64_t address[2] = {one.base, one.base};
    std::uint32_t value[2] = {};
    uapi::BarRw form{0, 0, nullptr, value, 2, 0};
    CHECK(one.ask(uapi::kBarRead, form) == missing);
    form = {0, 0, address, nullptr, 2, 0};
    CHECK(one.ask(uapi::kBarRead, form) == 8);
    form.count = 0xFFFFFFFF;
    CHECK(one.ask(uapi::kBarRead, form) == -ENOMEM);
    CHECK(one.ask(uapi::kBarWrite, form) == -ENOMEM);
    uapi::ReadHwCounters counters{nullptr, value, 2, 0};
    CHECK(one.ask(uapi::kReadHwCounters, counters) == missing);
    counters.count = 0xFFFFFFFF;
    CHECK(one.ask(uapi::kReadHwCounters, counters) == -ENOMEM);
}

TEST_CASE("the firmware's protocol and rings of engines are not written", "[sim][bar]") {
    const auto kernel = make_kernel();
    Prober one(*kernel);
    const auto mailbox = one.base + 0x30FA0000;
    for (const auto at : {0x1F0, 0x1F4, 0x1F8, 0x1FC, 0x800})
        CHECK(one.write({mailbox + static_cast<std::uint64_t>(at)}, 1) == -EINVAL);
    for (const auto at : {0x1EC, 0x1D8, 0x1F1, 0x200, 0x804})
        CHECK(one.write({mailbox + static_cast<std::uint64_t>(at)}, 1) == 0);
    CHECK(one.write({one.base + 0x30000000 + 0x1028}, 1) == -EINVAL); // engine 0, queue 0
    CHECK(one.write({one.base + 0x30000000 + 0x1020}, 1) == 0);
}

TEST_CASE("the firmware reads registers by the device's own addresses", "[sim][firmware]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Prober one(*kernel, 1, "/dev/neuron1");
    CHECK(one.counters({0x0FFFC0000000 + 0x30FA0024, 0x8006C84024, 1}) == 0);
    CHECK(one.values == std::vector<std::uint32_t>{2, 0xDEADBEEF, 0xDEADBEEF}); // its routing id
    const auto newer = make_kernel("trn2.3xlarge");
    Prober two(*newer);
    CHECK(two.counters({0x0FFFC0000000 + 0x30FA0024, 0x8006C84038}) == 0);
    CHECK(two.values == std::vector<std::uint32_t>{0xDEADBEEF, 0x5E0000});
    CHECK(two.counters({}) == 0);
    CHECK(two.counters(std::vector<std::uint64_t>(8190, 1)) == 0);
    CHECK(two.counters(std::vector<std::uint64_t>(8191, 1)) == -EINVAL);
}

TEST_CASE("firmware that refuses is asked for 15 s, then it is an error", "[sim][firmware]") {
    const auto kernel = make_kernel();
    Prober one(*kernel);
    SimFaults faults;
    faults.firmware_refuses = true;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.counters({1}) == -EPERM);
    CHECK(kernel->now().count == 15'000'000'000);
    std::uint32_t data = 5;
    uapi::PostMetric metric{&data, 4, 0};
    CHECK(one.ask(uapi::kPostMetric, metric) == -EPERM);
    kernel->set_faults(HostDeviceId{0}, {});
    CHECK(one.ask(uapi::kPostMetric, metric) == 0);
    CHECK(one.read({one.base + 0x30FA0100}) == 0);
    CHECK(one.values[0] == 5);
    faults = {};
    faults.gone = true;
    kernel->set_faults(HostDeviceId{0}, faults);
    CHECK(one.counters({1}) == -EPERM);
    CHECK(one.write({one.base}, 3) == 0);
    CHECK(one.read({one.base}) == 0);
    CHECK(one.values[0] == 0xFFFFFFFF);
}

TEST_CASE("a metric has at most 128 bytes, which are read before that is seen", "[sim][firmware]") {
    const auto kernel = make_kernel();
    Prober one(*kernel);
    std::vector<std::uint32_t> data(64, 1);
    uapi::PostMetric metric{data.data(), 128, 0};
    CHECK(one.ask(uapi::kPostMetric, metric) == 0);
    metric.data_size = 129;
    CHECK(one.ask(uapi::kPostMetric, metric) == -E2BIG);
    metric = {nullptr, 129, 0};
    CHECK(one.ask(uapi::kPostMetric, metric) == 129);
    metric.data_size = 0xFFFFFFFF;
    CHECK(one.ask(uapi::kPostMetric, metric) == -ENOMEM);
}

TEST_CASE("a program is seen where its core is mapped, and by its registers", "[sim][program]") {
    const auto [instance, core0, core1, bar1] =
        GENERATE(table<const char*, std::uint64_t, std::uint64_t, std::uint64_t>(
            {{"trn1.2xlarge", 0x0FFFC0000000, 0x0FFFC4000000, 0x4000000},
             {"trn2.3xlarge", 0x2000000000, 0x3000000000, 0xD4000000}}));
    const auto kernel = make_kernel(instance);
    Prober one(*kernel);
    const std::uint32_t code[4] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};
    CHECK(one.program(core1 + 0x100, code, 8, 8, 1) == 0); // the offset moves both ends
    CHECK(one.read({one.base + bar1 + 0x108, one.base + bar1 + 0x10C}) == 0);
    CHECK(one.values == std::vector<std::uint32_t>{0x33333333, 0x44444444});
    CHECK(one.program(core0 - 1, code, 8) == -ENOMEM);
    CHECK(one.program(core0, code, 0) == -ENOMEM);
    CHECK(one.program(core0, code, 8, 0, 8) == -ENOMEM);
    CHECK(one.program(core0, code, std::uint64_t{5} << 20) == -ENOMEM);
    CHECK(one.program(~std::uint64_t{0}, code, 8, 8) == -ENOMEM);
    CHECK(one.program(core0, nullptr, 16) == 16);
    CHECK(kernel->census().user_memory().chunks == 0);
    uapi::ProgramEngine oldest{core0, const_cast<std::uint32_t*>(code), 4, 0};
    CHECK(one.ask(uapi::kProgramEngine, oldest) == 0);
    uapi::ProgramEngineNc older{0, 0, core0 + 4, const_cast<std::uint32_t*>(code), 4, 0};
    CHECK(one.ask(uapi::kProgramEngineNc, older) == 0);
    CHECK(one.read({one.base + (bar1 - 0x4000000), one.base + (bar1 - 0x4000000) + 4}) == 0);
    CHECK(one.values == std::vector<std::uint32_t>{0x11111111, 0x11111111});
}

TEST_CASE("programs reach no more of a memory than there is", "[sim][program]") {
    SimOptions options{.instance = "trn2.3xlarge", .driver_version = "2.26.5"};
    options.hardware.revision = 255; // qemu
    options.hardware.bar4 = Bytes{std::uint64_t{4} << 30};
    const auto kernel = std::move(*SimKernel::make(options));
    Prober one(*kernel);
    CHECK(one.program((1u << 30) - 8, "program", 8) == 0);
    CHECK(one.program((1u << 30) - 4, "program", 8) == -ENOMEM);
    CHECK(one.program(0x140000000, "program", 8) == -ENOMEM);
}

TEST_CASE("on Trn2 programs reach whole memories too", "[sim][program]") {
    const auto kernel = make_kernel("trn2.3xlarge");
    Prober one(*kernel);
    const auto chunk = one.allocate(4096, 0, 2);
    CHECK(one.program(one.pa(chunk), "program", 8) == 0);
    char seen[8];
    CHECK(one.copy_out(chunk, seen, 8) == 0);
    CHECK(std::memcmp(seen, "program", 8) == 0);
    CHECK(one.program(0x804000000000 + 0x600000000 - 8, "program", 8) == 0);
    CHECK(one.program(0x804000000000 + 0x600000000 - 7, "program", 8) == -ENOMEM);
    CHECK(one.program(0x3000000000 + 0x3FFFFFC, "program", 8) == 0); // across what the BAR shows
    CHECK(one.read({one.base + 0xD4000000 + 0x3FFFFFC, one.base + 0xD8000000}) == 0);
    CHECK(one.values[0] == 0x676F7270);
    CHECK(one.values[1] == 0);
    const auto older = make_kernel();
    CHECK(Prober(*older).program(0, "program", 8) == -ENOMEM);
}

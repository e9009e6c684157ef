// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "neuronbook/dmem/allocator.hpp"
#include "neuronbook/dmem/report/leak_report.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"
#include "support/one_core.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;
using test::FakeAllocator;
using test::OneCore;

namespace {

void wait_ms(long ms) {
    const std::timespec time{0, ms * 1'000'000};
    ::nanosleep(&time, nullptr);
}

std::shared_ptr<Ledger> ledger_with(const MemoryOptions& options) {
    return std::make_shared<Ledger>(HostDeviceId{3}, options, 2);
}

} // namespace

TEST_CASE("E12: whoever is alive can be listed at any time, with age and the place of the call",
          "[dmem][survivors][E12]") {
    const auto stamps = GENERATE(Stamps::Clock, Stamps::Ticks, Stamps::None);
    OneCore memory;
    const auto ledger = ledger_with({.stamps = stamps});
    FakeAllocator<ModelTag> model(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                  ledger, {.name = {1001, "resnet50"}});
    const auto old = *model.allocate(
        {.size = 5000_B, .usage = Usage::Weight, .hint = "load_weights, loader.cpp:42"});
    wait_ms(30);
    const auto young = *model.allocate({.size = 1_B, .usage = Usage::DmaRing});
    FakeAllocator<GlobalTag> global(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                    ledger, {.name = {7}});
    const auto tensor =
        *global.allocate({.size = 4097_B, .usage = Usage::Tensor, .hint = "run_step, main.cpp:7"});
    auto rows = model.survivors();
    REQUIRE(rows.size() == 2);
    rows.push_back(global.survivors().at(0));
    const auto text = leak_report(rows);
    INFO(text);
    const std::string old_line =
        "  load_weights, loader.cpp:42: weights, 5000 bytes asked for, 8192 charged, ND 3 NC 5 "
        "HBM 2, MODEL 1001 resnet50, ";
    const std::string tensor_line = "  run_step, main.cpp:7: tensors, 4097 bytes asked for, 8192 "
                                    "charged, ND 3 NC 5 HBM 2, GLOBAL 7, ";
    CHECK(text.rfind("3 blocks, 20.000KB are still held:\n" + old_line, 0) == 0);
    CHECK(text.find(tensor_line) != std::string::npos);
    CHECK(text.find("  MODEL 1001 resnet50 of ND 3 NC 5, 2 blocks, 12288 bytes, oldest ") !=
          std::string::npos);
    for (const auto& line : {old_line, tensor_line}) {
        const auto age = text.find(line) + line.size();
        const auto told = text.substr(age, text.find('\n', age) - age);
        INFO(told);
        CHECK(told.find(stamps == Stamps::None ? "age unknown, 1 handle" : " s old, 1 handle") !=
              std::string::npos);
    }
    CHECK(rows[0].hint.view() == "load_weights, loader.cpp:42");
    CHECK(rows[0].requested == 5000_B);
    CHECK(rows[0].charged == 8192_B);
    CHECK(rows[0].usage == Usage::Weight);
    CHECK(rows[0].device == HostDeviceId{3});
    CHECK(rows[0].core == CoreIndex{5});
    CHECK(rows[0].hbm == 2);
    CHECK(rows[0].owner == 1001);
    CHECK(rows[0].label.view() == "resnet50");
    CHECK(rows[0].tier == "MODEL");
    CHECK(rows[0].number == 1);
    CHECK(rows[1].number == 2);
    if (stamps == Stamps::None) {
        CHECK_FALSE(rows[0].age);
        return;
    }
    REQUIRE(rows[0].age);
    REQUIRE(rows[1].age);
    CHECK(rows[0].age->count >= 20'000'000); // the coarse clock may be a tick off
    CHECK(rows[0].age->count < 60'000'000'000);
    CHECK(*rows[1].age <= *rows[0].age);
}

TEST_CASE("E20: what pins a block is counted, oldest block first", "[dmem][survivors][E20]") {
    OneCore memory;
    const auto first = *memory.global.allocate({.size = 1_B, .hint = "first"});
    const auto second = *memory.global.allocate({.size = 1_B, .hint = "second"});
    const std::vector<Block> pins(3, first);
    const auto rows = memory.global.survivors();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].hint.view() == "first");
    CHECK(rows[0].handles == 4);
    CHECK(rows[0].mapped == false);
    CHECK(rows[0].exported == 0);
    CHECK(rows[1].handles == 1);
    CHECK(second);
}

TEST_CASE("an allocator that ends reports its survivors as it was told to", "[dmem][survivors]") {
    OneCore memory;
    test::LogLines log(LogLevel::Warn);
    const auto on_leak = GENERATE(OnLeak::Log, OnLeak::Quiet);
    Block left;
    {
        FakeAllocator<ModelTag> model(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                      ledger_with({.on_leak = on_leak}), {.name = {7, "bert"}});
        left = *model.allocate({.size = 5000_B, .usage = Usage::Weight, .hint = "w"});
    }
    CHECK_FALSE(left);
    CHECK(memory.driver.outstanding() == 0);
    REQUIRE(log.lines.size() == (on_leak == OnLeak::Log ? 1 : 0));
    if (on_leak == OnLeak::Log)
        for (const char* part :
             {"MODEL", "7", "bert", "device 3", "core 5", "8192", "weights", "w", " s old"})
            CHECK(log.lines[0].second.find(part) != std::string::npos);
}

TEST_CASE("survivors may go to a function, or end the program", "[dmem][survivors]") {
    OneCore memory;
    test::LogLines log(LogLevel::Quiet);
    std::vector<std::string> names;
    MemoryOptions options{.on_leak = OnLeak::Call};
    options.context = &names;
    options.leaked = [](void* context, const Survivor& block) {
        static_cast<std::vector<std::string>*>(context)->emplace_back(block.hint.view());
    };
    const auto leave_two = [&](const MemoryOptions& with) {
        FakeAllocator<ModelTag> model(memory.driver, HostDeviceId{3}, memory.core, memory.geometry,
                                      ledger_with(with));
        auto a = *model.allocate({.size = 1_B, .usage = Usage::Weight, .hint = "a"});
        auto b = *model.allocate({.size = 1_B, .usage = Usage::Weight, .hint = "b"});
        return std::pair(std::move(a), std::move(b));
    };
    (void)leave_two(options);
    CHECK(names == std::vector<std::string>{"a", "b"});

    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        (void)leave_two({.on_leak = OnLeak::Abort});
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
}

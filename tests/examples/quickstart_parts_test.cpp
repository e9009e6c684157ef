// SPDX-License-Identifier: Apache-2.0
// The parts of the quickstart that judge: they must also be able to say no.
#include "support/catch.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "neuronbook/neuronbook.hpp"
#include "quickstart/input_file.hpp"
#include "quickstart/job.hpp"
#include "quickstart/outstanding.hpp"
#include "quickstart/simulated.hpp"
#include "support/sim_machine.hpp"

using namespace neuronbook;
using quickstart::holding;
using quickstart::OwnChunk;
using quickstart::remember;
using test::SimMachine;

namespace {

const RuntimeOptions kQuiet{.log_level = LogLevel::Quiet};
constexpr PhysicalCore kCore{DeviceIndex{0}, CoreIndex{1}};

std::unique_ptr<quickstart::Runtime> up(const AnyPort& port) {
    auto runtime = quickstart::Runtime::open(kQuiet, quickstart::Driver(port));
    REQUIRE(runtime);
    return *std::move(runtime);
}

/// Says that memory was freed, and does not free it.
struct KeepHook {
    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        return event.request == uapi::kMemFree ? 0 : call();
    }
};
using KeepPort = DecoratedPort<SimPort, KeepHook>;

/// A folder with one file of 5000 bytes.
struct Folder {
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "quickstart-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
        std::ofstream(path / "weights") << std::string(5000, 'w');
    }
    ~Folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] std::string file() const { return (path / "weights").string(); }

    std::filesystem::path path;
};

/// What is printed while it lives goes to a file.
class Printed {
public:
    Printed() : file_(std::tmpfile()), before_(::dup(STDOUT_FILENO)) {
        REQUIRE(file_ != nullptr);
        std::fflush(stdout);
        ::dup2(::fileno(file_), STDOUT_FILENO);
    }
    ~Printed() {
        back();
        ::close(before_);
        std::fclose(file_);
    }
    Printed(const Printed&) = delete;
    Printed& operator=(const Printed&) = delete;

    [[nodiscard]] std::string last_line() {
        back();
        std::string last;
        std::rewind(file_);
        for (char line[1024]; std::fgets(line, sizeof line, file_);) last = line;
        return last;
    }

private:
    void back() {
        std::fflush(stdout);
        ::dup2(before_, STDOUT_FILENO);
    }

    std::FILE* file_;
    int before_;
};

/// While it lives the process can open nothing more.
struct FewDescriptors {
    FewDescriptors() {
        ::getrlimit(RLIMIT_NOFILE, &before);
        rlimit none = before;
        none.rlim_cur = 0;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    }
    ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
    rlimit before{};
};

} // namespace

TEST_CASE("what is held is told from the ledger and from the driver, freed it is zero",
          "[examples][outstanding]") {
    SimMachine machine;
    const auto runtime = up(machine.port());
    const auto model = *runtime->model_allocator(kCore);
    auto small = *model->allocate({.size = Bytes{5000}, .usage = Usage::Weight});
    auto large = *model->allocate({.size = Bytes{100000}, .usage = Usage::Weight});
    const std::vector<OwnChunk> own{remember(small), remember(large)};

    auto held = holding(*runtime, own);
    REQUIRE(held);
    CHECK(held->booked == 8192 + 102400);
    CHECK(held->listed == 8192 + 102400);

    REQUIRE(model->free(std::move(small)));
    held = holding(*runtime, own);
    REQUIRE(held);
    CHECK(held->booked == 102400);
    CHECK(held->listed == 102400);
    CHECK(held->most() == 102400);

    REQUIRE(model->free(std::move(large)));
    held = holding(*runtime, own);
    REQUIRE(held);
    CHECK(held->booked == 0);
    CHECK(held->listed == 0);
}

TEST_CASE("the two books are counted apart, and the worse one is told", "[examples][outstanding]") {
    SimMachine machine;
    const auto runtime = up(AnyPort(KeepPort(SimPort(*machine.kernel), {})));
    const auto model = *runtime->model_allocator(kCore);
    auto block = *model->allocate({.size = Bytes{5000}, .usage = Usage::Weight});
    const std::vector<OwnChunk> own{remember(block)};

    const auto unlisted = holding(*runtime, {});
    REQUIRE(unlisted);
    CHECK(unlisted->booked == 8192);
    CHECK(unlisted->listed == 0);
    CHECK(unlisted->most() == 8192);

    REQUIRE(model->free(std::move(block))); // the driver keeps it
    const auto kept = holding(*runtime, own);
    REQUIRE(kept);
    CHECK(kept->booked == 0);
    CHECK(kept->listed == 8192);
    CHECK(kept->most() == 8192);
}

TEST_CASE("what other processes allocate meanwhile is not ours", "[examples][outstanding]") {
    SimMachine machine;
    const auto runtime = up(machine.port(100));
    const auto model = *runtime->model_allocator(kCore);
    auto block = *model->allocate({.size = Bytes{5000}, .usage = Usage::Weight});
    const std::vector<OwnChunk> own{remember(block)};

    auto other = test::SimDriver(machine.port(200));
    REQUIRE(other.connect());
    REQUIRE(other.open_device(HostDeviceId{0}));
    const ChunkRequest request{.size = Bytes{65536}, .hbm = own[0].hbm, .core = CoreIndex{1}};
    REQUIRE(other.allocate(HostDeviceId{0}, request));
    CHECK(holding(*runtime, own)->listed == 8192);

    // It gets our place as soon as we leave it; its size tells them apart.
    REQUIRE(model->free(std::move(block)));
    REQUIRE(other.allocate(HostDeviceId{0}, request));
    CHECK(holding(*runtime, own)->most() == 0);
}

TEST_CASE("the job tells what is outstanding, and fails when the driver keeps the memory",
          "[examples][job]") {
    const Folder folder;
    SimMachine machine;
    const bool keeps = GENERATE(false, true);
    const SimPort honest(*machine.kernel);
    const auto runtime = up(keeps ? AnyPort(KeepPort(honest, {})) : AnyPort(honest));
    Printed printed;
    const auto done = quickstart::run(*runtime, {folder.file()}, 5000);
    CHECK(printed.last_line() == (keeps ? "outstanding: 8192 bytes\n" : "outstanding: 0 bytes\n"));
    REQUIRE(done);
    CHECK(*done == !keeps);
}

TEST_CASE("a kernel that is not as before is a failure with what was left behind",
          "[examples][simulated]") {
    SimMachine machine;
    const auto tidy = [](const AnyPort& port) {
        const auto runtime = up(port);
        return runtime->usable() ? 7 : 0;
    };
    CHECK(quickstart::on_simulated(*machine.kernel, tidy) == 7);
    const auto untidy = [](AnyPort port) {
        REQUIRE(port.open("/dev/neuron0", Access::ReadWrite) > 0);
        return 0;
    };
    CHECK(quickstart::on_simulated(*machine.kernel, untidy) == 1);

    SimMachine other;
    const auto driver = std::make_unique<test::SimDriver>(test::open_driver(other));
    REQUIRE(driver->allocate(HostDeviceId{0}, {.size = Bytes{5000}}));
    const auto text = quickstart::difference(other.baseline, other.kernel->census());
    CHECK(text == "1 chunks, 8192 bytes, 1 handles, 1 attached processes, 2 open files");
    CHECK(quickstart::difference(other.baseline, other.baseline).empty());
}

TEST_CASE("a file that cannot be opened or read is told with its errno", "[examples][file]") {
    const Folder folder;
    const auto nowhere = quickstart::InputFile::open(folder.file() + "-nowhere");
    REQUIRE_FALSE(nowhere);
    CHECK(nowhere.error().detail == Detail::FileUnreadable);
    CHECK(nowhere.error().os_error == ENOENT);
    CHECK(quickstart::InputFile::open(folder.path.string()).error().os_error == EISDIR);

    {
        const FewDescriptors few; // it is there, has a size, and does not open
        const auto one_more = quickstart::InputFile::open(folder.file());
        REQUIRE_FALSE(one_more);
        CHECK(one_more.error().os_error == EMFILE);
    }
    auto shrunk = quickstart::InputFile::open(folder.file());
    REQUIRE(shrunk);
    std::vector<std::byte> buffer(5001);
    const auto read = shrunk->read(buffer);
    REQUIRE_FALSE(read);
    CHECK(read.error().detail == Detail::FileUnreadable);
    CHECK(read.error().os_error == 0);
}

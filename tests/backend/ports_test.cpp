// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "neuronbook/backend/any_port.hpp"
#include "neuronbook/backend/count_port.hpp"
#include "neuronbook/backend/fault_port.hpp"
#include "neuronbook/backend/posix_port.hpp"
#include "neuronbook/backend/trace_port.hpp"
#include "support/script_port.hpp"

using namespace neuronbook;
using test::Script;
using test::ScriptPort;

static_assert(Port<FaultPort<ScriptPort>>);
static_assert(Port<TracePort<CountPort<FaultPort<ScriptPort>>>>);

namespace {

/// One call of each kind that decorators see, in the order of PortCall.
template <class P>
std::vector<std::int64_t> one_of_each(P port) {
    char buffer[8];
    std::vector<std::int64_t> answers;
    answers.push_back(port.open("/dev/neuron0", Access::ReadWrite));
    answers.push_back(port.close(1000));
    answers.push_back(port.ioctl(1000, 1, nullptr));
    answers.push_back(port.map(1000, kPage, true, 0).error);
    answers.push_back(port.unmap(nullptr, kPage));
    answers.push_back(port.read_file("/file", buffer));
    return answers;
}

std::shared_ptr<Script> with_file() {
    auto script = std::make_shared<Script>();
    script->files["/file"] = "abc";
    return script;
}

} // namespace

TEST_CASE("the posix port reads files, answers minus errno, and is one identity", "[backend]") {
    PosixPort port;
    char buffer[4096];
    CHECK(port.read_file("/proc/self/comm", buffer) > 0);
    CHECK(port.read_file("/no/such/file", buffer) == -ENOENT);
    CHECK(port.open("/no/such/node", Access::WriteOnly) == -ENOENT);
    CHECK(port.close(-1) == -EBADF);
    CHECK(port.ioctl(-1, 0, nullptr) == -EBADF);
    CHECK(port.map(-1, kPage, true, 0).error == EBADF);
    CHECK(port.exists("/proc/self"));
    CHECK_FALSE(port.exists("/no/such/file"));
    const auto before = port.now();
    port.sleep({1'000'000});
    CHECK(port.now().count - before.count >= 1'000'000);
    CHECK(port.identity() == PosixPort{}.identity());
}

TEST_CASE("the posix port opens close-on-exec", "[backend]") {
    PosixPort port;
    const auto fd = static_cast<int>(port.open("/dev/null", Access::ReadWrite));
    REQUIRE(fd >= 0);
    CHECK((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CHECK((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
    CHECK(port.close(fd) == 0);
}

TEST_CASE("a counting port counts each kind of call, and not the clock", "[backend]") {
    CallCounts counts;
    CountPort port(ScriptPort(with_file()), counts);
    (void)one_of_each(port);
    (void)port.exists("/file");
    (void)port.now();
    port.sleep({1});
    for (int kind = 0; kind < 6; ++kind) CHECK(counts.of(static_cast<PortCall>(kind)) == 1);
    CHECK(counts.total() == 6);
}

TEST_CASE("a fault port fails exactly the n-th call and passes all others on", "[backend]") {
    const auto clean = one_of_each(ScriptPort(with_file()));
    for (std::uint64_t nth = 1; nth <= 6; ++nth) {
        FaultPlan plan;
        plan.fail_nth(nth, -EPERM);
        CHECK_FALSE(plan.struck());
        const auto answers = one_of_each(FaultPort(ScriptPort(with_file()), plan));
        CHECK(plan.struck());
        for (std::uint64_t i = 0; i < 6; ++i) {
            INFO("call " << i << " with call " << nth << " failing");
            // map() answers an errno, the others minus one.
            if (i + 1 == nth)
                CHECK(answers[i] == (i == 3 ? EPERM : -EPERM));
            else
                CHECK(answers[i] == clean[i]);
        }
    }
}

TEST_CASE("a failing close has still closed, a failing open has not opened", "[backend]") {
    auto script = std::make_shared<Script>();
    FaultPlan plan;
    FaultPort port(ScriptPort(script), plan);
    plan.fail_nth(1, -EIO);
    CHECK(port.open("/dev/neuron0", Access::ReadWrite) == -EIO);
    CHECK(script->calls.empty());
    plan.fail_nth(1, -EIO);
    CHECK(port.close(5) == -EIO);
    CHECK(script->calls == std::vector<std::string>{"close"});
    plan.clear();
    CHECK(port.close(5) == 0);
}

TEST_CASE("a fault can be a positive return", "[backend]") {
    FaultPlan plan;
    FaultPort port(ScriptPort(std::make_shared<Script>()), plan);
    plan.fail_nth(1, 22);
    CHECK(port.ioctl(1, 2, nullptr) == 22);
}

TEST_CASE("a tracing port shows every call with its answer", "[backend]") {
    std::vector<std::string> seen;
    TracePort port(
        ScriptPort(with_file()),
        [](void* context, const PortEvent& event, std::int64_t answer) {
            static_cast<std::vector<std::string>*>(context)->push_back(
                std::to_string(static_cast<int>(event.call)) + ":" +
                (event.path ? event.path : "") + ":" + std::to_string(answer));
        },
        &seen);
    (void)one_of_each(port);
    CHECK(seen == std::vector<std::string>{"0:/dev/neuron0:1000", "1::0", "2::-25", "3::-19",
                                           "4::0", "5:/file:3"});
}

TEST_CASE("an erased port does what the port does, with its identity", "[backend]") {
    const auto script = with_file();
    const ScriptPort inner(script);
    AnyPort port(inner);
    CHECK(one_of_each(port) == one_of_each(inner));
    CHECK(port.identity() == inner.identity());
    const AnyPort copy = port; // NOLINT: the copy is the point
    CHECK(copy.identity() == port.identity());
    port.sleep({7});
    CHECK(port.now().count == 7);
    CHECK(port.exists("/file"));
}

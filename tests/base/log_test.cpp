// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "neuronbook/base/log.hpp"
#include "support/catch.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;

using test::LogLines;

TEST_CASE("level names are those of NEURON_RT_LOG_LEVEL", "[base][log]") {
    CHECK(parse_log_level("QUIET") == LogLevel::Quiet);
    CHECK(parse_log_level("ERROR") == LogLevel::Error);
    CHECK(parse_log_level("WARN") == LogLevel::Warn);
    CHECK(parse_log_level("WARNING") == LogLevel::Warn);
    CHECK(parse_log_level("INFO") == LogLevel::Info);
    CHECK(parse_log_level("DEBUG") == LogLevel::Debug);
    CHECK(parse_log_level("TRACE") == LogLevel::Trace);
    CHECK_FALSE(parse_log_level("info"));
    CHECK_FALSE(parse_log_level(""));
    CHECK_FALSE(parse_log_level("INFO "));
}

TEST_CASE("lines up to the level reach the sink, others do not", "[base][log]") {
    LogLines sink;
    Log::write(LogLevel::Error, "one %d", 1);
    Log::write(LogLevel::Warn, "two %s", "2");
    Log::write(LogLevel::Info, "three");
    REQUIRE(sink.lines.size() == 2);
    CHECK(sink.lines[0] == std::pair(LogLevel::Error, std::string("one 1")));
    CHECK(sink.lines[1] == std::pair(LogLevel::Warn, std::string("two 2")));
}

TEST_CASE("a quiet log says nothing at all", "[base][log]") {
    LogLines sink(LogLevel::Quiet);
    Log::write(LogLevel::Error, "lost");
    CHECK(sink.lines.empty());
}

TEST_CASE("a line longer than the buffer is cut, not dropped", "[base][log]") {
    LogLines sink;
    Log::write(LogLevel::Error, "%s", std::string(5000, 'x').c_str());
    REQUIRE(sink.lines.size() == 1);
    CHECK(sink.lines[0].second == std::string(1023, 'x'));
}

TEST_CASE("lines of one text reach the sink one by one, whatever their length", "[base][log]") {
    LogLines sink;
    Log::write_lines(LogLevel::Warn, "one\n\n" + std::string(5000, 'x') + "\nlast");
    REQUIRE(sink.lines.size() == 4);
    CHECK(sink.lines[0].second == "one");
    CHECK(sink.lines[1].second.empty());
    CHECK(sink.lines[2].second == std::string(5000, 'x'));
    CHECK(sink.lines[3] == std::pair(LogLevel::Warn, std::string("last")));
    Log::write_lines(LogLevel::Warn, "ended\n");
    CHECK(sink.lines.size() == 5);
    Log::write_lines(LogLevel::Warn, "");
    Log::write_lines(LogLevel::Info, "not enabled\n");
    CHECK(sink.lines.size() == 5);
}

TEST_CASE("a line that the sink cannot take is lost, the rest of its text is not", "[base][log]") {
    std::vector<std::string> seen;
    Log::set_sink(
        [](void* context, LogLevel, std::string_view line) {
            static_cast<std::vector<std::string>*>(context)->emplace_back(line);
            if (line == "bad") throw 1;
        },
        &seen);
    Log::write_lines(LogLevel::Error, "bad\ngood\n");
    Log::set_sink(nullptr);
    CHECK(seen == std::vector<std::string>{"bad", "good"});
}

TEST_CASE("texts of many lines do not interleave, nor does a single line come between",
          "[base][log]") {
    LogLines sink;
    const auto talk = [](char who) {
        const std::string line(40, who);
        std::string text;
        for (int i = 0; i < 50; ++i) text += line + '\n';
        for (int i = 0; i < 40; ++i) {
            Log::write_lines(LogLevel::Error, text);
            Log::write(LogLevel::Error, "-%c", who);
        }
    };
    std::thread first(talk, 'a'), second(talk, 'b');
    first.join();
    second.join();
    REQUIRE(sink.lines.size() == 2 * 40 * 51);
    for (std::size_t i = 0; i < sink.lines.size();) {
        const auto& head = sink.lines[i].second;
        const std::size_t run = head[0] == '-' ? 1 : 50;
        for (std::size_t k = 1; k < run; ++k) REQUIRE(sink.lines[i + k].second == head);
        i += run;
    }
}

TEST_CASE("a child forked while another thread logs can log", "[base][log]") {
    // A sink that holds one thread of this process, and nobody else, until it is told to go on.
    struct Gate {
        const pid_t parent = ::getpid();
        std::atomic<bool> entered{false}, open{false};
        std::atomic<int> lines{0};
    } gate;
    Log::set_sink(
        [](void* context, LogLevel, std::string_view) {
            auto& g = *static_cast<Gate*>(context);
            ++g.lines;
            g.entered = true;
            while (!g.open && ::getpid() == g.parent) std::this_thread::yield();
        },
        &gate);
    std::thread busy([] { Log::write(LogLevel::Error, "held"); });
    while (!gate.entered) std::this_thread::yield();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20); // ends a child that hangs
        gate.lines = 0;
        Log::write(LogLevel::Error, "from the child");
        const int lines = gate.lines;
        Log::set_sink(nullptr);
        ::_exit(lines == 1 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    gate.open = true;
    busy.join();
    Log::write(LogLevel::Error, "the parent goes on");
    CHECK(gate.lines == 2);
    Log::set_sink(nullptr);
}

TEST_CASE("D09: a sink that throws loses its line and nothing else", "[base][log][D09]") {
    int called = 0;
    Log::set_sink(
        [](void* context, LogLevel, std::string_view) {
            ++*static_cast<int*>(context);
            throw 1;
        },
        &called);
    CHECK_NOTHROW(Log::write(LogLevel::Error, "lost"));
    std::thread([] { Log::write(LogLevel::Error, "the lock is free"); }).join();
    CHECK(called == 2);
    Log::set_sink(nullptr);
}

TEST_CASE("lines of several threads do not interleave", "[base][log]") {
    LogLines sink;
    constexpr int each = 200;
    std::vector<std::thread> threads;
    for (char c : {'a', 'b', 'c'})
        threads.emplace_back([c] {
            for (int i = 0; i < each; ++i)
                Log::write(LogLevel::Error, "%s", std::string(100, c).c_str());
        });
    for (auto& thread : threads) thread.join();
    REQUIRE(sink.lines.size() == 3 * each);
    for (const auto& [level, line] : sink.lines) CHECK(line == std::string(100, line.front()));
}

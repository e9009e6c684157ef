// SPDX-License-Identifier: Apache-2.0
//
// Where diagnostics go: a sink that the user may replace.
// Owns: level and sink. Does not own: the environment (RuntimeOptions reads it).
// Layer: base.   libnrt: nlog
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <string_view>

namespace neuronbook {
inline namespace v0 {

/// Levels of NEURON_RT_LOG_LEVEL, least talkative first. The default is Error.
enum class LogLevel : int { Quiet, Error, Warn, Info, Debug, Trace };

/// The level a text names (ERROR, WARN, WARNING, INFO, DEBUG, TRACE, QUIET), or nothing.
[[nodiscard]] constexpr std::optional<LogLevel> parse_log_level(std::string_view text) noexcept {
    struct Name {
        std::string_view text;
        LogLevel level;
    };
    constexpr Name names[] = {{"QUIET", LogLevel::Quiet}, {"ERROR", LogLevel::Error},
                              {"WARN", LogLevel::Warn},   {"WARNING", LogLevel::Warn},
                              {"INFO", LogLevel::Info},   {"DEBUG", LogLevel::Debug},
                              {"TRACE", LogLevel::Trace}};
    for (const auto& name : names)
        if (name.text == text) return name.level;
    return std::nullopt;
}

/// Receives one line without its newline. `context` is what was given with the sink.
using LogFunction = void (*)(void* context, LogLevel level, std::string_view line);

/// Process-wide log of this library version. Thread-safe: lines never interleave, and once
/// set_sink() has returned the old sink is not called any more. A child of fork() may log, whatever
/// the parent's threads were doing. A sink must neither log nor fork. It may throw: the line is
/// lost and nothing else, since lines are written while things are given back. libnrt: nlog
class Log {
public:
    static void set_level(LogLevel level) noexcept {
        state().level.store(level, std::memory_order_relaxed);
    }
    [[nodiscard]] static bool enabled(LogLevel level) noexcept {
        return level <= state().level.load(std::memory_order_relaxed);
    }
    /// A null function brings the default back: standard error.
    static void set_sink(LogFunction function, void* context = nullptr) {
        auto& s = state();
        const std::lock_guard lock(s.mutex);
        // A fork between any two of these steps finds a function and a context that fit.
        s.function = to_stderr;
        s.context = context;
        if (function) s.function = function;
    }

    /// Effects: formats and passes the line on, if the level is enabled; else nothing is formatted.
    [[gnu::format(printf, 2, 3)]] static void write(LogLevel level, const char* format, ...) {
        if (!enabled(level)) return;
        char line[1024];
        va_list arguments;
        va_start(arguments, format);
        const int wanted = std::vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        if (wanted < 0) return;
        const auto length = static_cast<std::size_t>(wanted);
        auto& s = state();
        const std::lock_guard lock(s.mutex);
        pass_on(s, level, {line, length < sizeof line ? length : sizeof line - 1});
    }

    /// Effects: passes on each line of `text`, if the level is enabled, as one group: no line of
    /// another thread comes between. Lines may be of any length; a newline at the end ends the last
    /// line and starts none. The lock is held all the while, so build the text before.
    static void write_lines(LogLevel level, std::string_view text) {
        if (!enabled(level)) return;
        auto& s = state();
        const std::lock_guard lock(s.mutex);
        while (!text.empty()) {
            const auto end = text.find('\n');
            pass_on(s, level, text.substr(0, end));
            if (end == std::string_view::npos) return;
            text.remove_prefix(end + 1);
        }
    }

private:
    struct State {
        std::atomic<LogLevel> level{LogLevel::Error};
        std::mutex mutex; ///< held over calls of the sink
        std::atomic<LogFunction> function{to_stderr};
        std::atomic<void*> context{nullptr};
    };

    static void pass_on(State& s, LogLevel level, std::string_view line) noexcept {
#ifdef __cpp_exceptions
        try {
            s.function.load()(s.context, level, line);
        } catch (...) { // the sink's own business
        }
#else
        s.function.load()(s.context, level, line);
#endif
    }

    /// Constant-initialised: a guard that another thread holds during a fork would stay held too.
    static State& state() noexcept {
        static constinit State instance;
        return instance;
    }

    /// In a child the thread that held the lock is not there to give it back, so the child gets a
    /// new one. Nothing is held over the fork, which could deadlock with a lock of the sink's.
    static void renew_lock() noexcept { ::new (&state().mutex) std::mutex; }

    static inline const int kRenewedInChildren = ::pthread_atfork(nullptr, nullptr, renew_lock);

    static void to_stderr(void*, LogLevel level, std::string_view line) {
        constexpr const char* names[] = {"", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};
        std::fprintf(stderr, "neuronbook %s: %.*s\n", names[static_cast<int>(level)],
                     static_cast<int>(line.size()), line.data());
    }
};

} // namespace v0
} // namespace neuronbook

// SPDX-License-Identifier: Apache-2.0
// The system calls of the unmodified probe, answered by one SimKernel in its own process.
//
// The linker's --wrap sends open, close, ioctl, mmap and access here; whatever is not about
// a Neuron node or a file of the driver goes on to the real call. NDPROBE_INSTANCE and
// NDPROBE_DRIVER choose the machine. With NDPROBE_NOTES set, what the kernel noted is printed to
// stderr at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "neuronbook/backend/sim/kernel.hpp"

namespace {

using namespace neuronbook;

std::string setting(const char* name, std::string otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

SimKernel& kernel() {
    static const std::unique_ptr<SimKernel> made = [] {
        SimOptions options;
        options.instance = setting("NDPROBE_INSTANCE", options.instance);
        options.driver_version = setting("NDPROBE_DRIVER", options.driver_version);
        options.poison = true;
        auto result = SimKernel::make(options);
        if (!result) {
            const auto text = result.error().text.view();
            std::fprintf(stderr, "no such machine: %.*s\n", static_cast<int>(text.size()),
                         text.data());
            std::exit(2);
        }
        return std::move(*result);
    }();
    return *made;
}

Answer ask(Request request) {
    const Caller caller{static_cast<std::int32_t>(::getpid()), false};
    SelfMemory memory;
    for (;;) {
        const auto now = kernel().now();
        const auto answer = kernel().submit(caller, request, memory, now);
        if (!answer.waits) return answer;
        request.ticket = answer.ticket;
        kernel().sleep({answer.until.count - now.count});
    }
}

/// As libc turns an answer of the kernel into one of a function.
template <class T>
T outcome(std::int64_t value, T failed) {
    if (value >= 0) return static_cast<T>(value);
    errno = static_cast<int>(-value);
    return failed;
}

bool ours(int fd) { return fd >= sim::FileTable::kFirst; }
bool ours(const char* path) { return std::strncmp(path, "/dev/neuron", 11) == 0; }

/// A real descriptor of what one of the driver's text files holds, or -1 when it is not one.
int text_file(const char* path) {
    char text[4096];
    const auto size = kernel().read_file(path, text);
    if (size < 0) return -1;
    const int fd = ::memfd_create("text", MFD_CLOEXEC);
    if (::pwrite(fd, text, static_cast<std::size_t>(size), 0) != size) std::abort();
    return fd;
}

struct Notes {
    ~Notes() {
        if (std::getenv("NDPROBE_NOTES") == nullptr) return;
        print("unmodelled", kernel().unmodelled());
        print("unknown", kernel().unknown());
        print("would have crashed", kernel().would_have_crashed());
    }
    static void print(const char* what, const std::vector<std::string>& texts) {
        for (const auto& text : texts) std::fprintf(stderr, "%s: %s\n", what, text.c_str());
    }
};

} // namespace

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_close(int fd);
int __real_ioctl(int fd, unsigned long word, ...);
void* __real_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset);
int __real_access(const char* path, int mode);

int __wrap_open(const char* path, int flags, ...) {
    if (ours(path))
        return outcome(
            ask({OpenRequest{path, static_cast<std::uint32_t>(flags & O_ACCMODE)}}).value, -1);
    if (const int fd = text_file(path); fd >= 0) return fd;
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return __real_open(path, flags, mode);
}

int __wrap_close(int fd) {
    if (!ours(fd)) return __real_close(fd);
    const auto value = ask({FlushRequest{fd}}).value;
    return outcome(value < 0 ? value : ask({ReleaseRequest{fd}}).value, -1);
}

int __wrap_ioctl(int fd, unsigned long word, ...) {
    va_list list;
    va_start(list, word);
    void* argument = va_arg(list, void*);
    va_end(list);
    if (!ours(fd)) return __real_ioctl(fd, word, argument);
    return outcome(ask({IoctlRequest{fd, static_cast<std::uint32_t>(word),
                                     reinterpret_cast<std::uint64_t>(argument)}})
                       .value,
                   -1);
}

void* __wrap_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset) {
    if (!ours(fd)) return __real_mmap(where, size, protection, flags, fd, offset);
    const auto answer =
        ask({MapRequest{fd, Bytes{size}, static_cast<std::uint64_t>(offset),
                        (protection & PROT_WRITE) != 0, (flags & MAP_TYPE) != MAP_PRIVATE}});
    if (answer.value < 0) {
        errno = static_cast<int>(-answer.value);
        return MAP_FAILED;
    };
    if (!answer.map.writable) protection &= ~PROT_WRITE;
    void* got = __real_mmap(where, answer.map.length.count(), protection, flags, answer.map.file,
                            static_cast<off_t>(answer.map.offset));
    if (got != MAP_FAILED) ::madvise(got, answer.map.length.count(), MADV_DONTFORK);
    return got;
}

// the names these calls have where file offsets are asked to have 64 bits
int __wrap_open64(const char* path, int flags, ...) __attribute__((alias("__wrap_open")));
void* __wrap_mmap64(void* where, std::size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("__wrap_mmap")));

int __wrap_access(const char* path, int mode) {
    if (!ours(path)) return __real_access(path, mode);
    return outcome(kernel().exists(path) ? 0 : -ENOENT, -1);
}

} // extern "C"

namespace {

const struct Start {
    Start() { kernel(); }
    Notes at_end;
} start;

} // namespace

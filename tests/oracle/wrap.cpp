// SPDX-License-Identifier: Apache-2.0
// The system calls of the unmodified probe, answered by one SimKernel in its own process.
//
// The linker's --wrap sends open, close, ioctl, mmap and access here; whatever is not about
// a Neuron node or a file of the driver goes on to the real call. NDPROBE_INSTANCE, NDPROBE_DRIVER
// and NDPROBE_PRODUCT choose the machine, NDPROBE_FAULTS=copies_hang what is wrong with it. With
// NDPROBE_NOTES set, what the kernel noted is printed to stderr at the end.
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
#include "neuronbook/backend/sim/port.hpp"

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
        options.product_name = setting("NDPROBE_PRODUCT", options.instance);
        options.poison = true;
        options.faults.copies_hang = setting("NDPROBE_FAULTS", "") == "copies_hang";
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

/// The probe's process; its children are others.
SimPort port() {
    return SimPort(kernel(), {.pid = static_cast<std::int32_t>(::getpid())}, Pointers::Checked);
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
    if (ours(path)) return outcome(port().open(path, static_cast<Access>(flags & O_ACCMODE)), -1);
    if (const int fd = text_file(path); fd >= 0) return fd;
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return __real_open(path, flags, mode);
}

int __wrap_close(int fd) {
    if (!ours(fd)) return __real_close(fd);
    return outcome(port().close(fd), -1);
}

int __wrap_ioctl(int fd, unsigned long word, ...) {
    va_list list;
    va_start(list, word);
    void* argument = va_arg(list, void*);
    va_end(list);
    if (!ours(fd)) return __real_ioctl(fd, word, argument);
    return outcome(port().ioctl(fd, static_cast<std::uint32_t>(word), argument), -1);
}

void* __wrap_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset) {
    if (!ours(fd)) return __real_mmap(where, size, protection, flags, fd, offset);
    const auto got =
        port().map({fd, Bytes{size}, static_cast<std::uint64_t>(offset),
                    (protection & PROT_WRITE) != 0, (flags & MAP_TYPE) != MAP_PRIVATE});
    if (got.error == 0) return got.address;
    errno = got.error;
    return MAP_FAILED;
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

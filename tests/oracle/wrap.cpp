// SPDX-License-Identifier: Apache-2.0
// The system calls of the unmodified probe, answered by one SimKernel in its own process.
//
// The linker's --wrap sends open, close, dup, ioctl, mmap, munmap, access, fork, popen and the
// waiting for children here; whatever is not about a Neuron node or a file of the driver goes on to
// the real call. A forked child is another process of the same kernel (server.hpp).
// NDPROBE_INSTANCE, NDPROBE_DRIVER and NDPROBE_PRODUCT choose the machine,
// NDPROBE_FAULTS=copies_hang what is wrong with it. With NDPROBE_NOTES set, what the kernel noted
// is printed to stderr at the end.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

#include "fronts.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "server.hpp"

namespace {

using namespace neuronbook;

std::string setting(const char* name, std::string otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

std::unique_ptr<SimKernel> make_kernel() {
    SimOptions options;
    options.instance = setting("NDPROBE_INSTANCE", options.instance);
    options.driver_version = setting("NDPROBE_DRIVER", options.driver_version);
    options.product_name = setting("NDPROBE_PRODUCT", options.instance);
    options.faults.copies_hang = setting("NDPROBE_FAULTS", "") == "copies_hang";
    options.poison = true;
    auto result = SimKernel::make(options);
    if (result) return std::move(*result);
    const auto text = result.error().text.view();
    std::fprintf(stderr, "no such machine: %.*s\n", static_cast<int>(text.size()), text.data());
    std::exit(2);
}

/// The kernel and what serves the children; never destroyed, since a thread uses them.
struct Host {
    std::unique_ptr<SimKernel> kernel = make_kernel();
    oracle::Server server{*kernel};
};

Host& host() {
    static auto* made = new Host;
    return *made;
}

/// This process's way to the kernel; a child gets another.
std::unique_ptr<oracle::Front> the_front;
bool in_child = false;
FILE* listing = nullptr; ///< what an asked-for list of processes is read from

oracle::Front& front() {
    if (the_front == nullptr)
        the_front = std::make_unique<oracle::LocalFront>(*host().kernel, ::getpid());
    return *the_front;
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
    if (std::strncmp(path, "/sys/", 5) != 0) return -1; // the kernel itself opens others
    char text[4096];
    const auto size = front().read_file(path, text);
    if (size < 0) return -1;
    const int fd = ::memfd_create("text", MFD_CLOEXEC);
    if (::pwrite(fd, text, static_cast<std::size_t>(size), 0) != size) std::abort();
    return fd;
}

struct Notes {
    ~Notes() {
        if (in_child || std::getenv("NDPROBE_NOTES") == nullptr) return;
        print("unknown", host().kernel->unknown());
        print("would have crashed", host().kernel->would_have_crashed());
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
int __real_munmap(void* where, std::size_t size);
int __real_access(const char* path, int mode);
int __real_dup(int fd);
pid_t __real_fork();
FILE* __real_popen(const char* command, const char* mode);
int __real_pclose(FILE* file);
pid_t __real_waitpid(pid_t pid, int* status, int options);

int __wrap_open(const char* path, int flags, ...) {
    if (ours(path)) return outcome(front().open(path, flags), -1);
    if (const int fd = text_file(path); fd >= 0) return fd;
    va_list list;
    va_start(list, flags);
    const auto mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
    va_end(list);
    return __real_open(path, flags, mode);
}

int __wrap_close(int fd) {
    if (!ours(fd)) return __real_close(fd);
    return outcome(front().close(fd), -1);
}

int __wrap_dup(int fd) {
    if (!ours(fd)) return __real_dup(fd);
    return outcome(front().duplicate(fd), -1);
}

int __wrap_ioctl(int fd, unsigned long word, ...) {
    va_list list;
    va_start(list, word);
    void* argument = va_arg(list, void*);
    va_end(list);
    if (!ours(fd)) return __real_ioctl(fd, word, argument);
    return outcome(front().ioctl(fd, static_cast<std::uint32_t>(word), argument), -1);
}

void* __wrap_mmap(void* where, std::size_t size, int protection, int flags, int fd, off_t offset) {
    if (!ours(fd)) return __real_mmap(where, size, protection, flags, fd, offset);
    const auto got =
        front().map({fd, Bytes{size}, static_cast<std::uint64_t>(offset),
                     (protection & PROT_WRITE) != 0, (flags & MAP_TYPE) != MAP_PRIVATE});
    if (got.error == 0) return got.address;
    errno = got.error;
    return MAP_FAILED;
}

int __wrap_munmap(void* where, std::size_t size) {
    constexpr std::size_t kPageMask = 4095;
    const auto pages = (size + kPageMask) & ~kPageMask;
    if ((reinterpret_cast<std::uintptr_t>(where) & kPageMask) == 0) front().unmap(where, pages);
    return __real_munmap(where, size);
}

// the names these calls have where file offsets are asked to have 64 bits
int __wrap_open64(const char* path, int flags, ...) __attribute__((alias("__wrap_open")));
void* __wrap_mmap64(void* where, std::size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("__wrap_mmap")));

int __wrap_access(const char* path, int mode) {
    if (!ours(path)) return __real_access(path, mode);
    return outcome(front().exists(path) ? 0 : -ENOENT, -1);
}

/// Only the probe itself forks; its children do not.
pid_t __wrap_fork() {
    int ends[2];
    if (in_child || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        errno = EAGAIN;
        return -1;
    }
    std::unique_lock guard(host().server.lock());
    const auto parent = ::getpid();
    const auto child = __real_fork();
    if (child == 0) {
        guard.release(); // nobody here will ever want it again
        in_child = true;
        host().server.close_all();
        ::close(ends[0]);
        the_front.release(); // what it holds is the parent's
        the_front = std::make_unique<oracle::RemoteFront>(ends[1]);
        return 0;
    }
    ::close(ends[1]);
    if (child > 0)
        host().server.add(parent, child, ends[0]);
    else
        ::close(ends[0]);
    return child;
}

/// Nobody is told of a child's end before its descriptors are closed.
pid_t __wrap_waitpid(pid_t pid, int* status, int options) {
    const auto ended = __real_waitpid(pid, status, options);
    if (ended > 0 && !in_child) host().server.wait_for_end(ended);
    return ended;
}

/// The probe looks for its child by the program's name; other runs of it are none of its business.
FILE* __wrap_popen(const char* command, const char* mode) {
    if (std::strcmp(command, "pidof ndprobe") != 0) return __real_popen(command, mode);
    static std::string family;
    family = host().server.list(::getpid());
    return listing = ::fmemopen(family.data(), family.size(), "r");
}

int __wrap_pclose(FILE* file) { return file == listing ? std::fclose(file) : __real_pclose(file); }

pid_t __wrap_wait(int* status) { return __wrap_waitpid(-1, status, 0); }

} // extern "C"

namespace {

const struct Start {
    Start() { host(); }
    Notes at_end;
} start;

} // namespace

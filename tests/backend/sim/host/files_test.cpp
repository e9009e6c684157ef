// SPDX-License-Identifier: Apache-2.0
// Descriptors of several processes: what dup, fork, exec, sockets and ends do to files and devices.
#include "neuronbook/backend/sim/host/files.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

std::size_t chunks(const SimKernel& kernel) { return kernel.census().user_memory().chunks; }
std::size_t files(const SimKernel& kernel) { return kernel.census().open_files; }
std::size_t attached(const SimKernel& kernel) { return kernel.census().devices[0].attached; }

} // namespace

TEST_CASE("closing a dup()ed descriptor frees everything, and the first is left unattached",
          "[sim][files]") {
    const auto kernel = make_kernel();
    const auto before = kernel->census();
    Process process(*kernel);
    const auto handle = process.allocate(4096);
    const auto copy = static_cast<int>(process.port.duplicate(process.fd));
    REQUIRE(copy != process.fd);
    uapi::HostDeviceId id;
    CHECK(process.port.ioctl(copy, uapi::kHostDeviceId, &id) == 0);
    CHECK(process.port.close(copy) == 0);
    CHECK(process.port.ioctl(copy, uapi::kHostDeviceId, &id) == -EBADF);
    CHECK(process.port.close(copy) == -EBADF);
    CHECK(chunks(*kernel) == 0);
    CHECK(attached(*kernel) == 0);
    CHECK(files(*kernel) == 1);
    CHECK(process.free(handle) == -EACCES);
    CHECK(process.ask(uapi::kHostDeviceId, id) == 0);
    CHECK(kernel->would_have_crashed().empty());
    CHECK(process.allocate(4096) == 0); // the request without a check of its own
    CHECK(process.error == -EACCES);
    CHECK(kernel->would_have_crashed().size() == 1);
    CHECK(process.port.close(process.fd) == 0);
    CHECK(kernel->census() == before);
}

TEST_CASE("the file goes with the last descriptor of any process, whichever that is",
          "[sim][files]") {
    const auto kernel = make_kernel();
    Process parent(*kernel, 1);
    parent.allocate(4096);
    auto child = parent.port.child(2);
    auto grandchild = child.child(3);
    SECTION("children first") {
        CHECK(child.close(parent.fd) == 0);
        CHECK(child.close(parent.fd) == -EBADF); // its own is gone, not its parent's
        kernel->end_process(3);
        CHECK(chunks(*kernel) == 1);
        CHECK(files(*kernel) == 1);
        CHECK(parent.port.close(parent.fd) == 0);
    }
    SECTION("the opener first") {
        CHECK(parent.port.close(parent.fd) == 0);
        CHECK(chunks(*kernel) == 0);
        CHECK(attached(*kernel) == 0);
        CHECK(files(*kernel) == 1);
        uapi::HostDeviceId id;
        CHECK(grandchild.ioctl(parent.fd, uapi::kHostDeviceId, &id) == 0);
        kernel->end_process(2);
        CHECK(files(*kernel) == 1);
        kernel->end_process(3);
    }
    CHECK(files(*kernel) == 0);
    CHECK(parent.port.close(parent.fd) == -EBADF);
}

TEST_CASE("a child's own open is its own, its inherited descriptor is not", "[sim][files]") {
    const auto kernel = make_kernel();
    Process parent(*kernel, 1);
    const auto handle = parent.allocate(4096);
    auto child = parent.port.child(2);
    uapi::MemFree form{handle};
    CHECK(child.ioctl(parent.fd, uapi::kMemFree, &form) == -EACCES);
    const auto own = static_cast<int>(child.open("/dev/neuron0", Access::ReadWrite));
    CHECK(attached(*kernel) == 2);
    // attachment is the process's, so now the inherited one works too
    CHECK(child.ioctl(parent.fd, uapi::kMemFree, &form) == 0);
    // and its close is the close that counts
    CHECK(child.close(parent.fd) == 0);
    CHECK(attached(*kernel) == 1);
    CHECK(child.ioctl(own, uapi::kMemFree, &form) == -EACCES);
    kernel->end_process(2);
    CHECK(files(*kernel) == 1);
}

TEST_CASE("a forked child that ends drops the marks it made, through free-access files alone",
          "[sim][files]") {
    const auto kernel = make_kernel();
    Process discovery(*kernel, 1, Access::WriteOnly);
    Process device(*kernel, 1);
    const auto mark = [](SimPort& port, int fd, std::uint32_t core) {
        uapi::CrwlNcMap map{1, core, core, 0, 0};
        return port.ioctl(fd, uapi::kCrwlNcRangeMark, &map);
    };
    CHECK(mark(discovery.port, discovery.fd, 0) == 0);
    auto child = discovery.port.child(2);
    CHECK(mark(child, device.fd, 1) == 0); // goes with the inherited O_WRONLY descriptor
    kernel->end_process(2);
    CHECK(kernel->census().marks == 1);
    auto other = discovery.port.child(3);
    CHECK(other.close(discovery.fd) == 0);
    CHECK(mark(other, device.fd, 1) == 0);
    kernel->end_process(3);
    CHECK(kernel->census().marks == 2); // stays, though nobody is there
}

TEST_CASE("exec closes what open() gave and keeps what dup() gave", "[sim][files]") {
    const auto kernel = make_kernel();
    SECTION("close-on-exec") {
        Process process(*kernel);
        process.allocate(4096);
        process.port.exec();
        CHECK(chunks(*kernel) == 0);
        CHECK(files(*kernel) == 0);
        CHECK(process.port.close(process.fd) == -EBADF);
    }
    SECTION("kept: the process stays attached and keeps its memory") {
        TrustedMemory memory;
        const auto fd =
            kernel->submit({5, false}, {OpenRequest{"/dev/neuron0", 2, false}}, memory, {});
        Process process(*kernel, 5);
        process.allocate(4096);
        process.port.exec(); // one of two opens: a flush that only counts down
        CHECK(chunks(*kernel) == 1);
        CHECK(attached(*kernel) == 1);
        CHECK(process.port.close(static_cast<int>(fd.value)) == 0);
        CHECK(chunks(*kernel) == 0);
    }
    SECTION("a duplicate is kept, and is worth nothing") {
        Process process(*kernel);
        process.allocate(4096);
        const auto copy = static_cast<int>(process.port.duplicate(process.fd));
        process.port.exec();
        CHECK(chunks(*kernel) == 0);
        CHECK(files(*kernel) == 1);
        CHECK(process.port.close(copy) == 0);
    }
    CHECK(files(*kernel) == 0);
}

TEST_CASE("a descriptor sent over a socket keeps the file open for who has it", "[sim][files]") {
    const auto kernel = make_kernel();
    Process sender(*kernel, 1);
    SimPort receiver(*kernel, Caller{2, false});
    const auto got = static_cast<int>(sender.port.send(sender.fd, receiver));
    CHECK(sender.port.close(sender.fd) == 0);
    uapi::HostDeviceId id;
    CHECK(receiver.ioctl(got, uapi::kHostDeviceId, &id) == 0);
    CHECK(sender.port.send(sender.fd, receiver) == -EBADF);
    CHECK(receiver.close(got) == 0);
    CHECK(files(*kernel) == 0);
}

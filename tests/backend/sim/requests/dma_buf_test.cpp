// SPDX-License-Identifier: Apache-2.0
// Exporting mappings as descriptors.
#include "neuronbook/backend/sim/requests/dma_buf.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Exporter : Process {
    std::uint64_t handle;
    Mapping mapping;
    std::int32_t number = -7;
    std::uint64_t offset = 99;

    explicit Exporter(SimKernel& kernel, std::uint64_t size = 1 << 20)
        : Process(kernel), handle(allocate(size)),
          mapping(port.map(fd, Bytes{size}, true, pa(handle))) {
        REQUIRE(mapping.error == 0);
    }
    [[nodiscard]] std::uint64_t va() const {
        return reinterpret_cast<std::uint64_t>(mapping.address);
    }
    std::int64_t one(std::uint64_t va, std::uint64_t size, std::int32_t* to) {
        uapi::DmabufFd form{va, size, to};
        return ask(uapi::kDmabufFd, form);
    }
    std::int64_t two(std::uint64_t va, std::uint64_t size, std::int32_t* to, std::uint64_t* into) {
        uapi::DmabufFdV2 form{va, size, to, into};
        return ask(uapi::kDmabufFdV2, form);
    }
};

} // namespace

TEST_CASE("an exported mapping is a descriptor that begins with its bytes", "[sim][dma_buf]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Exporter process(*kernel);
    std::strcpy(static_cast<char*>(process.mapping.address) + 8192, "seen by others");
    REQUIRE(process.one(process.va() + 8192, 4096, &process.number) == 0);
    REQUIRE(process.number > 2);
    CHECK((::fcntl(process.number, F_GETFD) & FD_CLOEXEC) != 0);
    char text[16] = {};
    CHECK(::read(process.number, text, 15) == 15);
    CHECK(std::strcmp(text, "seen by others") == 0);
    CHECK(kernel->census().exported == 1);
    process.port.unmap(process.mapping.address, Bytes{1 << 20}); // revokes
    CHECK(kernel->census().exported == 0);
    CHECK(::close(process.number) == 0);
    CHECK(process.one(process.va(), 4096, &process.number) == -EINVAL);
}

TEST_CASE("only what the caller itself mapped can be exported", "[sim][dma_buf]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    Exporter process(*kernel);
    CHECK(process.one(0, 4096, &process.number) == -EINVAL);
    CHECK(process.one(process.va() - 4096, 4096, &process.number) == -EINVAL);
    auto child = process.port.child(7);
    uapi::DmabufFd form{process.va(), 4096, &process.number};
    CHECK(child.ioctl(process.fd, uapi::kDmabufFd, &form) == -EINVAL);
    CHECK(process.number == -7);
    const auto host = process.pa(process.allocate_host(8192));
    const auto other = process.port.map(process.fd, Bytes{8192}, true, host);
    CHECK(process.one(reinterpret_cast<std::uint64_t>(other.address), 0, &process.number) == 0);
    ::close(process.number);
    kernel->end_process(1000);
    CHECK(kernel->census().exported == 0);
    process.port.unmap(other.address, Bytes{8192});
    process.port.unmap(process.mapping.address, Bytes{1 << 20});
}

TEST_CASE("up to 2.28 a buffer may go beyond its mapping and begin within a page",
          "[sim][dma_buf]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5"));
    Exporter process(*kernel);
    CHECK(process.ask(uapi::kDmabufFd, nullptr) == 24);
    CHECK(process.one(process.va() + 100, 2 << 20, &process.number) == 0);
    ::close(process.number);
    CHECK(process.one(process.va(), 4096, nullptr) == 4);
    CHECK(process.two(process.va(), 4096, &process.number, &process.offset) == -EINVAL);
    CHECK(kernel->unknown().size() == 1);
    process.port.unmap(process.mapping.address, Bytes{1 << 20});
}

TEST_CASE("from 2.29 on the rules of exporting are checked", "[sim][dma_buf]") {
    const auto kernel = make_kernel("trn2.3xlarge", "2.30.2");
    Exporter process(*kernel);
    auto* number = &process.number;
    auto* offset = &process.offset;
    CHECK(process.ask(uapi::kDmabufFd, nullptr) == -EFAULT);
    CHECK(process.ask(uapi::kDmabufFdV2, nullptr) == -EFAULT);
    CHECK(process.one(process.va(), 4096, nullptr) == -EINVAL);
    CHECK(process.one(process.va() + 100, 4096, number) == -EINVAL);
    CHECK(process.one(process.va() + 4096, 1 << 20, number) == -EINVAL);
    CHECK(process.one(process.va(), ~std::uint64_t{0}, number) == -EINVAL);
    CHECK(process.two(process.va() + 100, ~std::uint64_t{0} - 50, number, offset) == -EINVAL);
    CHECK(process.two(process.va(), 4096, nullptr, offset) == -EINVAL);
    CHECK(process.two(process.va(), 4096, number, nullptr) == -EINVAL);
    CHECK(*number == -7);
    CHECK(kernel->census().exported == 0);
    std::strcpy(static_cast<char*>(process.mapping.address) + 4196, "inside");
    CHECK(process.two(process.va() + 4196, 100, number, offset) == 0);
    CHECK(*offset == 100);
    char text[8] = {};
    CHECK(::pread(*number, text, 7, ::lseek(*number, 0, SEEK_CUR) + 100) == 7);
    CHECK(std::strcmp(text, "inside") == 0);
    ::close(*number);
    // an answer that cannot be written is undone
    CHECK(process.two(process.va(), 4096, number, reinterpret_cast<std::uint64_t*>(8)) == -EFAULT);
    CHECK(kernel->census().exported == 1);
    CHECK(::fcntl(*number, F_GETFD) == -1);
    process.port.unmap(process.mapping.address, Bytes{1 << 20});
}

TEST_CASE("with no descriptor number left old kernels come down", "[sim][dma_buf]") {
    const bool old = GENERATE(true, false);
    const auto kernel = make_kernel("trn1.2xlarge", old ? "2.26.5" : "2.30.2");
    Exporter process(*kernel);
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit none{0, limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const auto answer = process.one(process.va(), 4096, &process.number);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    CHECK(answer == -EMFILE);
    CHECK(process.number == -7);
    CHECK(kernel->would_have_crashed().empty() != old);
    CHECK(kernel->census().exported == 0);
    process.port.unmap(process.mapping.address, Bytes{1 << 20});
}

// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/user_memory.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "support/catch.hpp"

namespace {

using neuronbook::SelfMemory;
using neuronbook::TrustedMemory;

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// Three pages of which the last cannot be touched.
struct Pages {
    static constexpr std::size_t kSize = 4096;
    char* at = static_cast<char*>(
        ::mmap(nullptr, 3 * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    Pages() { ::mprotect(at + 2 * kSize, kSize, PROT_NONE); }
    ~Pages() { ::munmap(at, 3 * kSize); }
};

} // namespace

TEMPLATE_TEST_CASE("memory is read and written, NULL gives nothing", "[sim][user_memory]",
                   TrustedMemory, SelfMemory) {
    TestType memory;
    char from[] = "abcdef";
    char to[8] = {};
    CHECK(memory.read(to, address(from), 7) == 7);
    CHECK(std::strcmp(to, "abcdef") == 0);
    CHECK(memory.write(address(to), "xyz", 3) == 3);
    CHECK(std::strcmp(to, "xyzdef") == 0);
    CHECK(memory.read(to, 0, 4) == 0);
    CHECK(memory.read(to, 8, 4) == 0);
    CHECK(memory.write(8, from, 4) == 0);
    CHECK(memory.write(0xFFFF888000000000u, from, 4) == 0);
    CHECK(memory.read(to, ~std::uint64_t{0} - 1, 4) == 0);
    CHECK(memory.read(to, address(from), 0) == 0);
}

TEST_CASE("a copy that meets a bad page moves what lies before it", "[sim][user_memory]") {
    SelfMemory memory;
    const Pages pages;
    std::vector<char> buffer(3 * Pages::kSize, 'x');
    CHECK(memory.write(address(pages.at + 100), buffer.data(), buffer.size()) == 8092);
    CHECK(pages.at[8191] == 'x');
    CHECK(memory.read(buffer.data(), address(pages.at + 8000), 500) == 192);
    CHECK(memory.read(buffer.data(), address(pages.at + 8192), 1) == 0);
}

TEST_CASE("a read-only page is read and not written", "[sim][user_memory]") {
    SelfMemory memory;
    const Pages pages;
    ::mprotect(pages.at, Pages::kSize, PROT_READ);
    char buffer[16] = {};
    CHECK(memory.read(buffer, address(pages.at), 16) == 16);
    CHECK(memory.write(address(pages.at), buffer, 16) == 0);
}

TEST_CASE("a long copy crosses many pages", "[sim][user_memory]") {
    SelfMemory memory;
    std::vector<char> from(3u << 20);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 >> 3);
    std::vector<char> to(from.size());
    const auto size = from.size() - 5;
    CHECK(memory.read(to.data(), address(from.data() + 5), size) == size);
    CHECK(std::memcmp(to.data(), from.data() + 5, size) == 0);
}

TEST_CASE("another process's memory is its own in pieces of many pages too", "[sim][user_memory]") {
    std::vector<char> bytes(20000, 'c');
    int ready[2], gate[2];
    REQUIRE((::pipe(ready) == 0 && ::pipe(gate) == 0));
    const auto child = ::fork();
    char byte = 0;
    if (child == 0) {
        const bool told = ::write(ready[1], "r", 1) == 1 && ::read(gate[0], &byte, 1) == 1;
        ::_exit(told && bytes.front() == 'W' && bytes.back() == 'W' ? 0 : 1);
    }
    CHECK(::read(ready[0], &byte, 1) == 1);
    std::fill(bytes.begin(), bytes.end(), 'p');
    neuronbook::ProcessMemory memory(child);
    std::vector<char> seen(bytes.size());
    CHECK(memory.read(seen.data(), address(bytes.data()), seen.size()) == seen.size());
    CHECK((seen.front() == 'c' && seen.back() == 'c'));
    std::fill(seen.begin(), seen.end(), 'W');
    CHECK(memory.write(address(bytes.data()), seen.data(), seen.size()) == seen.size());
    CHECK((bytes.front() == 'p' && bytes.back() == 'p'));
    CHECK(::write(gate[1], "x", 1) == 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    for (const int end : {ready[0], ready[1], gate[0], gate[1]}) ::close(end);
}

TEST_CASE("another process's memory is reached by its number, a dead one's is not",
          "[sim][user_memory]") {
    char secret[] = "mine";
    int gate[2];
    REQUIRE(::pipe(gate) == 0);
    const auto child = ::fork();
    if (child == 0) {
        std::strcpy(secret, "hers");
        char byte = 0;
        ::_exit(::read(gate[0], &byte, 1) == 1 && secret[0] == 'H' ? 0 : 1);
    }
    neuronbook::ProcessMemory memory(child);
    char seen[5] = {};
    for (int i = 0; i < 1000 && std::strcmp(seen, "hers") != 0; ++i) {
        CHECK(memory.read(seen, address(secret), 5) == 5);
        ::usleep(1000);
    }
    CHECK(std::strcmp(seen, "hers") == 0);
    CHECK(memory.write(address(secret), "H", 1) == 1);
    CHECK(secret[0] == 'm');
    CHECK(memory.write(8, "H", 1) == 0);
    CHECK(::write(gate[1], "x", 1) == 1);
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(memory.read(seen, address(secret), 5) == 0);
    CHECK(memory.install_descriptor(0, 0, 1) == -EMFILE);
    ::close(gate[0]);
    ::close(gate[1]);
}

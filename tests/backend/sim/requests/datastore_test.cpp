// SPDX-License-Identifier: Apache-2.0
// Datastores: whose each of them is, and when it is nobody's again.
#include "neuronbook/backend/sim/requests/datastore.hpp"

#include <cerrno>
#include <cstring>
#include <deque>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Store : Process {
    using Process::Process;

    std::int64_t acquire(std::int32_t pid = 0) {
        uapi::NeuronDsInfo form{pid, 0, 0, 0, 0};
        const auto answer = ask(uapi::kAcquireNeuronDs, form);
        offset = form.mmap_offset;
        size = form.size;
        return answer;
    }
    std::int64_t release(std::int32_t pid = 0) {
        uapi::NeuronDsInfo form{pid, 0, 0, 0, 0};
        return ask(uapi::kReleaseNeuronDs, form);
    }
    unsigned char* map() {
        const auto view = port.map(fd, Bytes{262144}, true, offset);
        REQUIRE(view.error == 0);
        return static_cast<unsigned char*>(view.address);
    }
    std::uint64_t offset = 0;
    std::uint32_t size = 0;
};

} // namespace

TEST_CASE("a process has one datastore, 256 KiB of zeros that it and others may map",
          "[sim][datastore]") {
    const auto kernel = make_kernel("trn1.2xlarge", GENERATE("2.24.7", "2.26.5", "2.30.2"));
    const auto before = kernel->census();
    Store one(*kernel, 1);
    Store two(*kernel, 2);
    CHECK(two.acquire(1) == -ENOENT);
    CHECK(one.acquire() == 0);
    CHECK(one.size == 262144);
    CHECK(one.offset >> 44 == 1);
    const auto first = one.offset;
    CHECK(one.acquire() == 0);
    CHECK(one.offset == first);
    CHECK(one.acquire(1) == 0);
    CHECK(one.offset == first);
    CHECK(two.acquire(1) == 0);
    CHECK(two.offset == first);
    auto* mine = one.map();
    auto* theirs = two.map();
    CHECK(std::memcmp(mine, "\0\0\0\0", 4) == 0); // no signature
    std::memcpy(theirs, "nds", 4);
    CHECK(std::memcmp(mine, "nds", 4) == 0);
    CHECK(two.acquire() == 0);
    CHECK(two.offset != first);
    CHECK(kernel->census().user_memory() == before.user_memory()); // the driver's own memory
    CHECK(one.ask(uapi::kAcquireNeuronDs, nullptr) != 0);
}

TEST_CASE("one release gives a datastore back, whatever was acquired, its owner's alone",
          "[sim][datastore]") {
    const auto kernel = make_kernel();
    Store one(*kernel, 1);
    Store two(*kernel, 2);
    CHECK(one.acquire() == 0);
    CHECK(one.acquire() == 0);
    auto* page = one.map();
    page[70000] = 7;
    CHECK(two.release(1) == 0); // ignored
    CHECK(two.release(77) == 0);
    CHECK(two.release() == 0);
    CHECK(page[70000] == 7);
    CHECK(two.acquire(1) == 0);
    CHECK(one.release(1) == 0);
    CHECK(page[70000] == 0);
    CHECK(two.acquire(1) == -ENOENT);
}

TEST_CASE("sixteen at a time, a free one in the order they were given back", "[sim][datastore]") {
    const auto kernel = make_kernel();
    Store door(*kernel, 1);
    std::deque<Store> stores;
    for (int i = 0; i < 17; ++i) { // no attachment is needed
        stores.emplace_back(*kernel, 100 + i, Access::WriteOnly);
        stores.back().fd = door.fd;
        CHECK(stores.back().acquire() == (i < 16 ? 0 : -ENOMEM));
    }
    CHECK(stores[7].release() == 0);
    CHECK(stores[3].release() == 0);
    CHECK(stores[16].acquire() == 0);
    CHECK(stores[16].offset == stores[7].offset);
    CHECK(stores[3].acquire() == 0);
    CHECK(kernel->would_have_crashed().empty());
}

TEST_CASE("the last close gives back the process's, the node's last close everybody's",
          "[sim][datastore]") {
    const auto kernel = make_kernel();
    Store one(*kernel, 1);
    Store again(*kernel, 1);
    Store two(*kernel, 2);
    Store stranger(*kernel, 3, Access::WriteOnly);
    stranger.fd = two.fd;
    CHECK(one.acquire() == 0);
    CHECK(stranger.acquire() == 0);
    CHECK(one.port.close(one.fd) == 0);
    CHECK(two.acquire(1) == 0);
    CHECK(again.port.close(again.fd) == 0);
    CHECK(two.acquire(1) == -ENOENT);
    CHECK(two.acquire(3) == 0);
    auto* page = two.map();
    page[0] = 1;
    CHECK(two.port.close(two.fd) == 0);
    CHECK(page[0] == 0);
    CHECK(Store(*kernel, 4).acquire(3) == -ENOENT);
}

TEST_CASE("a host without memory for them has fewer", "[sim][datastore]") {
    SimOptions options;
    options.host_memory = Bytes{3u << 18};
    const auto kernel = std::move(*SimKernel::make(options));
    std::deque<Store> stores;
    for (int i = 0; i < 4; ++i) stores.emplace_back(*kernel, 100 + i);
    CHECK(stores[0].acquire() == 0);
    CHECK(stores[1].acquire() == 0);
    CHECK(stores[2].acquire() == 0);
    CHECK(stores[3].acquire() == -ENOMEM);
}

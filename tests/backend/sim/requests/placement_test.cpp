// SPDX-License-Identifier: Apache-2.0
// Where an address lies on the devices.
#include "neuronbook/backend/sim/requests/placement.hpp"

#include <cerrno>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

struct Place {
    std::int64_t answer;
    std::int32_t device, hbm;
    friend bool operator==(const Place&, const Place&) = default;
};

Place place(SimPort port, int fd, const void* va, std::uint32_t word = uapi::kGetVaPlacement) {
    uapi::GetVaPlacement ask{reinterpret_cast<std::uint64_t>(va), 7, 7};
    const auto answer = port.ioctl(fd, word, &ask);
    return {answer, ask.device_index, ask.hbm_index};
}

constexpr Place kNowhere{-ENXIO, -1, -1};

} // namespace

TEST_CASE("an address of a device mapping has a device and an HBM", "[sim][placement]") {
    const auto kernel = make_kernel("trn1.32xlarge");
    Process near(*kernel, 1);
    Process far(*kernel, 1, Access::ReadWrite, "/dev/neuron9");
    Process discovery(*kernel, 1, Access::WriteOnly);
    const auto size = Bytes{2 << 20};
    const auto one = near.port.map(near.fd, size, true, near.pa(near.allocate(2 << 20, 0, 1)));
    const auto two = far.port.map(far.fd, size, true, far.pa(far.allocate(2 << 20, 0, 0)));
    REQUIRE((one.error == 0 && two.error == 0));
    const auto* at = static_cast<const char*>(one.address);
    CHECK(place(near.port, near.fd, at) == Place{0, 0, 1});
    CHECK(place(near.port, near.fd, at + (2 << 20) - 1) == Place{0, 0, 1});
    CHECK(place(near.port, near.fd, two.address) == Place{0, 9, 0}); // of any device
    CHECK(place(discovery.port, discovery.fd, at) == Place{0, 0, 1});
    // by its number alone
    CHECK(place(near.port, near.fd, at, 0x40084E83u) == Place{0, 0, 1});
    CHECK(place(near.port, near.fd, at, 0x80104E83u) == Place{0, 0, 1});
    // a hole does not show
    CHECK(near.port.unmap(static_cast<char*>(one.address) + 4096, Bytes{4096}) == 0);
    CHECK(place(near.port, near.fd, at + 4096) == Place{0, 0, 1});
    CHECK(place(near.port.child(2), near.fd, at) == kNowhere);
    CHECK(place(near.port, near.fd, nullptr) == kNowhere);
    CHECK(place(near.port, near.fd, &kernel) == kNowhere);
    CHECK(place(near.port, near.fd, reinterpret_cast<void*>(0xffff888000000000)) == kNowhere);
    CHECK(far.port.close(far.fd) == 0); // the last close there
    CHECK(place(near.port, near.fd, two.address) == kNowhere);
    near.port.unmap(one.address, size);
    far.port.unmap(two.address, size);
}

TEST_CASE("host memory, registers and the driver's own piece have no place", "[sim][placement]") {
    const auto kernel = make_kernel("trn2.3xlarge", GENERATE("2.26.5", "2.30.2"));
    Process process(*kernel);
    const auto nowhere = [&](std::uint64_t offset, std::uint64_t length) {
        const auto mapping = process.port.map(process.fd, Bytes{length}, false, offset);
        REQUIRE(mapping.error == 0);
        const auto found = place(process.port, process.fd, mapping.address);
        process.port.unmap(mapping.address, Bytes{length});
        return found == kNowhere;
    };
    CHECK(nowhere(process.pa(process.allocate_host(8192)), 8192));
    CHECK(nowhere(0x2002700000, 0x2000));
    CHECK(nowhere(0x4000000000, 16 << 20));    // the carve-out
    CHECK(nowhere(0x4000000000, 0x600000000)); // a whole HBM
}

TEST_CASE("the argument of a placement must be readable; 2.24 does not know the request",
          "[sim][placement]") {
    const auto ask_null = [](const char* driver) {
        const auto kernel = make_kernel("trn1.2xlarge", driver);
        return Process(*kernel).ask(uapi::kGetVaPlacement, nullptr);
    };
    CHECK(ask_null("2.24.7") == -EINVAL);
    CHECK(ask_null("2.26.5") == 16);
    CHECK(ask_null("2.30.2") == -EFAULT);
}

// SPDX-License-Identifier: Apache-2.0
// What the module's parameters change.
#include "neuronbook/backend/sim/machine/parameters.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::unique_ptr<SimKernel> with(const SimParameters& parameters,
                                const char* instance = "trn1.2xlarge",
                                const char* driver = "2.26.5") {
    SimOptions options{.instance = instance, .driver_version = driver};
    options.parameters = parameters;
    auto made = SimKernel::make(options);
    REQUIRE(made);
    return *std::move(made);
}

std::string refusal(const SimParameters& parameters, const char* driver = "2.26.5") {
    SimOptions options{.driver_version = driver};
    options.parameters = parameters;
    const auto made = SimKernel::make(options);
    if (made) return "taken";
    CHECK(made.error().detail == Detail::BadOption);
    return std::string(made.error().text.view());
}

const std::string kParameters = "/sys/module/neuron/parameters/";

} // namespace

TEST_CASE("the module refuses a granule that is not whole pages", "[sim][parameters]") {
    CHECK(refusal({.mempool_min_alloc_size = 1024}) == "mempool_min_alloc_size");
    CHECK(refusal({.mempool_min_alloc_size = 0}) == "mempool_min_alloc_size");
    CHECK(refusal({.mempool_min_alloc_size = 6144}) == "mempool_min_alloc_size");
    CHECK(refusal({.mempool_min_alloc_size = 12288}) == "taken");
    CHECK(refusal({.no_reset = 0x80000000}) == "no_reset");
}

TEST_CASE("a release takes only the parameters it has", "[sim][parameters]") {
    CHECK(refusal({.zerocopy_trn1_override = 1}, "2.24.7") == "zerocopy_trn1_override");
    CHECK(refusal({.zerocopy_trn1_override = 1}, "2.26.5") == "taken");
    CHECK(refusal({.userver_pds_node_cnt = 2}, "2.30.2") == "userver_pds_node_cnt");
    CHECK(refusal({.pds_reservation_id = 2}, "2.26.5") == "pds_reservation_id");
    CHECK(refusal({.reset_top_dma = 1}, "2.30.2") == "taken");
}

TEST_CASE("chunks show their pages and take whole granules", "[sim][parameters]") {
    const auto kernel = with({.mempool_min_alloc_size = 65536});
    Process process(*kernel);
    const auto first = process.allocate(4096);
    const auto second = process.allocate(4096);
    CHECK(process.pa(first) == 0x3c0000000);
    CHECK(process.pa(second) == 0x3c0010000);
    CHECK(kernel->census().user_memory().bytes == 8192);
    CHECK(process.pa(process.allocate(kMiB, 0x20000)) == 0x1000000);
    CHECK(process.pa(process.allocate(kMiB + 4096, 0)) == 0x1100000);
    CHECK(process.pa(process.allocate(kMiB, 0x20000)) == 0x1220000);
    const auto scratchpad = process.allocate(4096, 0, 0, 19);
    CHECK(process.pa(scratchpad) == 0x3bffff000);
    for (const auto handle : {first, second, scratchpad}) CHECK(process.free(handle) == 0);
    CHECK(process.pa(process.allocate(4096)) == 0x3c0000000);
}

TEST_CASE("a small pool that does not fit or divide is not made", "[sim][parameters]") {
    for (const auto& parameters :
         {SimParameters{.mempool_small_pool_size = 0},
          SimParameters{.mempool_small_pool_size = 16 * kGiB},
          SimParameters{.mempool_small_pool_size = kGiB + 1024},
          SimParameters{.mempool_min_alloc_size = 12288}}) { // 1 GiB is no multiple of it
        const auto kernel = with(parameters);
        Process process(*kernel);
        CHECK(process.pa(process.allocate(4096)) == 0x1000000);
        CHECK(process.pa(process.allocate(4096, 0, 0, 19)) == 16 * kGiB - 4096);
        CHECK(process.allocate(15 * kGiB + 512 * kMiB) != 0);
        CHECK(kernel->chunks(HostDeviceId{0}, 0).size() == 4);
    }
    const auto larger = with({.mempool_small_pool_size = 2 * kGiB});
    Process process(*larger);
    CHECK(process.pa(process.allocate(4096)) == 14 * kGiB);
}

TEST_CASE("a small pool may leave no room for what the driver keeps", "[sim][parameters]") {
    const auto kernel = with({.mempool_small_pool_size = 16 * kGiB - 4096});
    CHECK(kernel->chunks(HostDeviceId{0}, 0).empty());
    Process process(*kernel);
    CHECK(process.pa(process.allocate(4096)) == 4096);
    CHECK(process.pa(process.allocate(kMiB)) == 8192);
}

TEST_CASE("the limit of small chunks can be changed while the driver runs", "[sim][parameters]") {
    const auto kernel = with({.mempool_small_alloc_max = 8192});
    Process process(*kernel);
    CHECK(process.pa(process.allocate(8192)) == 15 * kGiB);
    CHECK(process.pa(process.allocate(12288)) == 0x1000000);
    const auto path = kParameters + "mempool_small_alloc_max";
    CHECK(kernel->write_file(path, "12288\n", FileUser::Other) == -EACCES);
    CHECK(kernel->write_file(path, "12288\n") == 6);
    CHECK(process.pa(process.allocate(12288)) == 15 * kGiB + 8192);
    std::array<char, 16> text{};
    CHECK(kernel->read_file(path, text, FileUser::Other) == -EACCES);
    CHECK(kernel->read_file(path, text) == 6);
    CHECK(std::string(text.data()) == "12288\n");
    for (const auto* bad : {"x", "", " 1", "1 ", "-1", "99999999999999999999"})
        CHECK(kernel->write_file(path, bad) == (*bad == 0 ? 0 : -EINVAL));
    CHECK(kernel->write_file(path, "2147483648") == -ERANGE);
}

TEST_CASE("the reserved host pools have the size that is asked for", "[sim][parameters]") {
    SimOptions options;
    options.host_memory = Bytes{64 * kMiB};
    options.parameters.mempool_host_memory_size = 4 * kMiB;
    options.faults.largest_host_piece = Bytes{4096};
    const auto kernel = std::move(*SimKernel::make(options));
    Process process(*kernel);
    int pieces = 0;
    while (process.allocate_host(2 * kMiB) != 0) ++pieces;
    CHECK(pieces == 2);
    CHECK(process.error == -ENOMEM);
    options.parameters.mempool_host_memory_size = 0;
    const auto none = std::move(*SimKernel::make(options));
    Process other(*none);
    CHECK(other.allocate_host(8192) == 0);
    CHECK(other.allocate_host(4096) != 0);
}

TEST_CASE("zero-copy on Trn1 is a parameter, and 2.30 says so among its features",
          "[sim][parameters]") {
    const SimParameters on{.zerocopy_trn1_override = 1};
    CHECK_FALSE(with({})->machine().zero_copy_works());
    CHECK(with(on)->machine().zero_copy_works());
    CHECK(with({}, "trn2.3xlarge")->machine().zero_copy_works());
    CHECK(with(on)->machine().features() == 0x1FF);
    CHECK(with({}, "trn1.2xlarge", "2.30.2")->machine().features() == 0x7FF);
    CHECK(with(on, "trn1.2xlarge", "2.30.2")->machine().features() == 0x1FFF);
    CHECK(with({.no_reset = 1})->machine().no_reset());
    CHECK_FALSE(with({})->machine().no_reset());
}

TEST_CASE("a driver can be told to be without what came later", "[sim][parameters]") {
    SimOptions options{.driver_version = "2.24.7"};
    options.without.requests = {115, 0x80384E66};
    options.without.features = 0xE0;
    const auto kernel = std::move(*SimKernel::make(options));
    Process process(*kernel);
    uapi::DeviceDriverInfo info;
    CHECK(process.ask(uapi::kDriverInfoGet, info) == 0);
    CHECK(info.feature_flags1 == 0x1F);
    uapi::HostDeviceIdToRidMap map;
    CHECK(process.ask(0xC1044E73, map) == -EINVAL);
    CHECK(process.allocate(4096) == 0);
    CHECK(process.error == -EINVAL);
    std::uint64_t handle = 0;
    uapi::MemAllocV2MemType older{};
    older.size = 4096;
    older.mem_handle = &handle;
    CHECK(process.ask(0x80304E66, older) == 0);
    CHECK(kernel->unknown() == std::vector<std::string>{"0xc1044e73", "0x80384e66"});
}

TEST_CASE("host memory that is short of large pieces still serves requests up to 2 MiB",
          "[sim][parameters]") {
    SimOptions options;
    options.faults.largest_host_piece = Bytes{65536};
    const auto kernel = std::move(*SimKernel::make(options));
    Process process(*kernel);
    const auto before = kernel->census();
    CHECK(process.allocate_host(65536) != 0);
    CHECK(process.allocate_host(2 * kMiB) != 0);
    CHECK(process.allocate_host(2 * kMiB + 4096) == 0);
    CHECK(process.error == -ENOMEM);
    CHECK(process.allocate(64 * kMiB) != 0); // device memory does not care
    CHECK(process.port.close(process.fd) == 0);
    Process again(*kernel);
    CHECK(kernel->census() == before);
}

TEST_CASE("the n-th allocation fails once, and nothing is lost", "[sim][parameters]") {
    for (const bool host : {false, true})
        for (std::uint64_t nth = 1; nth <= 4; ++nth) {
            const auto kernel = make_kernel();
            Process process(*kernel);
            kernel->set_faults(HostDeviceId{0}, {.failing_allocation = nth});
            for (std::uint64_t i = 1; i <= 4; ++i) {
                const auto before = kernel->census();
                const auto handle = host ? process.allocate_host(8192) : process.allocate(8192);
                CHECK((handle == 0) == (i == nth));
                CHECK(process.error == (i == nth ? -ENOMEM : 0));
                if (i == nth) CHECK(kernel->census() == before);
            }
            CHECK(kernel->census().user_memory().chunks == 3);
        }
}

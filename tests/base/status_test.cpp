// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <iterator>
#include <string_view>

#include "neuronbook/base/status.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

struct Row {
    std::int32_t number;
    std::string_view name;
};

// The documented NRT_STATUS list, without its prefix.
constexpr Row kDocumented[] = {
    {0, "SUCCESS"},
    {1, "FAILURE"},
    {2, "INVALID"},
    {3, "INVALID_HANDLE"},
    {4, "RESOURCE"},
    {5, "TIMEOUT"},
    {6, "HW_ERROR"},
    {7, "QUEUE_FULL"},
    {9, "LOAD_NOT_ENOUGH_NC"},
    {10, "UNSUPPORTED_NEFF_VERSION"},
    {11, "FAIL_HOST_MEM_ALLOC"},
    {13, "UNINITIALIZED"},
    {14, "CLOSED"},
    {15, "QUEUE_EMPTY"},
    {101, "EXEC_UNIT_UNRECOVERABLE"},
    {1002, "EXEC_BAD_INPUT"},
    {1003, "EXEC_COMPLETED_WITH_NUM_ERR"},
    {1004, "EXEC_COMPLETED_WITH_ERR"},
    {1005, "EXEC_NC_BUSY"},
    {1006, "EXEC_OOB"},
    {1100, "COLL_PENDING"},
    {1200, "EXEC_HW_ERR_COLLECTIVES"},
    {1201, "EXEC_HW_ERR_HBM_UE"},
    {1202, "EXEC_HW_ERR_NC_UE"},
    {1203, "EXEC_HW_ERR_DMA_ABORT"},
    {1204, "EXEC_SW_NQ_OVERFLOW"},
    {1205, "EXEC_HW_ERR_REPAIRABLE_HBM_UE"},
    {1206, "NETWORK_PROXY_FAILURE"},
};

} // namespace

TEST_CASE("every documented status has its number and name", "[base][status]") {
    for (const auto& row : kDocumented) {
        INFO(row.number);
        CHECK(name_of(static_cast<Status>(row.number)) == row.name);
    }
}

TEST_CASE("numbers without a status are unknown", "[base][status]") {
    std::size_t known = 0;
    for (std::int32_t number = -2; number < 2000; ++number)
        known += name_of(static_cast<Status>(number)) != "UNKNOWN";
    CHECK(known == std::size(kDocumented));
    CHECK(name_of(static_cast<Status>(8)) == "UNKNOWN");
    CHECK(name_of(static_cast<Status>(12)) == "UNKNOWN");
}

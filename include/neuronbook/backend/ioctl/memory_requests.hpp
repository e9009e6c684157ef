// SPDX-License-Identifier: Apache-2.0
//
// Requests about allocations that are there: the list of chunks, and what a refused one says.
// Owns: encoding, growing. Does not own: bounds (driver_rules.hpp), bytes (transfer_requests.hpp).
// Layer: backend.   Source: driver-abi.md 7.3
#pragma once

#include <cerrno>
#include <cstdint>
#include <vector>

#include "neuronbook/backend/driver.hpp"
#include "neuronbook/backend/ioctl/channel.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The driver's list of an HBM. It may grow between the answer that tells its length and the next
/// question, so the question is repeated a few times.
template <Port P>
Result<std::vector<ChunkRecord>> list_chunks(P& port, int fd, std::uint32_t hbm) {
    std::vector<uapi::MemChunkInfo> buffer(64);
    for (int attempt = 0;; ++attempt) {
        uapi::DumpMemChunks ask{.hbm_index = hbm,
                                .num_entries_in = static_cast<std::uint32_t>(buffer.size()),
                                .data = buffer.data()};
        auto done = request(port, fd, uapi::kDumpMemChunks, ask, Operation::Query);
        if (!done && done.error().os_error == EAGAIN && attempt < 16) {
            buffer.resize(ask.num_entries_out + ask.num_entries_out / 8 + 16);
            continue;
        }
        if (!done) return fail(done.error());
        std::vector<ChunkRecord> records;
        records.reserve(ask.num_entries_out);
        for (std::uint32_t i = 0; i < ask.num_entries_out; ++i)
            records.push_back(
                {DeviceAddress{buffer[i].pa}, Bytes{buffer[i].size}, buffer[i].mem_type});
        return records;
    }
}

/// The refusal of an allocation, with what was asked and where.
[[nodiscard]] inline Error allocation_error(const Geometry& geometry, const ChunkRequest& ask,
                                            Error error) {
    error.asked = ask.size.count();
    error.core = static_cast<std::int32_t>(ask.core.value());
    if (ask.location == MemoryLocation::Device) {
        error.hbm = static_cast<std::int32_t>(ask.hbm);
        error.limit = geometry.hbm_size.count();
    }
    return error;
}

} // namespace detail
} // namespace v0
} // namespace neuronbook

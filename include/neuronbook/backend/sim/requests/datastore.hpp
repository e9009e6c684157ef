// SPDX-License-Identifier: Apache-2.0
//
// Requests for a datastore, the pages in which a process publishes counters.
// Owns: their handlers. Does not own: whose each is (datastores.hpp), what the pages say.
// Layer: backend (simulated kernel).   Source: driver-abi.md 12 (measured: a process's own)
#pragma once

#include <cerrno>
#include <cstdint>

#include "neuronbook/backend/sim/device/datastores.hpp"
#include "neuronbook/backend/sim/lifecycle.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Its own, made if need be, or that of a process that has one. However often it is acquired, one
/// release gives it back. The pages are zero: the driver writes no signature.
inline std::int64_t acquire_datastore(Call& call) {
    uapi::NeuronDsInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    auto& stores = call.device.datastores;
    const bool own = ask.pid == 0;
    auto* entry = stores.find(own ? call.caller.pid : ask.pid);
    if (entry == nullptr && !own) return -ENOENT;
    if (entry == nullptr) entry = stores.take(call.caller.pid);
    if (entry == nullptr) return -ENOMEM;
    ask.mmap_offset = entry->pa;
    ask.size = Datastores::kSize;
    return call.copy_out(ask);
}

/// Says 0 whatever comes of it; nobody gives back what is another's.
inline std::int64_t release_datastore(Call& call) {
    uapi::NeuronDsInfo ask;
    if (const auto answer = call.copy_in(ask)) return answer;
    if (ask.pid != 0 && ask.pid != call.caller.pid) return 0;
    give_back_datastore(call.device, call.machine(), call.caller.pid);
    return 0;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook

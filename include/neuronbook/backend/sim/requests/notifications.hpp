// SPDX-License-Identifier: Apache-2.0
//
// Requests that set up notification queues.
// Owns: their handlers and checks. Does not own: the queues (notification_queues.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 12 (measured: a queue on the host)
#pragma once

#include <bit>
#include <cerrno>
#include <cstdint>
#include <type_traits>

#include "neuronbook/backend/sim/device/notification_queues.hpp"
#include "neuronbook/backend/sim/device/reset_thread.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// What the forms ask for, once they were read.
struct QueueAsk {
    QueueKey key{};
    std::uint32_t size = 0;
    bool on_host = true;
    std::uint32_t hbm = 0;
    bool force = false;
};

/// Owner and number are cut to 8 bits, so many a wrong one names another queue. 0 or minus an
/// errno.
inline std::int64_t check_queue(const MachineSpec& machine, QueueAsk& ask, std::uint32_t type) {
    constexpr std::uint32_t kEngines = 16;
    const bool of_core = ask.key.device == uapi::NqDeviceType::NeuronCore;
    const bool fewer = machine.at_least(Release::V2_30_2) && !machine.is(Architecture::Sunda);
    const std::uint32_t most = fewer ? 80 : 96;
    if (!of_core && ask.key.device != uapi::NqDeviceType::Topsp) return -ENOSYS;
    if ((ask.size & (ask.size - 1)) != 0) return -EINVAL; // 0 passes, and finds no memory
    ask.key.owner &= 0xFFu;
    const bool there =
        of_core ? machine.has_core(ask.key.owner) : ask.key.owner < machine.geometry().top_sps;
    if (!there) return -EINVAL;
    ask.key.number = (type * kEngines + (ask.key.number & 0xFFu)) & 0xFFu;
    return ask.key.number < most ? 0 : -EINVAL;
}

/// A chunk that outlives its process; its index, or minus an errno.
inline std::int64_t allocate_queue(Call& call, const QueueAsk& ask) {
    const bool of_core = ask.key.device == uapi::NqDeviceType::NeuronCore;
    const auto core = of_core ? ask.key.owner : ask.key.owner / top_sps_of_core(call.machine());
    const auto category =
        ask.on_host ? uapi::MemCategory::NotificationHost : uapi::MemCategory::NotificationDevice;
    return call.device.allocate({ask.size, ask.on_host ? 0 : ask.size, ask.on_host, ask.hbm, core,
                                 static_cast<std::uint32_t>(category)},
                                call.slot(), Lifetime::Device, Device::Naming::Later);
}

/// The queue, made if it is not there or a new chunk is asked for; null and `error` otherwise. The
/// old chunk goes after the new one is there.
inline NotificationQueue* set_up_queue(Call& call, const QueueAsk& ask, std::int64_t& error) {
    auto& device = call.device;
    auto* queue = device.notifications.find(ask.key);
    if (queue != nullptr && queue->freed)
        call.state.journal.crashes.add("notification queue that was freed by its handle is set up "
                                       "again: use after free");
    if (queue != nullptr && !ask.force) return queue;
    const auto made = allocate_queue(call, ask);
    if (made < 0) {
        error = made;
        return nullptr;
    }
    if (queue == nullptr)
        queue = &device.notifications.add({.key = ask.key});
    else if (!queue->freed)
        device.free(queue->chunk, call.slot());
    const auto index = static_cast<std::uint32_t>(made);
    auto& chunk = device.chunks[index];
    chunk.kept = true;
    *queue = {ask.key, index, chunk.pa, 0, chunk.on_host(), false};
    return queue;
}

/// The handle of a queue's chunk, made when it is first asked for; 0 when there is none left.
inline std::uint32_t name_queue(Device& device, NotificationQueue& queue) {
    if (!queue.freed) queue.handle = device.name(queue.chunk);
    return queue.handle;
}

/// Both newer forms.
template <class Form>
std::int64_t notifications_init_v2(Call& call) {
    constexpr std::uint64_t kNotMapped = ~std::uint64_t{0};
    Form form;
    if (const auto answer = call.copy_in(form)) return answer;
    QueueAsk ask{
        {static_cast<uapi::NqDeviceType>(form.nq_dev_type), form.nq_dev_id, form.engine_index},
        form.size,
        form.on_host_memory != 0,
        form.hbm_index,
        false};
    if constexpr (requires { form.force_alloc_mem; }) ask.force = form.force_alloc_mem != 0;
    if (const auto answer = check_queue(call.machine(), ask, form.nq_type)) return answer;
    std::int64_t error = 0;
    auto* queue = set_up_queue(call, ask, error);
    if (queue == nullptr) return error;
    form.mem_handle = name_queue(call.device, *queue);
    if (form.mem_handle == 0) return -ENOENT; // and the queue stays
    form.mmap_offset = queue->on_host ? queue->pa : kNotMapped;
    return call.copy_out(form);
}

/// The oldest form: a core's queue on the host, without a handle.
inline std::int64_t notifications_init_v1(Call& call) {
    uapi::NotificationsInitV1 form;
    if (const auto answer = call.copy_in(form)) return answer;
    QueueAsk ask{
        {uapi::NqDeviceType::NeuronCore, form.nc_id, form.engine_index}, form.size, true, 0, false};
    if (const auto answer = check_queue(call.machine(), ask, form.nq_type)) return answer;
    std::int64_t error = 0;
    const auto* queue = set_up_queue(call, ask, error);
    if (queue == nullptr) return error;
    form.mmap_offset = queue->on_host ? queue->pa : ~std::uint64_t{0};
    return call.copy_out(form);
}

} // namespace sim
} // namespace v0
} // namespace neuronbook

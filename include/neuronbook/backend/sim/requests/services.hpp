// SPDX-License-Identifier: Apache-2.0
//
// Which request word is served by what, on which lane, since when.
// Owns: the table. Does not own: the handlers (requests/).
// Layer: backend (simulated kernel).   Source: driver-abi.md 2.1, 2.3, 3
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/backend/sim/requests/apps.hpp"
#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/sim/requests/copy.hpp"
#include "neuronbook/backend/sim/requests/core_init.hpp"
#include "neuronbook/backend/sim/requests/cores.hpp"
#include "neuronbook/backend/sim/requests/datastore.hpp"
#include "neuronbook/backend/sim/requests/dma_buf.hpp"
#include "neuronbook/backend/sim/requests/dma_descriptors.hpp"
#include "neuronbook/backend/sim/requests/dma_rings.hpp"
#include "neuronbook/backend/sim/requests/firmware.hpp"
#include "neuronbook/backend/sim/requests/identity.hpp"
#include "neuronbook/backend/sim/requests/locks.hpp"
#include "neuronbook/backend/sim/requests/log.hpp"
#include "neuronbook/backend/sim/requests/map.hpp"
#include "neuronbook/backend/sim/requests/memory.hpp"
#include "neuronbook/backend/sim/requests/notifications.hpp"
#include "neuronbook/backend/sim/requests/pins.hpp"
#include "neuronbook/backend/sim/requests/placement.hpp"
#include "neuronbook/backend/sim/requests/pod.hpp"
#include "neuronbook/backend/sim/requests/power.hpp"
#include "neuronbook/backend/sim/requests/program.hpp"
#include "neuronbook/backend/sim/requests/queues.hpp"
#include "neuronbook/backend/sim/requests/registers.hpp"
#include "neuronbook/backend/sim/requests/resets.hpp"
#include "neuronbook/backend/sim/requests/scrub.hpp"
#include "neuronbook/backend/sim/requests/semaphores.hpp"
#include "neuronbook/backend/sim/requests/transfer.hpp"
#include "neuronbook/backend/sim/requests/zero_copy.hpp"
#include "neuronbook/backend/sim/requests/zero_copy_batches.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// How a request is recognised: by its whole word, or by its number alone.
enum class Match : std::uint8_t { Word, Number };
/// Where it is served: by attached files only, or on the free-access lane too.
enum class Lane : std::uint8_t { Device, Both };
/// Whether the handler table asks for attachment first.
enum class Attached : std::uint8_t { Any, Required };

/// One row.
struct Service {
    std::string_view name;
    std::uint32_t word;
    Match match;
    Lane lane;
    Attached attached;
    Release since;
    Release until;
    std::int64_t (*serve)(Call&);
};

namespace detail {

using enum Match;
using enum Lane;
using enum Attached;
inline constexpr auto k24 = Release::V2_24_7;
inline constexpr auto k26 = Release::V2_26_5;
inline constexpr auto k30 = Release::V2_30_2;

constexpr Service on_device(std::string_view name, std::uint32_t word, std::int64_t (*serve)(Call&),
                            Release since = k24) {
    return {name, word, Word, Lane::Device, Any, since, k30, serve};
}
constexpr Service checked(std::string_view name, std::uint32_t word, std::int64_t (*serve)(Call&)) {
    return {name, word, Word, Lane::Device, Required, k24, k30, serve};
}
constexpr Service on_both(std::string_view name, std::uint32_t word, std::int64_t (*serve)(Call&),
                          Release since = k24) {
    return {name, word, Word, Both, Any, since, k30, serve};
}
constexpr Service by_number(Service service) {
    service.match = Number;
    return service;
}
constexpr Service only(Release since, Release until, Service service) {
    service.since = since;
    service.until = until;
    return service;
}

} // namespace detail

inline constexpr auto kServices = [] {
    using namespace detail;
    namespace u = uapi;
    return std::array{
        on_device("DEVICE_RESET", u::kDeviceReset, device_reset),
        on_device("DEVICE_READY", u::kDeviceReady, device_ready),
        on_device("DEVICE_INFO", u::kDeviceInfo, device_info),
        on_device("DEVICE_INIT", u::kDeviceInit, nothing),
        on_device("DEVICE_RELEASE", u::kDeviceRelease, nothing),
        on_device("DEVICE_APP_PID", u::kDeviceAppPid, app_pid),
        on_device("DEVICE_GET_ALL_APPS_INFO", u::kDeviceGetAllAppsInfo, all_apps_info),
        on_device("BAR_READ", u::kBarRead, bar_read),
        checked("BAR_WRITE", u::kBarWrite, bar_write),
        checked("POST_METRIC", u::kPostMetric, post_metric),
        checked("MEM_ALLOC", u::kMemAlloc, allocate<u::MemAlloc>),
        checked("MEM_FREE", u::kMemFree, mem_free),
        checked("MEM_COPY", u::kMemCopy, copy_chunk<u::MemCopy>),
        on_device("MEM_COPY64 (40 bytes)", u::kMemCopy64Deprecated,
                  copy_chunk<u::MemCopy64Deprecated>),
        on_device("MEM_COPY64", u::kMemCopy64, copy_chunk<u::MemCopy64>, k30),
        on_device("MEM_BUF_COPY", u::kMemBufCopy, buf_copy<u::MemBufCopy>),
        on_device("MEM_BUF_COPY64", u::kMemBufCopy64, buf_copy<u::MemBufCopy64>),
        checked("MEM_GET_PA", u::kMemGetPa, get_pa),
        checked("MEM_GET_INFO", u::kMemGetInfo, get_info),
        on_device("PROGRAM_ENGINE", u::kProgramEngine, program_engine<u::ProgramEngine>),
        on_device("MEMSET", u::kMemset, fill_chunk<u::Memset>),
        on_device("MEMSET64", u::kMemset64, fill_chunk<u::Memset64>),
        on_device("MEM_GET_EXTENDED_INFO", u::kMemGetExtendedInfo, get_extended_info),
        checked("DMA_ENG_INIT", u::kDmaEngInit, nothing),
        checked("DMA_ENG_SET_STATE", u::kDmaEngSetState, set_engine_state),
        on_device("DMA_ENG_GET_STATE", u::kDmaEngGetState, get_engine_state),
        checked("DMA_QUEUE_INIT", u::kDmaQueueInit, dma_queue_init),
        checked("DMA_QUEUE_RELEASE", u::kDmaQueueRelease, nothing),
        on_device("DMA_QUEUE_COPY_START", u::kDmaQueueCopyStart, dma_copy_start),
        checked("DMA_ACK_COMPLETED", u::kDmaAckCompleted, dma_ack_completed),
        on_device("DMA_QUEUE_GET_STATE", u::kDmaQueueGetState, dma_queue_get_state),
        checked("DMA_COPY_DESCRIPTORS", u::kDmaCopyDescriptors,
                copy_descriptors<u::DmaCopyDescriptors>),
        on_device("DMA_COPY_DESCRIPTORS64", u::kDmaCopyDescriptors64,
                  copy_descriptors<u::DmaCopyDescriptors64>),
        on_device("DMA_DESCRIPTOR_COPYOUT", u::kDmaDescriptorCopyout, descriptor_copyout),
        on_device("DMA_QUIESCE_QUEUES", u::kDmaQuiesceQueues, quiesce_queues),
        on_device("SEMAPHORE_INCREMENT", u::kSemaphoreIncrement, semaphore_increment),
        on_device("SEMAPHORE_DECREMENT", u::kSemaphoreDecrement, semaphore_decrement),
        on_device("SEMAPHORE_READ", u::kSemaphoreRead, semaphore_read),
        on_device("SEMAPHORE_WRITE", u::kSemaphoreWrite, semaphore_write),
        on_device("EVENT_SET", u::kEventSet, event_set),
        on_device("EVENT_GET", u::kEventGet, event_get),
        checked("NOTIFICATIONS_INIT_V1", u::kNotificationsInitV1, notifications_init_v1),
        on_device("NOTIFICATIONS_DESTROY_V1", u::kNotificationsDestroyV1, nothing),
        checked("NOTIFICATIONS_INIT_V2", u::kNotificationsInitV2,
                notifications_init_v2<u::NotificationsInitV2>),
        checked("NOTIFICATIONS_INIT_WITH_REALLOC_V2", u::kNotificationsInitWithReallocV2,
                notifications_init_v2<u::NotificationsInitWithReallocV2>),
        on_device("NOTIFICATIONS_QUEUE_INFO", u::kNotificationsQueueInfo, notifications_queue_info),
        on_device("READ_HW_COUNTERS", u::kReadHwCounters, read_hw_counters),
        on_device("ACQUIRE_NEURON_DS", u::kAcquireNeuronDs, acquire_datastore),
        on_device("RELEASE_NEURON_DS", u::kReleaseNeuronDs, release_datastore),
        on_device("CRWL_READER_ENTER", u::kCrwlReaderEnter, crwl_reader_enter),
        on_device("CRWL_READER_EXIT", u::kCrwlReaderExit, crwl_reader_exit),
        on_device("CRWL_WRITER_ENTER", u::kCrwlWriterEnter, crwl_writer_enter),
        on_device("CRWL_WRITER_DOWNGRADE", u::kCrwlWriterDowngrade, crwl_writer_downgrade),
        on_both("CRWL_NC_RANGE_MARK", u::kCrwlNcRangeMark, mark_cores<u::CrwlNcMap>),
        on_both("CRWL_NC_RANGE_MARK_EXT0", u::kCrwlNcRangeMarkExt0, mark_cores<u::CrwlNcMapExt>),
        on_both("CRWL_NC_RANGE_UNMARK", u::kCrwlNcRangeUnmark, unmark_cores<u::CrwlNcMap>),
        on_both("CRWL_NC_RANGE_UNMARK_EXT0", u::kCrwlNcRangeUnmarkExt0,
                unmark_cores<u::CrwlNcMapExt>),
        on_device("CINIT_SET_STATE", u::kCinitSetState, cinit_set_state),
        on_device("NC_MODEL_STARTED_COUNT", u::kNcModelStartedCount, model_started_count),
        on_both("COMPATIBLE_VERSION", u::kCompatibleVersion, compatible_version),
        on_both("DEVICE_BASIC_INFO", u::kDeviceBasicInfo, basic_info),
        on_device("DEVICE_BDF", u::kDeviceBdf, device_bdf),
        on_device("MEM_ALLOC_V2", u::kMemAllocV2, allocate<u::MemAllocV2>),
        on_device("MEM_ALLOC_V2MT", u::kMemAllocV2mt, allocate<u::MemAllocV2MemType>),
        on_device("MEM_ALLOC_V2MT64", u::kMemAllocV2mt64, allocate<u::MemAllocV2MemType64>),
        on_device("MEM_ALLOC_V2MT64_PA", u::kMemAllocV2mt64Pa, allocate<u::MemAllocV2MemType64Pa>,
                  k30),
        on_device("NC_RESET", u::kNcReset, nc_reset),
        on_device("NC_RESET_READY", u::kNcResetReady, nc_reset_ready),
        on_device("PROGRAM_ENGINE_NC", u::kProgramEngineNc, program_engine<u::ProgramEngineNc>),
        on_device("PROGRAM_ENGINE_NC64", u::kProgramEngineNc64,
                  program_engine<u::ProgramEngineNc64>),
        on_device("DEVICE_RESET_STATUS", u::kDeviceResetStatus, device_reset_status),
        on_both("DEVICE_BDF_EXT", u::kDeviceBdfExt, device_bdf_ext),
        on_both("DMABUF_FD", u::kDmabufFd, dmabuf_fd),
        checked("MEM_COPY_ASYNC", u::kMemCopyAsync, copy_async<u::MemCopyAsync>),
        on_device("MEM_COPY_ASYNC64", u::kMemCopyAsync64, copy_async<u::MemCopyAsync64>),
        checked("MEM_COPY_ASYNC_WAIT", u::kMemCopyAsyncWait, copy_async_wait),
        by_number(on_both("DRIVER_INFO", u::kDriverInfoGet, driver_info)),
        by_number(on_device("MEM_MC_GET_INFO", u::kMemMcGetInfo, mc_get_info)),
        on_device("RESOURCE_MMAP_INFO", u::kResourceMmapInfo, resource_mmap_info),
        on_both("PRINTK", u::kPrintk, printk),
        on_device("HOST_DEVICE_ID", u::kHostDeviceId, host_device_id),
        by_number(on_both("HOST_DEVICE_ID_TO_RID_MAP", u::kHostDeviceIdToRidMap, routing_map)),
        on_device("DUMP_MEM_CHUNKS", u::kDumpMemChunks, dump_chunks),
        on_both("NC_PID_STATE_DUMP", u::kNcPidStateDump, pid_state_dump),
        on_device("HBM_SCRUB_START", u::kHbmScrubStart, scrub_start),
        on_device("HBM_SCRUB_WAIT", u::kHbmScrubWait, scrub_wait),
        on_both("GET_LOGICAL_TO_PHYSICAL_NC_MAP", u::kGetLogicalToPhysicalNcMap,
                logical_to_physical),
        by_number(on_both("POD_INFO", u::kPodInfo, pod_info)),
        by_number(on_both("POD_STATUS", u::kPodStatus, pod_status)),
        by_number(on_both("POD_CTRL", u::kPodCtrl, pod_ctrl)),
        only(k24, k24,
             by_number(on_device("MEM_BUF_ZEROCOPY64", u::kMemBufZerocopy64Form224, zero_copy_24))),
        only(k26, k26,
             by_number(on_device("MEM_BUF_ZEROCOPY64", u::kMemBufZerocopy64Deprecated,
                                 zero_copy<u::MemBufCopy64zcDeprecated>))),
        only(k30, k30,
             by_number(on_device("MEM_BUF_ZEROCOPY64", u::kMemBufZerocopy64,
                                 zero_copy<u::MemBufCopy64zc>))),
        on_device("H2T_DMA_ALLOC_QUEUES", u::kH2tDmaAllocQueues, alloc_queues, k26),
        on_device("H2T_DMA_FREE_QUEUES", u::kH2tDmaFreeQueues, free_queues, k26),
        on_device("POWER_PROFILE", u::kPowerProfile, power_profile, k26),
        on_device("METRICS_CTRL", u::kMetricsCtrl, metrics_ctrl, k26),
        on_device("MEM_BUF_ZEROCOPY64_BATCHES", u::kMemBufZerocopy64Batches, zero_copy_batches,
                  k26),
        on_device("THROTTLING_NOTIFICATIONS", u::kThrottlingNotifications, throttling_notifications,
                  k26),
        only(k26, k30, by_number(on_both("GET_VA_PLACEMENT", u::kGetVaPlacement, va_placement))),
        on_device("GET_PERFORMANCE_PROFILE", u::kGetPerformanceProfile, get_performance_profile,
                  k30),
        on_device("DMA_QUEUE_INIT_BATCH", u::kDmaQueueInitBatch, dma_queue_init_batch),
        on_device("AVAILABLE_PERF_PROFILES", u::kAvailablePerfProfiles, available_perf_profiles,
                  k30),
        on_device("GET_ASYNC_H2T_DMA_COMPL_QUEUES", u::kGetAsyncH2tDmaComplQueues,
                  completion_queues, k30),
        on_both("HOST_MEM_PIN", u::kHostMemPin, pin_host_memory, k30),
        on_both("HOST_MEM_UNPIN", u::kHostMemUnpin, unpin_host_memory, k30),
        on_both("DMABUF_FD_V2", u::kDmabufFdV2, dmabuf_fd_v2, k30),
        on_device("GET_BAR_INFO", u::kGetBarInfo, bar_info, k30),
    };
}();

/// First row of each request number; rows of one number stand together.
inline constexpr auto kFirstService = [] {
    std::array<std::uint8_t, 256> first{};
    for (auto& row : first) row = 0xFF;
    for (std::size_t i = kServices.size(); i-- > 0;)
        first[kServices[i].word & 0xFFu] = static_cast<std::uint8_t>(i);
    return first;
}();

static_assert(kServices.size() < 0xFF);

/// The row that serves a word under a release, or null for an unknown request.
[[nodiscard]] constexpr const Service* find_service(std::uint32_t word, Release release) {
    if ((word >> 8 & 0xFFu) != uapi::kIoctlType) return nullptr;
    const auto number = word & 0xFFu;
    for (std::size_t i = kFirstService[number];
         i < kServices.size() && (kServices[i].word & 0xFFu) == number; ++i) {
        const auto& row = kServices[i];
        if (release < row.since || release > row.until) continue;
        if (row.match == Match::Number || row.word == word) return &row;
    }
    return nullptr;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook

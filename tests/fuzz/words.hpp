// SPDX-License-Identifier: Apache-2.0
// Every request word, the size of its argument and what the argument is made of; made by
// generate_words.py, which says what the letters mean.
#pragma once

#include <array>
#include <cstdint>

namespace fuzz {

struct Word {
    std::uint32_t word;
    std::uint32_t size; ///< of the argument
    const char* layout;
};

// clang-format off
inline constexpr std::array kWords{
    Word{0x00004E01u, 0, ""}, // DEVICE_RESET
    Word{0x80014E02u, 1, "1"}, // DEVICE_READY
    Word{0x80084E03u, 80, "4444444*"}, // DEVICE_INFO
    Word{0x80084E04u, 4, "4"}, // DEVICE_INIT
    Word{0x00004E05u, 0, ""}, // DEVICE_RELEASE
    Word{0x80044E06u, 4, "4"}, // DEVICE_APP_PID
    Word{0x80084E07u, 16, "2__4t____"}, // DEVICE_GET_ALL_APPS_INFO
    Word{0x80084E0Bu, 32, "4____pp4____"}, // BAR_READ
    Word{0x40084E0Cu, 32, "4____pp4____"}, // BAR_WRITE
    Word{0x40084E0Du, 16, "p4____"}, // POST_METRIC
    Word{0x80084E15u, 32, "s4444p"}, // MEM_ALLOC
    Word{0x80084E16u, 8, "h"}, // MEM_FREE
    Word{0x80084E17u, 32, "hht44____"}, // MEM_COPY
    Word{0x80284E17u, 40, "hhs88"}, // MEM_COPY64_DEPRECATED
    Word{0x80384E17u, 56, "hhs888p"}, // MEM_COPY64
    Word{0xC0084E18u, 32, "hpt44____"}, // MEM_BUF_COPY
    Word{0xC0284E18u, 40, "hps84____"}, // MEM_BUF_COPY64
    Word{0x80084E19u, 16, "hp"}, // MEM_GET_PA
    Word{0x80084E1Au, 24, "hpp"}, // MEM_GET_INFO
    Word{0xC0084E1Bu, 24, "8pt4"}, // PROGRAM_ENGINE
    Word{0x80084E1Cu, 24, "h84t"}, // MEMSET
    Word{0x80204E1Cu, 32, "h84____s"}, // MEMSET64
    Word{0x80084E1Du, 48, "h44888s"}, // MEM_GET_EXTENDED_INFO
    Word{0x80084E1Eu, 4, "4"}, // DMA_ENG_INIT
    Word{0x80084E1Fu, 8, "44"}, // DMA_ENG_SET_STATE
    Word{0xC0084E20u, 16, "4____p"}, // DMA_ENG_GET_STATE
    Word{0x80084E21u, 48, "4444hhh4____"}, // DMA_QUEUE_INIT
    Word{0x80084E22u, 8, "44"}, // DMA_QUEUE_RELEASE
    Word{0x80084E23u, 16, "4444"}, // DMA_QUEUE_COPY_START
    Word{0x80084E24u, 12, "444"}, // DMA_ACK_COMPLETED
    Word{0xC0084E25u, 24, "44pp"}, // DMA_QUEUE_GET_STATE
    Word{0x80084E26u, 32, "hp444____"}, // DMA_COPY_DESCRIPTORS
    Word{0x80284E26u, 40, "hp4____84____"}, // DMA_COPY_DESCRIPTORS64
    Word{0xC0084E27u, 32, "44444____p"}, // DMA_DESCRIPTOR_COPYOUT
    Word{0x80084E28u, 264, "444444*"}, // DMA_QUIESCE_QUEUES
    Word{0x80084E29u, 12, "444"}, // SEMAPHORE_INCREMENT
    Word{0x80084E2Au, 12, "444"}, // SEMAPHORE_DECREMENT
    Word{0xC0084E2Bu, 12, "444"}, // SEMAPHORE_READ
    Word{0x80084E2Cu, 12, "444"}, // SEMAPHORE_WRITE
    Word{0x80084E2Du, 12, "444"}, // EVENT_SET
    Word{0xC0084E2Eu, 12, "444"}, // EVENT_GET
    Word{0x80084E33u, 24, "444t8"}, // NOTIFICATIONS_INIT_V1
    Word{0x80084E34u, 8, "8"}, // NOTIFICATIONS_DESTROY_V1
    Word{0x80084E35u, 48, "4444t4448h"}, // NOTIFICATIONS_INIT_V2
    Word{0x80084E36u, 56, "4444t4444____8h"}, // NOTIFICATIONS_INIT_WITH_REALLOC_V2
    Word{0x80084E3Au, 12, "111144"}, // NOTIFICATIONS_QUEUE_INFO
    Word{0x80084E3Du, 24, "pp4____"}, // READ_HW_COUNTERS
    Word{0x80084E47u, 24, "4____8t____"}, // ACQUIRE_NEURON_DS
    Word{0x80084E48u, 24, "4____8t____"}, // RELEASE_NEURON_DS
    Word{0x40084E51u, 36, "41111*"}, // CRWL_READER_ENTER
    Word{0x40084E52u, 36, "41111*"}, // CRWL_READER_EXIT
    Word{0x40084E53u, 36, "41111*"}, // CRWL_WRITER_ENTER
    Word{0x40084E54u, 36, "41111*"}, // CRWL_WRITER_DOWNGRADE
    Word{0x40084E55u, 24, "44448"}, // CRWL_NC_RANGE_MARK
    Word{0xC0504E55u, 80, "44448888*"}, // CRWL_NC_RANGE_MARK_EXT0
    Word{0x40084E56u, 24, "44448"}, // CRWL_NC_RANGE_UNMARK
    Word{0x40504E56u, 80, "44448888*"}, // CRWL_NC_RANGE_UNMARK_EXT0
    Word{0x40084E5Bu, 12, "444"}, // CINIT_SET_STATE
    Word{0x40084E5Cu, 16, "4____8"}, // NC_MODEL_STARTED_COUNT
    Word{0x40084E5Du, 8, "44"}, // COMPATIBLE_VERSION
    Word{0x40084E64u, 8, "44"}, // DEVICE_BASIC_INFO
    Word{0x80084E65u, 8, "411__"}, // DEVICE_BDF
    Word{0x80084E66u, 40, "s84444p"}, // MEM_ALLOC_V2
    Word{0x80304E66u, 48, "s844444____p"}, // MEM_ALLOC_V2MT
    Word{0x80384E66u, 56, "s844444____p4____"}, // MEM_ALLOC_V2MT64
    Word{0xC0404E66u, 64, "s844444____p4____8"}, // MEM_ALLOC_V2MT64_PA
    Word{0x80084E67u, 8, "44"}, // NC_RESET
    Word{0x80084E68u, 8, "44"}, // NC_RESET_READY
    Word{0xC0084E69u, 32, "4____8pt4"}, // PROGRAM_ENGINE_NC
    Word{0xC0284E69u, 40, "4____8ps8"}, // PROGRAM_ENGINE_NC64
    Word{0x80014E6Au, 1, "1"}, // DEVICE_RESET_STATUS
    Word{0x80084E6Au, 16, "44411__"}, // DEVICE_BDF_EXT
    Word{0x80084E6Bu, 24, "asp"}, // DMABUF_FD
    Word{0xC0304E6Cu, 48, "hht44____844"}, // MEM_COPY_ASYNC
    Word{0xC0384E6Cu, 56, "hhs88844"}, // MEM_COPY_ASYNC64
    Word{0x40184E6Du, 24, "hh4____"}, // MEM_COPY_ASYNC_WAIT
    Word{0x80184E6Eu, 24, "444t8"}, // DRIVER_INFO_GET
    Word{0x40184E6Eu, 24, "444t8"}, // DRIVER_INFO_SET
    Word{0xC0184E6Fu, 24, "88s"}, // MEM_MC_GET_INFO
    Word{0xC0204E6Fu, 32, "88sh"}, // MEM_MC_GET_INFO_V2
    Word{0xC0204E70u, 32, "444____8s"}, // RESOURCE_MMAP_INFO
    Word{0x40104E71u, 16, "pt4"}, // PRINTK
    Word{0x80044E72u, 4, "4"}, // HOST_DEVICE_ID
    Word{0xC1044E73u, 260, "44444*"}, // HOST_DEVICE_ID_TO_RID_MAP
    Word{0x80084E74u, 24, "444____p"}, // DUMP_MEM_CHUNKS
    Word{0xC0104E75u, 16, "t444"}, // NC_PID_STATE_DUMP
    Word{0xC0104E76u, 16, "4444"}, // HBM_SCRUB_START
    Word{0xC0084E77u, 8, "44"}, // HBM_SCRUB_WAIT
    Word{0xC0104E78u, 16, "p44"}, // GET_LOGICAL_TO_PHYSICAL_NC_MAP
    Word{0xC1044E79u, 260, "z11111*"}, // POD_INFO
    Word{0xC10C4E7Au, 268, "z1111*"}, // POD_STATUS
    Word{0xC1144E7Au, 276, "z1111*44"}, // POD_STATUS_V2
    Word{0xC0104E7Bu, 16, "z__444"}, // POD_CTRL
    Word{0xC0144E7Bu, 20, "z__4444"}, // POD_CTRL_V2
    Word{0xC0304E7Cu, 48, "hps84444"}, // MEM_BUF_ZEROCOPY64_DEPRECATED
    Word{0xC0404E7Cu, 64, "hps844448p"}, // MEM_BUF_ZEROCOPY64
    Word{0xC0144E7Du, 20, "z222444"}, // H2T_DMA_ALLOC_QUEUES
    Word{0xC0084E7Eu, 8, "z114"}, // H2T_DMA_FREE_QUEUES
    Word{0x40084E7Fu, 8, "z24"}, // POWER_PROFILE
    Word{0x40044E80u, 4, "4"}, // METRICS_CTRL
    Word{0xC0204E81u, 32, "8p42__42__"}, // MEM_BUF_ZEROCOPY64_BATCHES
    Word{0x40044E82u, 4, "4"}, // THROTTLING_NOTIFICATIONS
    Word{0x40104E83u, 16, "a44"}, // GET_VA_PLACEMENT
    Word{0xC0084E84u, 8, "z24"}, // GET_PERFORMANCE_PROFILE
    Word{0xB0084E85u, 12296, "4____4444hhh4____4444hhh4____4444hhh4____4444hhh4____*"}, // DMA_QUEUE_INIT_BATCH
    Word{0xC0244E86u, 36, "211111*"}, // AVAILABLE_PERF_PROFILES
    Word{0xC1084E87u, 264, "441111111111111111111111111111111111111111111111111111111111111111*"}, // GET_ASYNC_H2T_DMA_COMPL_QUEUES
    Word{0xC0184E88u, 24, "as8"}, // HOST_MEM_PIN
    Word{0x40084E89u, 8, "a"}, // HOST_MEM_UNPIN
    Word{0x80084E8Au, 32, "aspp"}, // DMABUF_FD_V2
    Word{0xC0C84E8Bu, 200, "444444*"}, // GET_BAR_INFO
};

/// What pointers of arguments point to.
inline constexpr std::array kTargets{
    Word{0, 40, "h8p422p"}, // neuron_memcpy_batch
    Word{0, 24, "8sp"}, // nrt_tensor_batch_op
    Word{0, 48, "4444hhh4____"}, // neuron_ioctl_dma_queue_init
};

/// Every size that some request word encodes.
inline constexpr std::array<std::uint32_t, 20> kSizes{
    0, 1, 4, 8, 16, 20, 24, 32, 36, 40, 48, 56, 64, 80, 200, 260, 264, 268, 276, 12296};
// clang-format on

} // namespace fuzz

// SPDX-License-Identifier: Apache-2.0
//
// The kernel driver's user ABI: request words, argument structures and the numbers inside them.
// Owns: the table, and nothing but the table. Does not own: which form of a request to send
// (ioctl_driver.hpp), nor what a request does (sim/).
// Layer: backend.   Source: tests/abi/ioctl-abi.json, which pins every line; no vendor header is
// copied, names and numbers are facts.
#pragma once

#include <cstdint>

// How to read the table:
//  - A request is `k` and the driver's name in CamelCase, its structure the same without `k` where
//    the driver names it so. The comment beside a request or a feature is the first driver release
//    with this very word or bit; all of them last up to 2.30 unless an end is given.
//  - Many words encode the size of a pointer, 8, although the argument is the structure itself, and
//    some numbers are shared by several requests. Only the whole 32-bit word names a request.
//  - Every hole is a member `reservedN` and every member starts as zero, so no indeterminate byte
//    reaches the kernel and two requests can be compared or recorded byte by byte.
//  - Field names are the newest driver's. Where a size changed, each size has its own structure.
//  - A pointer member is an address in the caller's memory, and the caller may be another process.

namespace neuronbook {
inline namespace v0 {
namespace uapi {

// --- Limits and special values ------------------------------------------------------------------

inline constexpr std::uint32_t kIoctlType = 0x4E; // the letter N in every request word
inline constexpr std::uint32_t kMaxDevices = 64;
inline constexpr std::uint32_t kMaxConnectedDevices = 8;
inline constexpr std::uint32_t kMaxProcessPerDevice = 16;
inline constexpr std::uint32_t kMaxBars = 2;
inline constexpr std::uint32_t kMaxBarEntries = 16;
inline constexpr std::uint32_t kNcMapMaxEntries = 128;
inline constexpr std::uint32_t kMaxDmaQueueInitBatch = 256;
inline constexpr std::uint32_t kDmaQuiesceMaxEng = 64;
inline constexpr std::uint32_t kAppInfoMaxModelsPerDevice = 4;
inline constexpr std::uint32_t kCoreSlots = 512; // bits in the range map: 64 devices of 8 cores
inline constexpr std::uint32_t kH2tQueues = 16;  // host-to-device queue numbers of one DMA engine

inline constexpr std::uint32_t kNcMapDevice = 0xFFFFFFFFu; // DeviceReset::nc_map: the whole device
inline constexpr std::int32_t kDmaH2tDefaultQid = -1;      // h2t_qid: the core's default queue
inline constexpr std::uint32_t kDeviceDriverInfoVersion0 = 0;

// --- Features: bits of DeviceDriverInfo::feature_flags1 -----------------------------------------
// A bit says that the driver knows the requests, not that the device can serve them: Zerocopy is
// set on second-generation devices too, where the DMA path of such copies is refused.

inline constexpr std::uint64_t kFeatureDmabuf = 0x1u;                // 2.12
inline constexpr std::uint64_t kFeatureAsyncDma = 0x2u;              // 2.12
inline constexpr std::uint64_t kFeatureBatchDmaqInit = 0x4u;         // 2.12
inline constexpr std::uint64_t kFeatureBigCoreMaps = 0x8u;           // 2.14
inline constexpr std::uint64_t kFeatureMemAllocType = 0x10u;         // 2.17
inline constexpr std::uint64_t kFeatureHbmScrub = 0x20u;             // 2.19
inline constexpr std::uint64_t kFeatureMemAlloc64 = 0x40u;           // 2.20
inline constexpr std::uint64_t kFeatureContiguousScratchpad = 0x80u; // 2.24
inline constexpr std::uint64_t kFeatureZerocopy = 0x100u;            // 2.25
inline constexpr std::uint64_t kFeaturePinnedHostMem = 0x200u;       // 2.28
inline constexpr std::uint64_t kFeatureAllocWithPa = 0x400u;         // 2.28
inline constexpr std::uint64_t kFeatureAsyncRw = 0x800u;             // 2.30, in 2.29 named ASYNC_IO
inline constexpr std::uint64_t kFeatureAsyncCopy = 0x1000u;          // 2.30

// --- Identity and versions ----------------------------------------------------------------------

inline constexpr std::uint32_t kDeviceInfo = 0x80084E03u;                // 1.1
inline constexpr std::uint32_t kDeviceBasicInfo = 0x40084E64u;           // 2.1
inline constexpr std::uint32_t kDeviceBdf = 0x80084E65u;                 // 2.2
inline constexpr std::uint32_t kDeviceBdfExt = 0x80084E6Au;              // 2.9
inline constexpr std::uint32_t kDriverInfoGet = 0x80184E6Eu;             // 2.12
inline constexpr std::uint32_t kDriverInfoSet = 0x40184E6Eu;             // 2.12
inline constexpr std::uint32_t kCompatibleVersion = 0x40084E5Du;         // 2.0
inline constexpr std::uint32_t kHostDeviceId = 0x80044E72u;              // 2.16
inline constexpr std::uint32_t kHostDeviceIdToRidMap = 0xC1044E73u;      // 2.16
inline constexpr std::uint32_t kGetLogicalToPhysicalNcMap = 0xC0104E78u; // 2.19
inline constexpr std::uint32_t kGetBarInfo = 0xC0C84E8Bu;                // 2.30

/// Numbering of logical cores. V1 came after 2.26, by 2.28.
enum class NcMappingType : std::uint32_t {
    V0 = 0,
    V1 = 1,
};

/// From 2.30 on.
enum class SwitchFabricBarType : std::uint32_t {
    Hbm = 1,
    Ctrl = 2,
    Ac = 3,
    Mc = 4,
};

struct NcMapEntry {
    std::uint32_t device_id = 0;
    std::uint32_t device_nc_idx = 0;
};

/// `num_entries` entries of NcMapEntry follow the structure.
struct NcMap {
    std::uint32_t num_entries = 0;
};

/// bar_address holds kernel addresses: of use for register access alone.
struct DeviceInfo {
    std::uint32_t architecture = 0;
    std::uint32_t revision = 0;
    std::uint32_t connected_device_count = 0;
    std::uint32_t connected_devices[8] = {};
    std::uint32_t reserved0 = 0;
    std::uint64_t bar_address[2] = {};
    std::uint64_t bar_size[2] = {};
};

struct DeviceBasicInfo {
    std::uint32_t architecture = 0;
    std::uint32_t revision = 0;
};

struct DeviceBdf {
    std::uint32_t bus_number = 0;
    std::uint8_t slot = 0;
    std::uint8_t func = 0;
    std::uint16_t reserved0 = 0;
};

/// nd_index is relative to the opened device.
struct DeviceBdfExt {
    std::uint32_t nd_index = 0;
    std::uint32_t domain = 0;
    std::uint32_t bus_number = 0;
    std::uint8_t slot = 0;
    std::uint8_t func = 0;
    std::uint16_t reserved0 = 0;
};

struct DeviceDriverInfo {
    std::uint32_t architecture = 0;
    std::uint32_t revision = 0;
    std::uint32_t version = 0;
    std::uint32_t size = 0;
    std::uint64_t feature_flags1 = 0;
};

/// max comes first.
struct CompatibleVersion {
    std::uint32_t max = 0;
    std::uint32_t min = 0;
};

struct HostDeviceId {
    std::uint32_t host_device_id = 0;
};

/// The request is accepted with exactly this size.
struct HostDeviceIdToRidMap {
    std::uint32_t count = 0;
    std::uint32_t host_did_to_rid_map[64] = {};
};

struct GetLogicalToPhysicalNcMap {
    NcMap* map = nullptr;
    std::uint32_t max_map_entries = 0;
    std::uint32_t mapping_version = 0;
};

struct GetBarInfo {
    std::uint32_t query_type = 0;
    std::uint32_t count = 0;
    std::uint32_t bar_types[16] = {};
    std::uint64_t bars[16] = {};
};

// --- Life of a device and of its cores ----------------------------------------------------------
// kDeviceReady and kDeviceResetStatus write one byte, kDeviceAppPid one std::int32_t; kDeviceReset
// and kDeviceRelease take no argument.

inline constexpr std::uint32_t kDeviceReset = 0x00004E01u;          // 1.1
inline constexpr std::uint32_t kDeviceReady = 0x80014E02u;          // 1.1
inline constexpr std::uint32_t kDeviceResetStatus = 0x80014E6Au;    // 2.6
inline constexpr std::uint32_t kDeviceInit = 0x80084E04u;           // 1.1
inline constexpr std::uint32_t kDeviceRelease = 0x00004E05u;        // 1.1
inline constexpr std::uint32_t kDeviceAppPid = 0x80044E06u;         // 1.1
inline constexpr std::uint32_t kDeviceGetAllAppsInfo = 0x80084E07u; // 2.0
inline constexpr std::uint32_t kNcReset = 0x80084E67u;              // 2.5
inline constexpr std::uint32_t kNcResetReady = 0x80084E68u;         // 2.5
inline constexpr std::uint32_t kCinitSetState = 0x40084E5Bu;        // 2.0
inline constexpr std::uint32_t kNcModelStartedCount = 0x40084E5Cu;  // 2.0

// GetAppsInfo::apps_info_flags.
inline constexpr std::uint32_t kAppInfoPidNcLockInfo = 1;
inline constexpr std::uint32_t kAppInfoPidMemUsage = 2;
inline constexpr std::uint32_t kAppInfoAll = 15;

/// State of the initialisation done once per core, which all processes share.
enum class CinitState : std::uint32_t {
    Started = 1,
    Completed = 2,
    Invalid = 3,
};

struct Uuid {
    std::uint8_t value[32] = {};
};

struct AppInfo {
    std::int32_t pid = 0;
    std::uint8_t nc_lock_map = 0;
    Uuid uuid_data[4] = {};
    std::uint8_t reserved0[3] = {};
    std::uint64_t host_mem_size = 0;
    std::uint64_t device_mem_size = 0;
};

struct DeviceInit {
    std::uint32_t mem_regions = 0;
};

/// `capacity` entries of AppInfo follow the structure.
struct alignas(8) GetAppsInfo {
    std::uint16_t apps_info_flags = 0;
    std::uint16_t reserved0 = 0;
    std::uint32_t capacity = 0;
    std::uint32_t size = 0;
    std::uint32_t reserved1 = 0;
};

/// Argument of kNcReset, not of kDeviceReset. The driver overwrites request_id with the caller's
/// process id.
struct DeviceReset {
    std::uint32_t nc_map = 0;
    std::uint32_t request_id = 0;
};

/// Argument of kNcResetReady, not of kDeviceReady.
struct DeviceReady {
    std::uint32_t request_id = 0;
    std::int32_t result = 0;
};

/// state is asked for, new_state is what the core is in afterwards.
struct CinitSet {
    std::uint32_t nc_id = 0;
    std::uint32_t state = 0;
    std::uint32_t new_state = 0;
};

struct NcModelStartedCount {
    std::uint32_t nc_id = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t started_count = 0;
};

// --- Claims on cores ----------------------------------------------------------------------------
// The reader/writer lock of one core, then the marks in the host-wide range map.

inline constexpr std::uint32_t kCrwlReaderEnter = 0x40084E51u;       // 2.0
inline constexpr std::uint32_t kCrwlReaderExit = 0x40084E52u;        // 2.0
inline constexpr std::uint32_t kCrwlWriterEnter = 0x40084E53u;       // 2.0
inline constexpr std::uint32_t kCrwlWriterDowngrade = 0x40084E54u;   // 2.0
inline constexpr std::uint32_t kCrwlNcRangeMark = 0x40084E55u;       // 2.0
inline constexpr std::uint32_t kCrwlNcRangeMarkExt0 = 0xC0504E55u;   // 2.14
inline constexpr std::uint32_t kCrwlNcRangeUnmark = 0x40084E56u;     // 2.0
inline constexpr std::uint32_t kCrwlNcRangeUnmarkExt0 = 0x40504E56u; // 2.14
inline constexpr std::uint32_t kNcPidStateDump = 0xC0104E75u;        // 2.18

/// Argument of the four kCrwlReader and kCrwlWriter requests.
struct Crwl {
    std::uint32_t nc_id = 0;
    Uuid uuid = {};
};

/// Indexes and bits are relative to the opened device; end_nc_index is inclusive.
struct CrwlNcMap {
    std::uint32_t nc_count = 0;
    std::uint32_t start_nc_index = 0;
    std::uint32_t end_nc_index = 0;
    std::uint32_t max_nc_available = 0;
    std::uint64_t bitmap = 0;
};

struct CrwlNcMapExt {
    std::uint32_t nc_count = 0;
    std::uint32_t start_nc_index = 0;
    std::uint32_t end_nc_index = 0;
    std::uint32_t max_nc_available = 0;
    std::uint64_t bitmap[8] = {};
};

struct NcPidStateDump {
    std::uint32_t size = 0;
    std::uint32_t nc_id = 0;
    std::uint32_t filter_log_owner = 0;
    std::uint32_t log_dump_limit = 0;
};

// --- Pods: servers joined into one --------------------------------------------------------------

inline constexpr std::uint32_t kPodInfo = 0xC1044E79u;     // 2.19
inline constexpr std::uint32_t kPodStatus = 0xC10C4E7Au;   // 2.19
inline constexpr std::uint32_t kPodStatusV2 = 0xC1144E7Au; // 2.23
inline constexpr std::uint32_t kPodCtrl = 0xC0104E7Bu;     // 2.20
inline constexpr std::uint32_t kPodCtrlV2 = 0xC0144E7Bu;   // 2.23

/// How the servers are joined.
enum class PodType : std::uint32_t {
    None = 0,
    P2p = 1,
    Switch = 2,
};

/// How far the election among them has come.
enum class PodState : std::uint32_t {
    NotStarted = 0,
    InProgress = 1,
    Ultraserver = 2,
    Failed = 3,
    SingleNode = 4,
};

/// PodCtrl::ctrl.
enum class PodCtrlReq : std::uint32_t {
    ReqPod = 0,
    ReqSingleNode = 1,
    ReqKill = 2,
    SetMode = 3,
};

/// PodCtrlV2::mode and PodStatusV2::mode.
enum class UltraserverMode : std::uint32_t {
    Unset = 0,
    X4 = 1,
    X2h = 2,
    X2v = 3,
    X1 = 4,
};

struct PodInfo {
    std::uint16_t sz = 0;
    std::uint8_t pod_type = 0;
    std::uint8_t pod_id[256] = {};
    std::uint8_t pod_sz = 0;
};

struct PodStatus {
    std::uint16_t sz = 0;
    std::uint8_t pod_id[256] = {};
    std::uint16_t reserved0 = 0;
    std::uint32_t state = 0;
    std::uint8_t pod_type = 0;
    std::uint8_t pod_sz = 0;
    std::int8_t node_id = 0;
    std::uint8_t reserved1 = 0;
};

struct PodStatusV2 {
    PodStatus v1 = {};
    std::uint32_t mode = 0;
    std::uint32_t modes_supported = 0;
};

struct PodCtrl {
    std::uint16_t sz = 0;
    std::uint16_t reserved0 = 0;
    std::uint32_t ctrl = 0;
    std::uint32_t timeout = 0;
    std::uint32_t state = 0;
};

struct PodCtrlV2 {
    PodCtrl v1 = {};
    std::uint32_t mode = 0;
};

// --- Memory: allocating, freeing, asking --------------------------------------------------------

inline constexpr std::uint32_t kMemAlloc = 0x80084E15u;           // 1.1
inline constexpr std::uint32_t kMemAllocV2 = 0x80084E66u;         // 2.3
inline constexpr std::uint32_t kMemAllocV2mt = 0x80304E66u;       // 2.17
inline constexpr std::uint32_t kMemAllocV2mt64 = 0x80384E66u;     // 2.20
inline constexpr std::uint32_t kMemAllocV2mt64Pa = 0xC0404E66u;   // 2.28
inline constexpr std::uint32_t kMemFree = 0x80084E16u;            // 1.1
inline constexpr std::uint32_t kMemGetPa = 0x80084E19u;           // 1.1
inline constexpr std::uint32_t kMemGetInfo = 0x80084E1Au;         // 2.1
inline constexpr std::uint32_t kMemGetExtendedInfo = 0x80084E1Du; // 2.0
inline constexpr std::uint32_t kMemMcGetInfo = 0xC0184E6Fu;       // 2.14
inline constexpr std::uint32_t kMemMcGetInfoV2 = 0xC0204E6Fu;     // 2.16
inline constexpr std::uint32_t kDumpMemChunks = 0x80084E74u;      // 2.18
inline constexpr std::uint32_t kGetVaPlacement = 0x40104E83u;     // 2.26
inline constexpr std::uint32_t kResourceMmapInfo = 0xC0204E70u;   // 2.14
inline constexpr std::uint32_t kDmabufFd = 0x80084E6Bu;           // 2.9
inline constexpr std::uint32_t kDmabufFdV2 = 0x80084E8Au;         // 2.29
inline constexpr std::uint32_t kHostMemPin = 0xC0184E88u;         // 2.28
inline constexpr std::uint32_t kHostMemUnpin = 0x40084E89u;       // 2.28
inline constexpr std::uint32_t kHbmScrubStart = 0xC0104E76u;      // 2.19
inline constexpr std::uint32_t kHbmScrubWait = 0xC0084E77u;       // 2.19

/// What a chunk is for (mem_type). It feeds the driver counters of that category and is not checked
/// against where the memory lies; Max and above is accepted and counted as uncategorised.
enum class MemCategory : std::uint32_t {
    UnknownHost = 0,
    CodeHost = 1,
    TensorsHost = 2,
    ConstantsHost = 3,
    MiscHost = 4,
    NcdevHost = 5,
    NotificationHost = 6,
    UnknownDevice = 7,
    CodeDevice = 8,
    TensorsDevice = 9,
    ConstantsDevice = 10,
    ScratchpadDevice = 11,
    MiscDevice = 12,
    NcdevDevice = 13,
    CollectivesDevice = 14,
    ScratchpadNonsharedDevice = 15,
    NotificationDevice = 16,
    DmaRingsHost = 17,
    DmaRingsDevice = 18,
    ContiguousScratchpadDevice = 19,
    Max = 20,
};

/// ResourceMmapInfo::block.
enum class DmBlockType : std::int32_t {
    Invalid = -1,
    Tpb = 0,
    Topsp = 1,
    Hbm = 2,
};

/// ResourceMmapInfo::resource.
enum class DmResourceType : std::uint32_t {
    Semaphore = 0,
    All = 1,
    Sbuf = 2,
    Dmem = 3,
};

/// mem_handle points to where the handle goes. In this form and the next three, drivers up to 2.26
/// at least call hbm_index and dram_region_unused dram_channel and dram_region.
struct MemAlloc {
    std::uint64_t size = 0;
    std::uint32_t host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t nc_id = 0;
    std::uint64_t* mem_handle = nullptr;
};

struct MemAllocV2 {
    std::uint64_t size = 0;
    std::uint64_t align = 0;
    std::uint32_t host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t nc_id = 0;
    std::uint64_t* mem_handle = nullptr;
};

struct MemAllocV2MemType {
    std::uint64_t size = 0;
    std::uint64_t align = 0;
    std::uint32_t host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t nc_id = 0;
    std::uint32_t mem_type = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t* mem_handle = nullptr;
};

/// Differs from the form before in its size alone; a driver that knows it copies with 64-bit sizes.
struct MemAllocV2MemType64 {
    std::uint64_t size = 0;
    std::uint64_t align = 0;
    std::uint32_t host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t nc_id = 0;
    std::uint32_t mem_type = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t* mem_handle = nullptr;
    std::uint32_t pad = 0;
    std::uint32_t reserved1 = 0;
};

/// The only form that is written back as a whole.
struct MemAllocV2MemType64Pa {
    std::uint64_t size = 0;
    std::uint64_t align = 0;
    std::uint32_t host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t nc_id = 0;
    std::uint32_t mem_type = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t* mem_handle = nullptr;
    std::uint32_t pad = 0;
    std::uint32_t reserved1 = 0;
    std::uint64_t pa = 0;
};

struct MemFree {
    std::uint64_t mem_handle = 0;
};

struct MemGetPa {
    std::uint64_t mem_handle = 0;
    std::uint64_t* pa = nullptr;
};

/// mmap_offset may be null.
struct MemGetInfo {
    std::uint64_t mem_handle = 0;
    std::uint64_t* mmap_offset = nullptr;
    std::uint64_t* pa = nullptr;
};

/// The answer overwrites mem_handle and version with values of no meaning.
struct MemGetExtendedInfo {
    std::uint64_t mem_handle = 0;
    std::uint32_t version = 0;
    std::uint32_t host_memory = 0;
    std::uint64_t mmap_offset = 0;
    std::uint64_t pa = 0;
    std::uint64_t pid = 0;
    std::uint64_t size = 0;
};

/// pa may be any address inside the chunk; the answer is its start and size.
struct MemGetMcMmapInfo {
    std::uint64_t pa = 0;
    std::uint64_t mmap_offset = 0;
    std::uint64_t size = 0;
};

struct MemGetMcMmapInfoV2 {
    std::uint64_t pa = 0;
    std::uint64_t mmap_offset = 0;
    std::uint64_t size = 0;
    std::uint64_t mem_handle = 0;
};

/// One entry of DumpMemChunks::data.
struct MemChunkInfo {
    std::uint64_t pa = 0;
    std::uint64_t size = 0;
    std::uint32_t mem_type = 0;
    std::uint32_t reserved0 = 0;
};

struct DumpMemChunks {
    std::uint32_t hbm_index = 0;
    std::uint32_t num_entries_in = 0;
    std::uint32_t num_entries_out = 0;
    std::uint32_t reserved0 = 0;
    MemChunkInfo* data = nullptr;
};

/// The driver looks at the number of this request alone. Both answers are -1 for an unknown
/// address.
struct GetVaPlacement {
    std::uint64_t va = 0;
    std::int32_t device_index = 0;
    std::int32_t hbm_index = 0;
};

struct ResourceMmapInfo {
    std::uint32_t block = 0;
    std::uint32_t block_id = 0;
    std::uint32_t resource = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// fd points to where the descriptor goes.
struct DmabufFd {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
    std::int32_t* fd = nullptr;
};

struct DmabufFdV2 {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
    std::int32_t* fd = nullptr;
    std::uint64_t* offset = nullptr;
};

struct HostMemPin {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
    std::uint64_t pa = 0;
};

struct HostMemUnpin {
    std::uint64_t va = 0;
};

/// Drivers up to 2.26 at least call axi_port_unused axi_port.
struct HbmScrubStart {
    std::uint32_t nc_id = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t axi_port_unused = 0;
    std::uint32_t init_val = 0;
};

struct HbmScrubWait {
    std::uint32_t nc_id = 0;
    std::uint32_t hbm_index = 0;
};

// --- Memory: moving data ------------------------------------------------------------------------
// Of the three words of number 124 a driver serves one: 40 bytes in 2.24, 48 in 2.25 to 2.28, 64
// from 2.29 on. Number 23 keeps its older words.

inline constexpr std::uint32_t kMemset = 0x80084E1Cu;                     // 2.0
inline constexpr std::uint32_t kMemset64 = 0x80204E1Cu;                   // 2.20
inline constexpr std::uint32_t kMemCopy = 0x80084E17u;                    // 1.1
inline constexpr std::uint32_t kMemCopy64Deprecated = 0x80284E17u;        // 2.20
inline constexpr std::uint32_t kMemCopy64 = 0x80384E17u;                  // 2.30
inline constexpr std::uint32_t kMemCopyAsync = 0xC0304E6Cu;               // 2.12
inline constexpr std::uint32_t kMemCopyAsync64 = 0xC0384E6Cu;             // 2.20
inline constexpr std::uint32_t kMemCopyAsyncWait = 0x40184E6Du;           // 2.12
inline constexpr std::uint32_t kMemBufCopy = 0xC0084E18u;                 // 1.1
inline constexpr std::uint32_t kMemBufCopy64 = 0xC0284E18u;               // 2.20
inline constexpr std::uint32_t kMemBufZerocopy64Form224 = 0xC0284E7Cu;    // 2.24 only, MemBufCopy64
inline constexpr std::uint32_t kMemBufZerocopy64Deprecated = 0xC0304E7Cu; // 2.25-2.28
inline constexpr std::uint32_t kMemBufZerocopy64 = 0xC0404E7Cu;           // 2.29
inline constexpr std::uint32_t kMemBufZerocopy64Batches = 0xC0204E81u;    // 2.25
inline constexpr std::uint32_t kH2tDmaAllocQueues = 0xC0144E7Du;          // 2.25
inline constexpr std::uint32_t kH2tDmaFreeQueues = 0xC0084E7Eu;           // 2.25
inline constexpr std::uint32_t kGetAsyncH2tDmaComplQueues = 0xC1084E87u;  // 2.28

/// Wait handles of asynchronous copies: None starts a chain, Sync does not return before the end.
enum class DmaH2tCtxHandleType : std::int32_t {
    None = -1,
    Sync = 0,
    Async1 = 1,
    Async2 = 2,
    Cnt = 3,
};

struct Memset {
    std::uint64_t mem_handle = 0;
    std::uint64_t offset = 0;
    std::uint32_t value = 0;
    std::uint32_t size = 0;
};

struct Memset64 {
    std::uint64_t mem_handle = 0;
    std::uint64_t offset = 0;
    std::uint32_t value = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t size = 0;
};

struct MemCopy {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint32_t size = 0;
    std::uint32_t src_offset = 0;
    std::uint32_t dst_offset = 0;
    std::uint32_t reserved0 = 0;
};

/// What 2.20 to 2.29 call MemCopy64; 2.30 still serves it.
struct MemCopy64Deprecated {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint64_t size = 0;
    std::uint64_t src_offset = 0;
    std::uint64_t dst_offset = 0;
};

/// sequence_num other than 0 queues a completion entry; the copy itself stays synchronous.
struct MemCopy64 {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint64_t size = 0;
    std::uint64_t src_offset = 0;
    std::uint64_t dst_offset = 0;
    std::uint64_t sequence_num = 0;
    void* context = nullptr;
};

/// pwait_handle takes the values of DmaH2tCtxHandleType.
struct MemCopyAsync {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint32_t size = 0;
    std::uint32_t src_offset = 0;
    std::uint32_t dst_offset = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t host_prefetch_addr = 0;
    std::uint32_t pwait_handle = 0;
    std::uint32_t wait_handle = 0;
};

struct MemCopyAsync64 {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint64_t size = 0;
    std::uint64_t src_offset = 0;
    std::uint64_t dst_offset = 0;
    std::uint64_t host_prefetch_addr = 0;
    std::uint32_t pwait_handle = 0;
    std::uint32_t wait_handle = 0;
};

struct MemCopyAsyncWait {
    std::uint64_t src_mem_handle = 0;
    std::uint64_t dst_mem_handle = 0;
    std::uint32_t pwait_handle = 0;
    std::uint32_t reserved0 = 0;
};

struct MemBufCopy {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint32_t size = 0;
    std::uint32_t offset = 0;
    std::uint32_t copy_to_mem_handle = 0;
    std::uint32_t reserved0 = 0;
};

/// Also the argument of kMemBufZerocopy64Form224.
struct MemBufCopy64 {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint32_t copy_to_mem_handle = 0;
    std::uint32_t reserved0 = 0;
};

/// The shape of 2.25 to 2.28, where it had the name of the 64-byte one.
struct MemBufCopy64zcDeprecated {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint32_t is_copy_to_device = 0;
    std::uint32_t bar4_wr_threshold = 0;
    std::int32_t h2t_qid = 0;
    std::uint32_t dummy = 0;
};

struct MemBufCopy64zc {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint32_t is_copy_to_device = 0;
    std::uint32_t bar4_wr_threshold = 0;
    std::int32_t h2t_qid = 0;
    std::uint32_t dummy = 0;
    std::uint64_t sequence_num = 0;
    void* context = nullptr;
};

/// One operation of a batch: `size` bytes at `offset` of the chunk.
struct NrtTensorBatchOp {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    void* buffer = nullptr;
};

/// One batch: operations on one chunk.
struct MemcpyBatch {
    std::uint64_t mem_handle = 0;
    std::uint64_t mem_handle_offset = 0;
    const NrtTensorBatchOp* ops_ptr = nullptr;
    std::uint32_t num_ops = 0;
    std::uint16_t bar4_wr_threshold = 0;
    std::uint16_t flags = 0;
    void* context = nullptr;
};

struct MemBufCopy64zcBatches {
    std::uint64_t sequence_num = 0;
    MemcpyBatch* batches_ptr = nullptr;
    std::uint32_t num_batches = 0;
    std::uint16_t is_copy_to_device = 0;
    std::uint16_t reserved0 = 0;
    std::int32_t h2t_qid = 0;
    std::uint16_t flags = 0;
    std::uint16_t reserved1 = 0;
};

struct H2tDmaAllocQueues {
    std::uint16_t sz = 0;
    std::uint16_t nc_id = 0;
    std::uint16_t copy_queue_cnt = 0;
    std::uint16_t service_queue_cnt = 0;
    std::uint32_t copy_queue_bmap = 0;
    std::uint32_t service_queue_bmap = 0;
    std::uint32_t copy_default_queue = 0;
};

struct H2tDmaFreeQueues {
    std::uint16_t sz = 0;
    std::uint8_t nc_id = 0;
    std::uint8_t fill0 = 0;
    std::uint32_t queue_bmap = 0;
};

struct ComplQueueInfo {
    std::uint64_t mmap_offset = 0;
    std::uint32_t mmap_size = 0;
    std::uint32_t reserved0 = 0;
};

struct GetAsyncH2tDmaComplQueues {
    std::uint32_t nc_id = 0;
    std::uint32_t qid_bitmap = 0;
    ComplQueueInfo compl_queue_info[16] = {};
};

/// One finished request. compl_ret is 0 or a negative error number.
struct H2dDmaComplQueueEntry {
    std::uint64_t sequence_num = 0;
    std::int64_t compl_ret = 0;
    void* context = nullptr;
};

/// Start of a mapped completion queue; `capacity` entries follow. The driver moves tail, the user
/// moves head; both run free.
struct alignas(8) H2dDmaComplQueue {
    std::uint32_t capacity = 0;
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t reserved0 = 0;
};

// --- DMA engines and their rings ----------------------------------------------------------------

inline constexpr std::uint32_t kDmaEngInit = 0x80084E1Eu;           // 1.1
inline constexpr std::uint32_t kDmaEngSetState = 0x80084E1Fu;       // 1.1
inline constexpr std::uint32_t kDmaEngGetState = 0xC0084E20u;       // 1.1
inline constexpr std::uint32_t kDmaQueueInit = 0x80084E21u;         // 1.1
inline constexpr std::uint32_t kDmaQueueInitBatch = 0xB0084E85u;    // 2.11
inline constexpr std::uint32_t kDmaQueueRelease = 0x80084E22u;      // 1.1
inline constexpr std::uint32_t kDmaQueueCopyStart = 0x80084E23u;    // 1.1
inline constexpr std::uint32_t kDmaAckCompleted = 0x80084E24u;      // 1.1
inline constexpr std::uint32_t kDmaQueueGetState = 0xC0084E25u;     // 1.1
inline constexpr std::uint32_t kDmaCopyDescriptors = 0x80084E26u;   // 1.1
inline constexpr std::uint32_t kDmaCopyDescriptors64 = 0x80284E26u; // 2.20
inline constexpr std::uint32_t kDmaDescriptorCopyout = 0xC0084E27u; // 1.1
inline constexpr std::uint32_t kDmaQuiesceQueues = 0x80084E28u;     // 2.5

enum class DmaQueueType : std::uint32_t {
    Tx = 0,
    Rx = 1,
    Completion = 2,
};

struct DmaEngState {
    std::uint32_t revision_id = 0;
    std::uint32_t max_queues = 0;
    std::uint32_t num_queues = 0;
    std::uint32_t tx_state = 0;
    std::uint32_t rx_state = 0;
};

struct DmaQueueState {
    std::uint32_t hw_status = 0;
    std::uint32_t sw_status = 0;
    std::uint64_t base_addr = 0;
    std::uint32_t length = 0;
    std::uint32_t head_pointer = 0;
    std::uint32_t tail_pointer = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t completion_base_addr = 0;
    std::uint32_t completion_head = 0;
    std::uint32_t reserved1 = 0;
};

struct DmaEngInit {
    std::uint32_t eng_id = 0;
};

struct DmaEngSetState {
    std::uint32_t eng_id = 0;
    std::uint32_t state = 0;
};

struct DmaEngGetState {
    std::uint32_t eng_id = 0;
    std::uint32_t reserved0 = 0;
    DmaEngState* state = nullptr;
};

/// Drivers up to 2.26 at least call axi_port_unused axi_port.
struct DmaQueueInit {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
    std::uint32_t tx_desc_count = 0;
    std::uint32_t rx_desc_count = 0;
    std::uint64_t tx_handle = 0;
    std::uint64_t rx_handle = 0;
    std::uint64_t rxc_handle = 0;
    std::uint32_t axi_port_unused = 0;
    std::uint32_t reserved0 = 0;
};

struct DmaQueueInitBatch {
    std::uint32_t count = 0;
    std::uint32_t reserved0 = 0;
    DmaQueueInit entries[256] = {};
};

struct DmaQueueRelease {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
};

struct DmaQueueCopyStart {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
    std::uint32_t tx_desc_count = 0;
    std::uint32_t rx_desc_count = 0;
};

struct DmaAckCompleted {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
    std::uint32_t count = 0;
};

struct DmaQueueGetState {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
    DmaQueueState* tx = nullptr;
    DmaQueueState* rx = nullptr;
};

struct DmaCopyDescriptors {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint32_t num_descs = 0;
    std::uint32_t offset = 0;
    std::uint32_t queue_type = 0;
    std::uint32_t reserved0 = 0;
};

struct DmaCopyDescriptors64 {
    std::uint64_t mem_handle = 0;
    void* buffer = nullptr;
    std::uint32_t num_descs = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t offset = 0;
    std::uint32_t queue_type = 0;
    std::uint32_t reserved1 = 0;
};

struct DmaDescriptorCopyout {
    std::uint32_t eng_id = 0;
    std::uint32_t qid = 0;
    std::uint32_t type = 0;
    std::uint32_t start_index = 0;
    std::uint32_t count = 0;
    std::uint32_t reserved0 = 0;
    void* buffer = nullptr;
};

/// Every driver up to 2.30 answers this request with an error.
struct DmaQuiesceQueues {
    std::uint32_t nc_id = 0;
    std::uint32_t engine_count = 0;
    std::uint32_t queue_mask[64] = {};
};

// --- Engine programs, registers and counters ----------------------------------------------------

inline constexpr std::uint32_t kProgramEngine = 0xC0084E1Bu;     // 2.1
inline constexpr std::uint32_t kProgramEngineNc = 0xC0084E69u;   // 2.5
inline constexpr std::uint32_t kProgramEngineNc64 = 0xC0284E69u; // 2.20
inline constexpr std::uint32_t kBarRead = 0x80084E0Bu;           // 1.1
inline constexpr std::uint32_t kBarWrite = 0x40084E0Cu;          // 1.1
inline constexpr std::uint32_t kReadHwCounters = 0x80084E3Du;    // 1.1
inline constexpr std::uint32_t kPostMetric = 0x40084E0Du;        // 1.1
inline constexpr std::uint32_t kPrintk = 0x40104E71u;            // 2.15

struct ProgramEngine {
    std::uint64_t dst = 0;
    void* buffer = nullptr;
    std::uint32_t size = 0;
    std::uint32_t offset = 0;
};

struct ProgramEngineNc {
    std::uint32_t nc_id = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t dst = 0;
    void* buffer = nullptr;
    std::uint32_t size = 0;
    std::uint32_t offset = 0;
};

struct ProgramEngineNc64 {
    std::uint32_t nc_id = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t dst = 0;
    void* buffer = nullptr;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
};

/// address and data point to `count` items each.
struct BarRw {
    std::uint32_t bar = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t* address = nullptr;
    std::uint32_t* data = nullptr;
    std::uint32_t count = 0;
    std::uint32_t reserved1 = 0;
};

struct ReadHwCounters {
    std::uint64_t* address = nullptr;
    std::uint32_t* data = nullptr;
    std::uint32_t count = 0;
    std::uint32_t reserved0 = 0;
};

struct PostMetric {
    std::uint32_t* data = nullptr;
    std::uint32_t data_size = 0;
    std::uint32_t reserved0 = 0;
};

/// Up to 512 bytes, the last of them zero.
struct Printk {
    void* buffer = nullptr;
    std::uint32_t size = 0;
    std::uint32_t action = 0;
};

// --- Semaphores, events and notification queues -------------------------------------------------

inline constexpr std::uint32_t kSemaphoreIncrement = 0x80084E29u;             // 1.1
inline constexpr std::uint32_t kSemaphoreDecrement = 0x80084E2Au;             // 1.1
inline constexpr std::uint32_t kSemaphoreRead = 0xC0084E2Bu;                  // 1.1
inline constexpr std::uint32_t kSemaphoreWrite = 0x80084E2Cu;                 // 1.1
inline constexpr std::uint32_t kEventSet = 0x80084E2Du;                       // 1.1
inline constexpr std::uint32_t kEventGet = 0xC0084E2Eu;                       // 1.1
inline constexpr std::uint32_t kNotificationsInitV1 = 0x80084E33u;            // 2.0
inline constexpr std::uint32_t kNotificationsDestroyV1 = 0x80084E34u;         // 2.0
inline constexpr std::uint32_t kNotificationsInitV2 = 0x80084E35u;            // 2.0
inline constexpr std::uint32_t kNotificationsInitWithReallocV2 = 0x80084E36u; // 2.5
inline constexpr std::uint32_t kNotificationsQueueInfo = 0x80084E3Au;         // 2.0

enum class NqDeviceType : std::uint32_t {
    NeuronCore = 0,
    Topsp = 1,
    Max = 2,
};

enum class NqType : std::uint32_t {
    Trace = 0,
    Notify = 1,
    Event = 2,
    Error = 3,
    TraceDma = 4,
    Throttle = 5,
    Max = 6,
};

/// Argument of the four kSemaphore requests.
struct Semaphore {
    std::uint32_t nc_id = 0;
    std::uint32_t semaphore_index = 0;
    std::uint32_t value = 0;
};

/// Argument of kEventSet and kEventGet.
struct Event {
    std::uint32_t nc_id = 0;
    std::uint32_t event_index = 0;
    std::uint32_t value = 0;
};

struct NotificationsInitV1 {
    std::uint32_t nc_id = 0;
    std::uint32_t nq_type = 0;
    std::uint32_t engine_index = 0;
    std::uint32_t size = 0;
    std::uint64_t mmap_offset = 0;
};

struct NotificationsDestroy {
    std::uint64_t mmap_offset = 0;
};

/// Here and in the next form hbm_index and dram_region_unused have the older names of MemAlloc too.
struct NotificationsInitV2 {
    std::uint32_t nq_dev_id = 0;
    std::uint32_t nq_dev_type = 0;
    std::uint32_t nq_type = 0;
    std::uint32_t engine_index = 0;
    std::uint32_t size = 0;
    std::uint32_t on_host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint64_t mmap_offset = 0;
    std::uint64_t mem_handle = 0;
};

struct NotificationsInitWithReallocV2 {
    std::uint32_t nq_dev_id = 0;
    std::uint32_t nq_dev_type = 0;
    std::uint32_t nq_type = 0;
    std::uint32_t engine_index = 0;
    std::uint32_t size = 0;
    std::uint32_t on_host_memory = 0;
    std::uint32_t hbm_index = 0;
    std::uint32_t dram_region_unused = 0;
    std::uint32_t force_alloc_mem = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t mmap_offset = 0;
    std::uint64_t mem_handle = 0;
};

struct NotificationsQueueInfo {
    std::uint8_t nq_dev_id = 0;
    std::uint8_t nq_dev_type = 0;
    std::uint8_t nq_type = 0;
    std::uint8_t engine_index = 0;
    std::uint32_t head = 0;
    std::uint32_t phase_bit = 0;
};

// --- Power, metrics and throttling --------------------------------------------------------------

inline constexpr std::uint32_t kPowerProfile = 0x40084E7Fu;            // 2.25
inline constexpr std::uint32_t kGetPerformanceProfile = 0xC0084E84u;   // 2.28
inline constexpr std::uint32_t kAvailablePerfProfiles = 0xC0244E86u;   // 2.28
inline constexpr std::uint32_t kMetricsCtrl = 0x40044E80u;             // 2.25
inline constexpr std::uint32_t kThrottlingNotifications = 0x40044E82u; // 2.26

/// From 2.25 on.
enum class MetricsMode : std::uint32_t {
    PeriodicEnable = 0,
    PeriodicDisable = 1,
};

/// Argument of kPowerProfile and kGetPerformanceProfile.
struct PowerProfile {
    std::uint16_t sz = 0;
    std::uint16_t ctrl = 0;
    std::uint32_t profile = 0;
};

struct AvailablePerfProfiles {
    std::uint16_t requested_feature = 0;
    std::uint8_t num_profiles = 0;
    std::uint8_t bitmap[32] = {};
    std::uint8_t reserved0 = 0;
};

struct MetricsCtrl {
    std::uint32_t mode = 0;
};

struct ThrottlingNotifications {
    std::uint32_t enable = 0;
};

// --- Datastore: counters a process publishes ----------------------------------------------------

inline constexpr std::uint32_t kAcquireNeuronDs = 0x80084E47u; // 2.0
inline constexpr std::uint32_t kReleaseNeuronDs = 0x80084E48u; // 2.0

inline constexpr std::int32_t kNdsInvalidId = -1;
inline constexpr std::uint32_t kNdsMaxNeuroncoreCount = 4;
inline constexpr std::uint32_t kNdsExtMaxNeuroncoreCount = 12;

// Byte offsets and sizes inside the mapping.
inline constexpr std::uint32_t kNdsHeaderStart = 0;
inline constexpr std::uint32_t kNdsHeaderSize = 8;
inline constexpr std::uint32_t kNdsNdCountersStart = 8;
inline constexpr std::uint32_t kNdsNdCountersSize = 248;
inline constexpr std::uint32_t kNdsNeuroncoreCountersStart = 256;
inline constexpr std::uint32_t kNdsNeuroncoreCountersSize = 992;
inline constexpr std::uint32_t kNdsExtOffset = 55936;
inline constexpr std::uint32_t kNdsExtAlignment = 64;
inline constexpr std::uint32_t kNdsExtNeuroncoreCountersStart = 55936;
inline constexpr std::uint32_t kNdsExtNeuroncoreCountersSize = 2048;
inline constexpr std::uint32_t kNdsExtNeuroncoreNcDataStart = 57984;
inline constexpr std::uint32_t kNdsExtNeuroncoreNcDataSize = 9216;

// Counts of 64-bit counters.
inline constexpr std::uint32_t kNdsNeuroncoreCountersCount = 31;
inline constexpr std::uint32_t kNdsExtNeuroncoreCountersCount = 64;
inline constexpr std::uint32_t kNdsExtNeuroncoreNcDataCount = 96;
inline constexpr std::uint32_t kNdsTotalNcCounterCount = 95;

/// Counters of a device.
enum class NdsNdCounter : std::uint32_t {
    RuntimeVersion = 0,
    FrameworkVersion = 1,
    FalVersion = 2,
    FeatureBitmap = 3,
    MinNeffVersion = 4,
    MaxNeffVersion = 5,
    MemUsageCodeHost = 6,
    MemUsageTensorsHost = 7,
    MemUsageConstantsHost = 8,
    MemUsageScratchpadHost = 9,
    MemUsageMiscHost = 10,
    DynamicSysfsMetricBitmap = 11,
    DeviceClusterId = 12,
    AggNeffId = 13,
    Last = 14,
    Count = 31,
};

/// Counters of a core, in the first section.
enum class NdsNcCounter : std::uint32_t {
    TimeInUse = 0,
    InferCompleted = 1,
    InferCompletedWithErr = 2,
    InferCompletedWithNumErr = 3,
    InferTimedOut = 4,
    InferIncorrectInput = 5,
    InferFailedToQueue = 6,
    ErrGeneric = 7,
    ErrNumerical = 8,
    ErrModel = 9,
    ErrTransient = 10,
    ErrHw = 11,
    ErrRt = 12,
    LatencyDevice = 13,
    LatencyTotal = 14,
    NcTime = 15,
    GenericFail = 16,
    ErrResource = 17,
    ErrResourceNc = 18,
    ErrInvalid = 19,
    ErrUnsupportedNeffVersion = 20,
    CcTime = 21,
    MemUsageCodeDevice = 22,
    MemUsageTensorsDevice = 23,
    MemUsageConstantsDevice = 24,
    MemUsageScratchpadDevice = 25,
    MemUsageMiscDevice = 26,
    ModelLoadCount = 27,
    InferenceCount = 28,
    MacCount = 29,
    Oob = 30,
    Count = 31,
};

/// Counters of a core, in the extended section; the numbers go on from NdsNcCounter.
enum class NdsExtNcCounter : std::uint32_t {
    HwErrCollectives = 31,
    HwErrHbmUe = 32,
    HwErrNcUe = 33,
    HwErrDmaAbort = 34,
    ErrSwNqOverflow = 35,
    ErrSwSemaphoreError = 36,
    ErrSwEventError = 37,
    ErrSwPsumCollision = 38,
    ErrSwSequencerFatal = 39,
    HwErrRepairableHbmUe = 40,
    Last = 41,
    Count = 64,
};

/// Start of a mapped datastore.
struct NdsHeader {
    char signature[4] = {};
    std::int32_t version = 0;
};

/// pid 0 asks for a new datastore of the caller.
struct NeuronDsInfo {
    std::int32_t pid = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t mmap_offset = 0;
    std::uint32_t size = 0;
    std::uint32_t reserved1 = 0;
};

} // namespace uapi
} // namespace v0
} // namespace neuronbook

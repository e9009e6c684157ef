// SPDX-License-Identifier: Apache-2.0
//
// The words of every error, in one table.
// Owns: sentences, names of operations and of errno numbers. Does not own: how they are filled in
// (describe.hpp). Layer: base.
//
// Notation. {name} is a field of the Error: text value limit count (asked, as a plain number) run
// (largest, too) elsewhere (free, too) lnc blocks cause errno device core hbm; as sizes: asked free
// largest others change value_bytes limit_bytes. {name|word} says `word` where the field says
// nothing. [...] is left out if a field in it says nothing.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

struct SentenceRow {
    Detail detail;
    std::string_view form;
};

inline constexpr std::array<SentenceRow, static_cast<std::size_t>(Detail::Count_)> kSentences{{
    {Detail::None, "failed[: {text}]"},
    // identity and lifetime
    {Detail::NotUp, "not up: bring the runtime up first[ ({text})]"},
    {Detail::AlreadyUp, "already initialized[ ({text})]"},
    {Detail::Forked, "this process was forked from the one that holds the devices, so it has none; "
                     "start a new program, or bring the runtime up after the fork"},
    {Detail::Closed, "the {text|runtime} was closed before"},
    // the machine
    {Detail::NoDriver, "the Neuron kernel driver is not loaded, {text|/sys/module/neuron} does not "
                       "exist: install aws-neuronx-dkms and load it (modprobe neuron); a container "
                       "needs it on the host"},
    {Detail::NoDevices,
     "the Neuron kernel driver is loaded, but there is no {text|/dev/neuron*}: "
     "pass the devices into the container (docker run --device=/dev/neuron0), or "
     "check with lspci that the instance has some[ ({errno})]"},
    {Detail::VersionUnreadable,
     "the driver's version in {text|/sys/module/neuron/version} cannot be read[ ({errno})]: mount "
     "/sys in the container, and check that the module is not half unloaded"},
    {Detail::DriverTooOld,
     "the kernel driver is too old: {text|number} {value}, at least {limit} is "
     "needed; update aws-neuronx-dkms"},
    {Detail::DriverTooNew,
     "the kernel driver is too new: {text|number} {value}, at most {limit} is "
     "supported; update this library"},
    {Detail::NotPermitted,
     "no permission to open {text|/dev/neuron*}[ ({errno})]: allow the user by "
     "a udev rule or the node's group, or run as root; a container may also "
     "need a device cgroup rule"},
    {Detail::DeviceGone, "{text|the device} has a node, but no device answers behind it[ "
                         "({errno})]: it failed or was removed; read the kernel log (dmesg)"},
    {Detail::DeviceFailedReset, "the device did not come back from its reset[ (cores, bit mask: "
                                "{value})]: read the kernel log (dmesg), then reload the driver or "
                                "restart the instance[; {text}]"},
    {Detail::DeviceInReset, "the device is being reset[: {text}]"},
    {Detail::AttachSlotsFull,
     "the device has no attach slot left, all {limit|16} are taken by other "
     "processes: end one of them[ ({text})]"},
    {Detail::UnknownInstance, "unknown instance type: '{text}'"},
    {Detail::UnknownArchitecture, "architecture {value} is not supported[: {text}]"},
    {Detail::UnknownFamily, "instance family {value} has no routing map here, and the driver gives "
                            "none[: {text}]"},
    {Detail::ImpossibleGeometry, "a device with {value} cores does not fit here, there is room for "
                                 "{limit} a device[: {text}]"},
    {Detail::TooManyDevices, "too many devices: {value}, a process can own {limit}"},
    {Detail::UnknownDriverVersion, "unknown driver version: '{text}'"},
    {Detail::NeverShipped, "there has never been such a combination[: {text}]"},
    // cores
    {Detail::DeviceOutOfRange, "device {value} is out of range, there are {limit}[: {text}]"},
    {Detail::CoreOutOfRange, "core {value} is out of range, there are {limit}[: {text}]"},
    {Detail::CoreNotOwned, "NC {core} from device: {device} does not belong to this process"},
    {Detail::CoreRangeInvalid, "bad range of cores[: {text}][, first core {value}][, {count} "
                               "cores][, the end is {limit}]"},
    {Detail::CoresBusy, "the cores are in use by another process: first core {value}, {count} "
                        "requested[, {limit} free][; {text}]"},
    {Detail::NotRegistered, "{text|device} {value} is not registered"},
    {Detail::SelfCheckFailed, "a self-check failed: {text|this is a bug} ({value})"},
    {Detail::Duplicate, "{text|number} {value} is there already"},
    {Detail::MarkTaken,
     "core {value} was this process's and is another's now: closing any descriptor of /dev/neuron* "
     "that was opened O_WRONLY drops all marks of the process, and the program closed one of its "
     "own; do not use the core any more"},
    // logical cores
    {Detail::LncNotInitialized, "lnc context has not been initialized yet"},
    {Detail::LncSizeInvalid, "Logical core size ({value}) must be a power of two and less than or "
                             "equal to {limit}[; {text}]"},
    {Detail::LncOnlyTwo, "Only LNC Size of 2 is supported at this moment on this instance type. "
                         "Requested LNC Size {value}[; {text}]"},
    {Detail::LncConflict, "NEURON_RT_VIRTUAL_CORE_SIZE and NEURON_LOGICAL_NC_CONFIG disagree: "
                          "{text}; set one of them, or both alike"},
    {Detail::NotInLogicalCore,
     "Failed to find physical core ND{device} NC{core} in logical core {value}"},
    {Detail::SubgraphOutOfRange, "Invalid sg id {value} for LNC size {limit}"},
    {Detail::CoreStringSyntax,
     "'{text}' does not name cores: ids and ranges like 3-5 with commas between them and nothing "
     "else are understood, this fails at character {value}"},
    {Detail::CoreStringBackwards, "'{text}' has a range that runs backwards at character {value}: "
                                  "the lower id comes first"},
    {Detail::CoreStringNotRising, "'{text}' names a core again, or a lower one after a higher, at "
                                  "character {value}: ids must be strictly increasing"},
    {Detail::CoreStringGap,
     "'{text}' leaves a gap before character {value}: the cores of a process "
     "must be contiguous"},
    {Detail::CoreCountSyntax, "'{text}' is not a number of cores: 0 for all, or a decimal number"},
    {Detail::CoresPastEnd,
     "'{text}' goes up to logical core {value}: ids must be below {limit} here[ (logical core size "
     "{lnc})]"},
    {Detail::MissingDevice, "'{text}' names cores of device {device}, which is not here: the cores "
                            "of a process must be on devices that it sees"},
    {Detail::LogicalCoresBusy,
     "in use by another process: {count} requested from logical core {value} on, {limit} "
     "available[, virtual core size {lnc}], {elsewhere} free elsewhere[; {text}]"},
    {Detail::NotEnoughCores,
     "not enough free cores: {count} logical cores in a row requested, {limit} available[, virtual "
     "core size {lnc}], {run} of them in a row[; {text}]"},
    // memory
    {Detail::ZeroSize, "a size of 0 cannot be allocated"},
    {Detail::BadAlignment,
     "bad alignment {value}: it must be a power of two up to {limit}[ for {text} "
     "memory]"},
    {Detail::LargerThanHbm, "{asked} can never fit, {text|device} memory there has {limit_bytes}"},
    {Detail::HbmOutOfRange, "HBM {value} is out of range, there are {limit}"},
    {Detail::UsageInvalid, "invalid usage type {value}[ for {text}]: there are {limit}"},
    {Detail::UsageNotHere, "invalid usage type {value} for {text|this} memory"},
    {Detail::OutOfDeviceMemory,
     "out of device memory: {asked} wanted[ for {text}]; this runtime holds {value_bytes} on the "
     "HBM[ of {limit_bytes}][, others {others}][; {free} free][, largest free block {largest}][ of "
     "{blocks}][: {cause}]"},
    {Detail::OutOfHostMemory, "out of host memory for the device: {asked} wanted[; at most "
                              "{limit_bytes}]"},
    {Detail::OutOfHandles,
     "the driver has no memory handle left: free blocks, or reload the driver"},
    {Detail::UnknownHandle, "no such memory: the handle {value} is empty, freed or another's"},
    {Detail::OutOfBounds,
     "offset {value} and size {count} are outside of the {limit} bytes there[: "
     "{text}]"},
    {Detail::NullPointer, "null pointer[: {text}]"},
    {Detail::TopOfHbmNotMappable,
     "memory at the very end of an HBM cannot be mapped with this driver: "
     "before 2.29 it would show other memory"},
    {Detail::Unmatched, "{asked} given back that were never taken here, {value_bytes} are booked[: "
                        "{text}]"},
    {Detail::CounterOverflow, "{asked} more than a counter can hold, {value_bytes} are booked[: "
                              "{text}]"},
    {Detail::OverBudget, "over the budget of the {text|core}: {asked} wanted, {value_bytes} of "
                         "{limit_bytes} are taken[, {free} are left]; the HBM may have room"},
    {Detail::PoolFull,
     "the pool is full: {asked} wanted; it has reserved {value_bytes} and may reserve "
     "{limit_bytes}, "
     "{free} of them are free, the largest block {largest}[ of {blocks}][, {others} wait for a "
     "queue]; give it more, or free blocks"},
    {Detail::TooManyChunks,
     "a pool tells {limit} chunks apart and has as many: let it grow by larger ones"},
    {Detail::StillShared, "the block has {value} handles, and only one that is alone can be moved"},
    {Detail::NotPageAligned,
     "{text|address} {value} is no multiple of {limit}, and a dma-buf begins "
     "with a page: share whole pages and tell the offset beside"},
    {Detail::NotMapped, "the range is not in one mapping of device memory of this process[ "
                        "({errno})][: address {value}][, {asked}]"},
    {Detail::OutOfDescriptors,
     "the process has no file descriptor left[ ({errno})]: close some, or "
     "raise its limit (ulimit -n)"},
    {Detail::OutOfQueueSlots,
     "the copy queue of the core has no slot left[ ({errno})]: wait for what "
     "is queued"},
    {Detail::ScratchpadCeiling, "the contiguous scratchpad of this HBM cannot grow: it has "
                                "{value_bytes}, {asked} more do not fit below it"},
    {Detail::ScratchpadOrder, "scratchpad memory is freed in reverse order only: this is chunk "
                              "{value}, the newest is chunk {limit}[: {text}]"},
    {Detail::RangesOverlap,
     "the {count} bytes from offset {value} and the {count} bytes from offset "
     "{limit} of the same memory overlap"},
    {Detail::OtherDevice,
     "memory of device {value} cannot be copied by device {limit}'s driver call: "
     "copy it through the host[: {text}]"},
    {Detail::Stopped, "stopped by the caller after {value} of {count} bytes"},
    {Detail::AsyncCopySize, "an asynchronous copy moves 1 to {limit} bytes at once, not {count}"},
    {Detail::CopyLost, "the driver no longer knows a copy that was started[ ({errno})]: the core "
                       "was reset, or another "
                       "process began copies on it; the bytes may not have arrived"},
    {Detail::CopiesEnded, "these copies are finished, by themselves or by a failure: begin anew"},
    {Detail::PieceOutOfBounds,
     "piece {value} of the batch: {count} bytes are outside of the {limit} bytes there[: {text}]"},
    {Detail::PieceRefused,
     "piece {value} of the batch: the driver refused[ with {errno}][: {text}]"},
    // models
    {Detail::NameTooLong, "a name of {value} bytes is too long, {limit} are allowed[: '{text}']"},
    {Detail::NameTaken, "the name '{text}' is taken already"},
    {Detail::UnknownFunction, "function {value} has no name here, {limit} have one"},
    {Detail::DescriptorOverflow,
     "{text|a counter} cannot pass {limit}: it is at {value}, {count} more were to be added"},
    {Detail::UnknownModel, "Unknown model {value}"},
    {Detail::UnknownModelName, "Unknown model '{text}'"},
    {Detail::ModelPresent, "Model: {value} already in the DB of nd{device}:nc{core}"},
    {Detail::ModelHeld, "model {value} was removed, but is still held (references: {count}): wait "
                        "for it again, nobody else gets it"},
    {Detail::ModelNameTooLong, "the model's name has {value} bytes, at most {limit} fit: '{text}'"},
    {Detail::OutOfModelHandles, "no model handle is left: {limit} models are loaded already"},
    // files and options
    {Detail::FileUnreadable, "{text|a file} cannot be read[ ({errno})]"},
    {Detail::FileEmpty, "{text|a file} is empty"},
    {Detail::BadOption, "bad option[: {text}][, value {value}][, limit {limit}]"},
    // the kernel's own answer
    {Detail::DriverErrno, "the driver refused with {errno}[: {text}]"},
    {Detail::DriverPositive, "the driver answered {value} where 0 means success: that many bytes "
                             "could not be copied, or an error without its sign[: {text}]"},
    {Detail::NotOnThisArchitecture,
     "the driver does not do this on this architecture[ ({errno})][: "
     "{text}]"},
    {Detail::NotOnThisDriver, "this driver is too old for {text|the request}"},
    {Detail::TimedOut, "timed out[ ({errno})][: {text}]"},
    {Detail::NotOnThisKernel, "this Linux kernel is too old for {text|the request}[ ({errno})]"},
}};

static_assert(
    [] {
        for (std::size_t i = 0; i < kSentences.size(); ++i)
            if (kSentences[i].detail != static_cast<Detail>(i) || kSentences[i].form.empty())
                return false;
        return true;
    }(),
    "describe: every Detail has a sentence, in the order of the enumeration");

[[nodiscard]] constexpr std::string_view sentence_of(Detail detail) noexcept {
    const auto i = static_cast<std::size_t>(detail);
    return kSentences[i < kSentences.size() ? i : 0].form;
}

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Operation::Count_)>
    kOperationNames{
        "",
        "bring-up",
        "read the driver version",
        "open the discovery lane",
        "open a device",
        "check compatibility",
        "read the topology",
        "choose cores",
        "claim cores",
        "release cores",
        "reset cores",
        "resolve a core",
        "allocate",
        "free",
        "query",
        "copy",
        "map",
        "share",
        "account",
        "simulate",
        "global runtime",
        "count descriptors",
        "load a model",
        "use a model",
        "remove a model",
    };

static_assert(!kOperationNames.back().empty(), "describe: every Operation has a name");

[[nodiscard]] constexpr std::string_view operation_name(Operation operation) noexcept {
    const auto i = static_cast<std::size_t>(operation);
    return i < kOperationNames.size() ? kOperationNames[i] : std::string_view{};
}

inline constexpr std::array<std::string_view, static_cast<std::size_t>(FailureCause::Count_)>
    kCauseNames{"unknown",
                "size",
                "fragmentation",
                "alignment",
                "budget of the core",
                "budget of the owner",
                "handles"};

static_assert(!kCauseNames.back().empty(), "describe: every FailureCause has a name");

struct ErrnoName {
    std::int32_t number;
    std::string_view name;
};

/// What the driver, the file system and mmap answer with. The last one is the kernel's own.
inline constexpr ErrnoName kErrnoNames[] = {
    {EPERM, "EPERM"},
    {ENOENT, "ENOENT"},
    {ESRCH, "ESRCH"},
    {EINTR, "EINTR"},
    {EIO, "EIO"},
    {ENXIO, "ENXIO"},
    {E2BIG, "E2BIG"},
    {EBADF, "EBADF"},
    {EAGAIN, "EAGAIN"},
    {ENOMEM, "ENOMEM"},
    {EACCES, "EACCES"},
    {EFAULT, "EFAULT"},
    {EBUSY, "EBUSY"},
    {EEXIST, "EEXIST"},
    {ENODEV, "ENODEV"},
    {ENOTDIR, "ENOTDIR"},
    {EISDIR, "EISDIR"},
    {EINVAL, "EINVAL"},
    {ENFILE, "ENFILE"},
    {EMFILE, "EMFILE"},
    {ENOTTY, "ENOTTY"},
    {EFBIG, "EFBIG"},
    {ENOSPC, "ENOSPC"},
    {ESPIPE, "ESPIPE"},
    {EROFS, "EROFS"},
    {EPIPE, "EPIPE"},
    {EDOM, "EDOM"},
    {ERANGE, "ERANGE"},
    {EDEADLK, "EDEADLK"},
    {ENAMETOOLONG, "ENAMETOOLONG"},
    {ENOSYS, "ENOSYS"},
    {ELOOP, "ELOOP"},
    {ENODATA, "ENODATA"},
    {ETIME, "ETIME"},
    {EPROTO, "EPROTO"},
    {EBADMSG, "EBADMSG"},
    {EOVERFLOW, "EOVERFLOW"},
    {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
    {EOPNOTSUPP, "EOPNOTSUPP"},
    {ETIMEDOUT, "ETIMEDOUT"},
    {EALREADY, "EALREADY"},
    {ECANCELED, "ECANCELED"},
    {EREMOTEIO, "EREMOTEIO"},
    {524, "ENOTSUPP(524)"},
};

/// Empty for a number that is not in the table.
[[nodiscard]] constexpr std::string_view errno_name(std::int32_t number) noexcept {
    for (const auto& row : kErrnoNames)
        if (row.number == number) return row.name;
    return {};
}

} // namespace detail
} // namespace v0
} // namespace neuronbook

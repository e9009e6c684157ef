// SPDX-License-Identifier: Apache-2.0
//
// Errors as values: Error is data with the numbers in it, Result carries it.
// Owns: what went wrong. Does not own: its wording (describe.hpp).
// Layer: base.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>

#include "neuronbook/base/status.hpp"

namespace neuronbook {
inline namespace v0 {

/// What was being done. Named in every text.
enum class Operation : std::uint8_t {
    None,
    BringUp,
    ReadVersion,
    OpenDoor,
    OpenDevice,
    CheckCompatibility,
    ReadTopology,
    ChooseCores,
    ClaimCores,
    ReleaseCores,
    ResetCores,
    Resolve,
    Allocate,
    Free,
    Query,
    Copy,
    Map,
    Share,
    Account,
    Simulate,
    Global,
    CountDescriptors,
    LoadModel,
    AcquireModel,
    RemoveModel,
    Count_,
};

/// Which rule was broken; finer than Status. The wording of each stands in describe.hpp.
enum class Detail : std::uint8_t {
    None,
    // identity and lifetime
    NotUp,
    AlreadyUp,
    Forked,
    Closed,
    // the machine
    NoDriver,
    NoDevices,
    VersionUnreadable,
    DriverTooOld,
    DriverTooNew,
    NotPermitted,
    DeviceGone,
    DeviceFailedReset,
    DeviceInReset,
    AttachSlotsFull,
    UnknownInstance,
    UnknownArchitecture,
    UnknownFamily,
    ImpossibleGeometry,
    TooManyDevices,
    UnknownDriverVersion,
    NeverShipped,
    // cores
    DeviceOutOfRange,
    CoreOutOfRange,
    CoreNotOwned,
    CoreRangeInvalid,
    CoresBusy,
    NotRegistered,
    SelfCheckFailed,
    Duplicate,
    MarkTaken,
    // logical cores
    LncNotInitialized,
    LncSizeInvalid,
    LncOnlyTwo,
    LncConflict,
    NotInLogicalCore,
    SubgraphOutOfRange,
    CoreStringSyntax,
    CoreStringBackwards,
    CoreStringNotRising,
    CoreStringGap,
    CoreCountSyntax,
    CoresPastEnd,
    MissingDevice,
    LogicalCoresBusy,
    NotEnoughCores,
    // memory
    ZeroSize,
    BadAlignment,
    LargerThanHbm,
    HbmOutOfRange,
    UsageInvalid,
    UsageNotHere,
    OutOfDeviceMemory,
    OutOfHostMemory,
    OutOfHandles,
    UnknownHandle,
    OutOfBounds,
    NullPointer,
    TopOfHbmNotMappable,
    Unmatched,
    CounterOverflow,
    OverBudget,
    PoolFull,
    TooManyChunks,
    StillShared,
    NotPageAligned,
    NotMapped,
    OutOfDescriptors,
    OutOfQueueSlots,
    ScratchpadCeiling,
    ScratchpadOrder,
    RangesOverlap,
    OtherDevice,
    Stopped,
    AsyncCopySize,
    CopyLost,
    CopiesEnded,
    PieceOutOfBounds,
    PieceRefused,
    // models
    NameTooLong,
    NameTaken,
    UnknownFunction,
    DescriptorOverflow,
    UnknownModel,
    UnknownModelName,
    ModelPresent,
    ModelHeld,
    ModelNameTooLong,
    OutOfModelHandles,
    // files and options
    FileUnreadable,
    FileEmpty,
    BadOption,
    // the kernel's own answer
    DriverErrno,
    DriverPositive,
    NotOnThisArchitecture,
    NotOnThisDriver,
    TimedOut,
    NotOnThisKernel,
    Count_,
};

/// Why memory could not be had; diagnosis.hpp finds it out.
enum class FailureCause : std::uint8_t {
    Unknown,       ///< nobody asked, or nobody can tell
    Size,          ///< fewer bytes are free than were asked for
    Fragmentation, ///< enough bytes are free, but not in one block
    Alignment,     ///< a block is large enough, but none at such an address
    CoreBudget,    ///< the core may not hold more
    OwnerBudget,   ///< the allocator may not hold more
    Handles,       ///< the driver can name no more chunks
    Count_,
};

/// The offending text (a path, a name, an option), copied; cut with an ellipsis when too long.
class ShortText {
public:
    static constexpr std::size_t kCapacity = 96;

    constexpr ShortText() noexcept = default;
    constexpr ShortText(std::string_view text) noexcept { // NOLINT: a text is what it holds
        const bool cut = text.size() > kCapacity;
        size_ = static_cast<std::uint8_t>(cut ? kCapacity : text.size());
        for (std::size_t i = 0; i < size_; ++i) chars_[i] = text[i];
        if (cut)
            for (std::size_t i = 1; i <= 3; ++i) chars_[kCapacity - i] = '.';
    }

    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {chars_.data(), size_};
    }

private:
    std::array<char, kCapacity> chars_{};
    std::uint8_t size_ = 0;
};

/// What went wrong, as data. Trivially copyable; fields that say nothing keep their defaults.
struct Error {
    static constexpr std::int32_t kNone = -1;

    Status status = Status::Failure;
    Operation operation = Operation::None;
    Detail detail = Detail::None;
    /// errno of the system call (524 is the driver's ENOTSUPP), or a positive return of ioctl; 0
    /// when no call was made.
    std::int32_t os_error = 0;
    std::int32_t device = kNone; ///< host device number, or the tree's slot where no host number is
    std::int32_t core = kNone;   ///< physical core within the device
    std::int32_t hbm = kNone;
    std::uint64_t value = 0;   ///< the number that broke the rule
    std::uint64_t limit = 0;   ///< the rule's bound
    std::uint64_t asked = 0;   ///< bytes asked; cores asked
    std::uint64_t free = 0;    ///< bytes free there; cores free elsewhere
    std::uint64_t largest = 0; ///< largest free block there, bytes; longest run of free cores
    std::uint32_t lnc = 0; ///< physical cores of a logical core, where logical cores are counted
    FailureCause cause = FailureCause::Unknown;
    std::uint32_t free_blocks = 0; ///< how many free blocks there are
    std::uint64_t others = 0;      ///< bytes others hold there
    /// The smallest change that would have made it fit, in bytes: how much less to ask (Size,
    /// Fragmentation), the alignment that works (Alignment), what the budget lacks; 0 for none.
    std::uint64_t change = 0;
    ShortText text{};
};

static_assert(std::is_trivially_copyable_v<Error>);

/// A value or an Error. std::expected of C++23 under its C++20 name.
template <class T>
using Result = tl::expected<T, Error>;

/// `return fail(error)` from any function that returns a Result.
[[nodiscard]] constexpr tl::unexpected<Error> fail(const Error& error) {
    return tl::unexpected<Error>(error);
}

} // namespace v0
} // namespace neuronbook

// SPDX-License-Identifier: Apache-2.0
//
// What a long copy tells its caller on the way.
// Owns: the reference to the caller's function. Does not own: that function.
// Layer: dmem.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "neuronbook/base/units.hpp"

namespace neuronbook {
inline namespace v0 {

/// What a copy does after it has told how far it is.
enum class AfterProgress : std::uint8_t { GoOn, Stop };

/// A function of the caller's that hears, after every 16 MiB and at the end, how many of a copy's
/// bytes are where they belong. It is called on the copying thread, with no lock of this library
/// held and nothing in flight, so it may start copies itself, or throw.
/// - AfterProgress::Stop before the end: the copy answers FAILURE with Detail::Stopped, value: the
///   bytes that arrived. (No status of the runtime means "cancelled", and INVALID would blame the
///   arguments.) At the end it changes nothing.
///
/// Only refers: a lambda written in the call lives as long as the call.
class ProgressRef {
public:
    /// Nobody listens.
    constexpr ProgressRef() noexcept = default;

    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, ProgressRef> &&
                 std::is_object_v<std::remove_reference_t<F>> &&
                 std::is_invocable_r_v<AfterProgress, F&, Bytes, Bytes>)
    constexpr ProgressRef(F&& function) noexcept // NOLINT: stands for the function
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
          call_([](void* object, Bytes done, Bytes total) -> AfterProgress {
              return (*static_cast<std::remove_reference_t<F>*>(object))(done, total);
          }) {}

    [[nodiscard]] explicit operator bool() const noexcept { return call_ != nullptr; }

    /// GoOn where nobody listens.
    [[nodiscard]] AfterProgress operator()(Bytes done, Bytes total) const {
        return call_ ? call_(object_, done, total) : AfterProgress::GoOn;
    }

private:
    void* object_ = nullptr;
    AfterProgress (*call_)(void*, Bytes, Bytes) = nullptr;
};

} // namespace v0
} // namespace neuronbook

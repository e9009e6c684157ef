// SPDX-License-Identifier: Apache-2.0
//
// Numbers for models, none of them twice at a time.
// Owns: which numbers are in use. Does not own: models. Layer: model.
// libnrt: tdrv_get_unique_h_model, last_model_handle. Source: tables.md 10
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"

namespace neuronbook {
inline namespace v0 {

class HandleMint;

/// A number that is in use as long as this lives, and no other model's meanwhile. Moves; what was
/// moved from has the number 0. Must not outlive its mint; the process's lives for ever.
class MintedHandle {
public:
    MintedHandle() noexcept = default;
    MintedHandle(MintedHandle&& other) noexcept
        : mint_(std::exchange(other.mint_, nullptr)), handle_(std::exchange(other.handle_, {})) {}
    MintedHandle& operator=(MintedHandle&& other) noexcept {
        std::swap(mint_, other.mint_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    inline ~MintedHandle();

    [[nodiscard]] ModelHandle value() const noexcept { return handle_; }

private:
    friend HandleMint;
    MintedHandle(HandleMint& mint, ModelHandle handle) noexcept : mint_(&mint), handle_(handle) {}

    HandleMint* mint_ = nullptr;
    ModelHandle handle_{};
};

/// Mints handles: each time the next number, after the last one 1 again, never 0. Numbers in use
/// stand in an array by their low bits, and a number whose place is taken is passed over. So none
/// is minted twice while it is in use, and all that are in use differ in their low bits, which is
/// what lets a database find a model with one look. The array is doubled before it is half full.
///
/// Thread safety: every member may be called from any thread. Memory is taken outside the lock.
/// Differs: the original counts on and takes no care of numbers that are in use.
class HandleMint {
public:
    /// How many numbers can be in use at a time.
    static constexpr std::uint32_t kMost = std::uint32_t{1} << 19;

    /// The first number minted is the one after `last`.
    explicit HandleMint(std::uint32_t last = 0) noexcept : last_(last) {}
    HandleMint(const HandleMint&) = delete;
    HandleMint& operator=(const HandleMint&) = delete;

    /// Errors: RESOURCE with OutOfModelHandles. std::bad_alloc passes through, nothing is minted.
    /// libnrt: tdrv_get_unique_h_model
    [[nodiscard]] Result<MintedHandle> mint() {
        std::unique_ptr<std::uint32_t[]> larger; // declared before the lock, freed after it
        for (std::size_t size = 0;;) {
            if (size != 0) larger = std::make_unique<std::uint32_t[]>(size);
            const std::lock_guard lock(mutex_);
            if (live_ >= kMost)
                return fail({.status = Status::Resource,
                             .operation = Operation::LoadModel,
                             .detail = Detail::OutOfModelHandles,
                             .limit = kMost});
            if (size > size_) adopt(larger, size);
            if ((live_ + 1) * std::size_t{2} <= size_) return MintedHandle(*this, next());
            size = size_ == 0 ? kFirst : size_ * 2;
        }
    }

    /// How many numbers are in use.
    [[nodiscard]] std::uint32_t live() const noexcept {
        const std::lock_guard lock(mutex_);
        return live_;
    }

private:
    friend MintedHandle;
    static constexpr std::size_t kFirst = 64;

    ModelHandle next() noexcept {
        do ++last_;
        while (last_ == 0 || places_[last_ & (size_ - 1)] != 0);
        places_[last_ & (size_ - 1)] = last_;
        ++live_;
        return ModelHandle{last_};
    }
    void give_back(ModelHandle handle) noexcept {
        const std::lock_guard lock(mutex_);
        places_[handle.value() & (size_ - 1)] = 0;
        --live_;
    }
    void adopt(std::unique_ptr<std::uint32_t[]>& larger, std::size_t size) noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            if (places_[i] != 0) larger[places_[i] & (size - 1)] = places_[i];
        places_.swap(larger);
        size_ = size;
    }

    mutable std::mutex mutex_;
    std::uint32_t last_;
    std::uint32_t live_ = 0;
    std::size_t size_ = 0;
    std::unique_ptr<std::uint32_t[]> places_; ///< 0: free
};

inline MintedHandle::~MintedHandle() {
    if (mint_) mint_->give_back(handle_);
}

} // namespace v0
} // namespace neuronbook

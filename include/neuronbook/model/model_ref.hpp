// SPDX-License-Identifier: Apache-2.0
//
// Keeping a model while it is used.
// Owns: one reference. Does not own: the model. Layer: model.
// libnrt: model_ref_decrement
#pragma once

#include <utility>

#include "neuronbook/model/counting.hpp"
#include "neuronbook/model/detail/count_cell.hpp"

namespace neuronbook {
inline namespace v0 {

namespace detail {
class RefAccess;
}

/// A reference to a model: while there is one, the model is there, removed or not. Moves; an empty
/// one holds nothing. May be given back on another thread than took it, and after the database's
/// end.
///
/// Thread safety: a reference belongs to one thread at a time; different ones need no care.
template <class T, CountPolicy Counts = SharedCount>
class ModelRef {
public:
    ModelRef() noexcept = default;
    ModelRef(ModelRef&& other) noexcept
        : cell_(std::exchange(other.cell_, nullptr)), token_(other.token_), model_(other.model_) {}
    ModelRef& operator=(ModelRef&& other) noexcept {
        if (this != &other) {
            release();
            cell_ = std::exchange(other.cell_, nullptr);
            token_ = other.token_;
            model_ = other.model_;
        }
        return *this;
    }
    ~ModelRef() { release(); }

    [[nodiscard]] explicit operator bool() const noexcept { return cell_ != nullptr; }
    /// Null for an empty one.
    [[nodiscard]] T* get() const noexcept { return cell_ ? model_ : nullptr; }
    /// Requires: not empty.
    [[nodiscard]] T& operator*() const noexcept { return *model_; }
    [[nodiscard]] T* operator->() const noexcept { return model_; }

    /// Effects: gives the reference back; empty afterwards. libnrt: model_ref_decrement
    void release() noexcept {
        if (auto* cell = std::exchange(cell_, nullptr)) Counts::drop(*cell, token_);
    }

private:
    friend detail::RefAccess;
    ModelRef(detail::CountCell& cell, typename Counts::Token token) noexcept
        : cell_(&cell), token_(token), model_(static_cast<T*>(cell.object)) {}

    detail::CountCell* cell_ = nullptr; ///< null: empty
    typename Counts::Token token_{};
    T* model_ = nullptr;
};

namespace detail {

/// For the database only.
class RefAccess {
public:
    /// The reference that a token stands for. Requires: the token was taken.
    template <class T, CountPolicy Counts>
    static ModelRef<T, Counts> hold(CountCell& cell, typename Counts::Token token) noexcept {
        return ModelRef<T, Counts>(cell, token);
    }
};

} // namespace detail
} // namespace v0
} // namespace neuronbook

// SPDX-License-Identifier: Apache-2.0
//
// What every model of a database has: handle, name, uuid, and its place in the database.
// Owns: those. Does not own: what a model consists of; that derives from it.
// Layer: model.   libnrt: h_model, ht_node. Source: tables.md 10
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/model/detail/count_cell.hpp"
#include "neuronbook/model/detail/key_index.hpp"
#include "neuronbook/model/handle_mint.hpp"

namespace neuronbook {
inline namespace v0 {

/// The uuid of a program as its compiler wrote it: 16 bytes, not interpreted.
using ModelUuid = std::array<std::byte, 16>;

/// Longest name of a model, in bytes. The original keeps it in 256, with a zero at the end.
inline constexpr std::size_t kMostModelName = 255;

namespace detail {

struct ByName;
struct ByUuid;
struct OnShelf;
class RecordAccess;

/// A base of its own, before the nodes: their keys look at it.
struct ModelNames {
    std::string name;
    ModelUuid uuid{};
};

} // namespace detail

/// Base of what a ModelDatabase holds. Handle, name and uuid never change. Neither copyable nor
/// movable. The handle is in use as long as the record lives, in a database or not.
///
/// Thread safety: what is here may be read from any thread that keeps the model alive.
///
/// libnrt: model_t.
class ModelRecord
    : private detail::ModelNames,
      public detail::KeyNode<detail::ByName>,
      public detail::KeyNode<detail::ByUuid>,
      public boost::intrusive::list_base_hook<boost::intrusive::tag<detail::OnShelf>> {
public:
    /// `handle` from process_handles().mint(). A name may be had by several models, a uuid too.
    ModelRecord(MintedHandle handle, std::string_view name, const ModelUuid& uuid = {})
        : ModelNames{std::string(name), uuid},
          KeyNode<detail::ByName>(NodeKey(std::string_view(ModelNames::name))),
          KeyNode<detail::ByUuid>(NodeKey(std::span<const std::byte>(ModelNames::uuid))),
          handle_(std::move(handle)) {}
    ModelRecord(const ModelRecord&) = delete;
    ModelRecord& operator=(const ModelRecord&) = delete;

    [[nodiscard]] ModelHandle handle() const noexcept { return handle_.value(); }
    [[nodiscard]] std::string_view name() const noexcept { return ModelNames::name; }
    [[nodiscard]] const ModelUuid& uuid() const noexcept { return ModelNames::uuid; }

private:
    friend detail::RecordAccess;

    MintedHandle handle_;
    detail::CountCell* cell_ = nullptr; ///< null while in no database
    std::uint64_t unlinked_ = 0;        ///< which unlinking of the database was its; 0: none
};

namespace detail {

/// For the database only.
class RecordAccess {
public:
    static CountCell*& cell(ModelRecord& record) noexcept { return record.cell_; }
    static std::uint64_t& unlinked(ModelRecord& record) noexcept { return record.unlinked_; }
};

} // namespace detail

} // namespace v0
} // namespace neuronbook

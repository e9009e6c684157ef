// SPDX-License-Identifier: Apache-2.0
//
// What a database answers when it refuses.
// Owns: status, detail and numbers of each. Does not own: the words (describe.hpp).
// Layer: model.
#pragma once

#include <cstdint>
#include <string_view>

#include "neuronbook/base/ids.hpp"
#include "neuronbook/base/result.hpp"
#include "neuronbook/model/handle_mint.hpp"
#include "neuronbook/model/model_record.hpp"

namespace neuronbook {
inline namespace v0 {
namespace detail {

/// The errors of one database, which name its core.
class ModelErrors {
public:
    explicit ModelErrors(PhysicalCore core) noexcept : core_(core) {}

    [[nodiscard]] PhysicalCore core() const noexcept { return core_; }

    [[nodiscard, gnu::cold, gnu::noinline]] Error unknown(Operation operation,
                                                          ModelHandle handle) const noexcept {
        return here(
            {.operation = operation, .detail = Detail::UnknownModel, .value = handle.value()});
    }
    [[nodiscard]] Error unknown(Operation operation, std::string_view name) const noexcept {
        return here({.operation = operation, .detail = Detail::UnknownModelName, .text = name});
    }
    [[nodiscard]] Error present(ModelHandle handle) const noexcept {
        return here({.status = Status::InvalidHandle,
                     .operation = Operation::LoadModel,
                     .detail = Detail::ModelPresent,
                     .value = handle.value()});
    }
    [[nodiscard]] Error held(ModelHandle handle, std::uint32_t references) const noexcept {
        return here({.status = Status::Timeout,
                     .operation = Operation::RemoveModel,
                     .detail = Detail::ModelHeld,
                     .value = handle.value(),
                     .asked = references});
    }
    [[nodiscard]] Error none_left() const noexcept {
        return here({.status = Status::Resource,
                     .operation = Operation::LoadModel,
                     .detail = Detail::OutOfModelHandles,
                     .limit = HandleMint::kMost});
    }
    [[nodiscard]] Error closed() const noexcept {
        return here({.status = Status::Closed,
                     .operation = Operation::LoadModel,
                     .detail = Detail::Closed,
                     .text = std::string_view("model database")});
    }
    [[nodiscard]] Error forked(Operation operation) const noexcept {
        return here(
            {.status = Status::Uninitialized, .operation = operation, .detail = Detail::Forked});
    }

    /// What is wrong with a model whatever else is loaded.
    [[nodiscard]] Result<void> check(const ModelRecord* model) const noexcept {
        if (!model)
            return fail(here({.status = Status::Invalid,
                              .operation = Operation::LoadModel,
                              .detail = Detail::NullPointer,
                              .text = std::string_view("model")}));
        if (model->handle() == ModelHandle{}) {
            auto error = unknown(Operation::LoadModel, model->handle());
            error.status = Status::InvalidHandle;
            return fail(error);
        }
        if (model->name().size() <= kMostModelName) return {};
        return fail(here({.status = Status::Invalid,
                          .operation = Operation::LoadModel,
                          .detail = Detail::ModelNameTooLong,
                          .value = model->name().size(),
                          .limit = kMostModelName,
                          .text = model->name()}));
    }

private:
    [[nodiscard]] Error here(Error error) const noexcept {
        error.device = static_cast<std::int32_t>(core_.device.value());
        error.core = static_cast<std::int32_t>(core_.core.value());
        return error;
    }

    PhysicalCore core_;
};

} // namespace detail
} // namespace v0
} // namespace neuronbook

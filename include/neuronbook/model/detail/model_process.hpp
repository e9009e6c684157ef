// SPDX-License-Identifier: Apache-2.0
//
// What the models of a process have in common, whichever shared object loaded them.
// Owns: the symbol it hangs on, and its making. Does not own: models.
// Layer: model.   libnrt: last_model_handle (where it lives)
#pragma once

#include <atomic>
#include <memory>

#include "neuronbook/model/detail/cell_pool.hpp"
#include "neuronbook/model/detail/thread_tables.hpp"
#include "neuronbook/model/handle_mint.hpp"

// One word for all shared objects of one version, as door_slot.hpp does it for the doors and for
// the same reasons: a handle means one model in the whole process, and a thread has one table of
// counts, so that its table goes when the thread does, whoever was unloaded before.
#ifdef _LIBCPP_VERSION
#define NEURONBOOK_MODELS "neuronbook_models_v0_libcxx"
#else
#define NEURONBOOK_MODELS "neuronbook_models_v0"
#endif

// clang-format off
__asm__(".pushsection .bss." NEURONBOOK_MODELS ",\"awG\",%nobits," NEURONBOOK_MODELS ",comdat\n"
        ".globl " NEURONBOOK_MODELS "\n"
        ".type " NEURONBOOK_MODELS ",%gnu_unique_object\n"
        ".size " NEURONBOOK_MODELS ",8\n"
        ".balign 8\n"
        NEURONBOOK_MODELS ":\n"
        ".zero 8\n"
        ".popsection\n");
// clang-format on

namespace neuronbook {
inline namespace v0 {
namespace detail {

class ModelProcess;

/// Null until the first handle or database of the process. Zero bytes are a null atomic pointer.
[[gnu::visibility("default")]] extern std::atomic<ModelProcess*>
    model_slot __asm__(NEURONBOOK_MODELS);
static_assert(sizeof(model_slot) == 8);

/// Made once and never destroyed: references may be given back after everything else has gone.
class ModelProcess {
public:
    /// std::bad_alloc passes through, the first time.
    static ModelProcess& here() {
        if (auto* process = model_slot.load(std::memory_order_acquire)) return *process;
        auto made = std::unique_ptr<ModelProcess>(new ModelProcess);
        ModelProcess* first = nullptr;
        if (model_slot.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel))
            return *made.release();
        return *first;
    }

    [[nodiscard]] HandleMint& handles() noexcept { return handles_; }
    [[nodiscard]] CellPool& cells() noexcept { return cells_; }

private:
    ModelProcess() noexcept = default;
    ~ModelProcess() = default;
    friend std::default_delete<ModelProcess>;

    HandleMint handles_;
    ThreadTables tables_;
    CellPool cells_{tables_};
};

} // namespace detail

/// The mint of the process, where every model gets its handle. libnrt: tdrv_get_unique_h_model
[[nodiscard]] inline HandleMint& process_handles() {
    return detail::ModelProcess::here().handles();
}

} // namespace v0
} // namespace neuronbook

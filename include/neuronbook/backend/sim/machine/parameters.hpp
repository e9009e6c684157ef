// SPDX-License-Identifier: Apache-2.0
//
// The module's parameters.
// Owns: their names, defaults and limits, and which release has which. Does not own: what they do.
// Layer: backend (simulated kernel).   Source: driver-abi.md 13 (the list of 2.24.7 is measured)
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "neuronbook/backend/sim/machine/release.hpp"

namespace neuronbook {
inline namespace v0 {

/// What modprobe was told. The names are the module's own.
struct SimParameters {
    std::uint64_t dev_nc_map = 1; ///< cores that emulated hardware has
    std::uint64_t dma_teardown_on_exit = 1;
    std::uint64_t dup_helper_enable = 1;
    std::uint64_t force_die_flip = 0;
    std::uint64_t force_userver = 0;
    std::uint64_t mempool_host_memory_size = 33554432; ///< of each reserved host pool
    std::uint64_t mempool_min_alloc_size = 4096;       ///< whole pages, at least one
    std::uint64_t mempool_small_alloc_max = 524288;
    std::uint64_t mempool_small_pool_size = 1073741824;
    std::uint64_t nc_per_dev_param = 1; ///< core count of emulated hardware
    std::uint64_t nmetric_log_posts = 1;
    std::uint64_t nmetric_metric_post_delay = 150000;
    std::uint64_t no_reset = 0;
    std::uint64_t pds_reservation_id = 1;
    std::uint64_t reset_top_dma = 0;
    std::uint64_t userver_ctl = 0;
    std::uint64_t userver_etimeout = 600; ///< seconds
    std::uint64_t userver_pds_node_cnt = 0;
    std::uint64_t userver_pds_server_id = 0;
    std::uint64_t wc_enable = 1;
    std::uint64_t zerocopy_trn1_override = 0;
};

namespace sim {

struct ParameterRow {
    std::string_view name;
    std::uint64_t SimParameters::*value;
    Release since = Release::V2_24_7;
    Release until = Release::V2_30_2;
    std::uint64_t most = 0x7FFFFFFF;

    [[nodiscard]] constexpr bool in(Release release) const {
        return since <= release && release <= until;
    }
};

inline constexpr auto kParameters = [] {
    using P = SimParameters;
    constexpr auto k24 = Release::V2_24_7;
    constexpr auto k26 = Release::V2_26_5;
    constexpr auto k30 = Release::V2_30_2;
    constexpr std::uint64_t kLong = ~std::uint64_t{0} >> 1;
    return std::array{
        ParameterRow{"dev_nc_map", &P::dev_nc_map},
        ParameterRow{"dma_teardown_on_exit", &P::dma_teardown_on_exit, k26},
        ParameterRow{"dup_helper_enable", &P::dup_helper_enable},
        ParameterRow{"force_die_flip", &P::force_die_flip},
        ParameterRow{"force_userver", &P::force_userver},
        ParameterRow{"mempool_host_memory_size", &P::mempool_host_memory_size},
        ParameterRow{"mempool_min_alloc_size", &P::mempool_min_alloc_size},
        ParameterRow{"mempool_small_alloc_max", &P::mempool_small_alloc_max},
        ParameterRow{"mempool_small_pool_size", &P::mempool_small_pool_size, k24, k30, kLong},
        ParameterRow{"nc_per_dev_param", &P::nc_per_dev_param},
        ParameterRow{"nmetric_log_posts", &P::nmetric_log_posts},
        ParameterRow{"nmetric_metric_post_delay", &P::nmetric_metric_post_delay},
        ParameterRow{"no_reset", &P::no_reset},
        ParameterRow{"pds_reservation_id", &P::pds_reservation_id, k30, k30, kLong},
        ParameterRow{"reset_top_dma", &P::reset_top_dma, k30},
        ParameterRow{"userver_ctl", &P::userver_ctl},
        ParameterRow{"userver_etimeout", &P::userver_etimeout},
        ParameterRow{"userver_pds_node_cnt", &P::userver_pds_node_cnt, k26, k26},
        ParameterRow{"userver_pds_server_id", &P::userver_pds_server_id, k26, k26, kLong},
        ParameterRow{"wc_enable", &P::wc_enable},
        ParameterRow{"zerocopy_trn1_override", &P::zerocopy_trn1_override, k26},
    };
}();

/// The first parameter whose value the module would not take, or null: too large for it, one that
/// this release has not, or a granule that makes the module refuse to load.
[[nodiscard]] constexpr const ParameterRow* refused_parameter(const SimParameters& parameters,
                                                              Release release) {
    for (const auto& row : kParameters) {
        const auto value = parameters.*row.value;
        if (value > row.most || (!row.in(release) && value != SimParameters{}.*row.value))
            return &row;
        if (row.value == &SimParameters::mempool_min_alloc_size &&
            (value < 4096 || value % 4096 != 0))
            return &row;
    }
    return nullptr;
}

/// A decimal number as root writes it into a parameter's file, with or without a line's end.
[[nodiscard]] inline std::optional<std::uint64_t> parameter_value(std::string_view text) {
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    std::uint64_t value = 0;
    const auto* last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last) return std::nullopt;
    return value;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook

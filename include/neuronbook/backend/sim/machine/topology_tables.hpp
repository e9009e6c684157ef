// SPDX-License-Identifier: Apache-2.0
//
// How devices of a platform are numbered and joined.
// Owns: the driver's static tables. Does not own: which table a machine uses (machine_spec.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 4.3, 5.5, 5.10
#pragma once

#include <array>
#include <cstdint>

#include "neuronbook/base/architecture.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Devices of one torus; the tables below are taken modulo this.
inline constexpr std::uint32_t kTorusDevices = 16;

/// Routing id of host device 0..15.
inline constexpr std::array<std::uint8_t, kTorusDevices> kTrn1Routing{0, 2,  6,  4,  1, 3,  7,  5,
                                                                      9, 11, 15, 13, 8, 10, 14, 12};
inline constexpr std::array<std::uint8_t, kTorusDevices> kTrn2Routing{0, 8,  9,  1, 2, 10, 11, 3,
                                                                      6, 14, 15, 7, 4, 12, 13, 5};

using Neighbours = std::array<std::uint8_t, 4>;

inline constexpr std::array<Neighbours, kTorusDevices> kTrn1Neighbours{{{12, 3, 4, 1},
                                                                        {13, 0, 5, 2},
                                                                        {14, 1, 6, 3},
                                                                        {15, 2, 7, 0},
                                                                        {0, 7, 8, 5},
                                                                        {1, 4, 9, 6},
                                                                        {2, 5, 10, 7},
                                                                        {3, 6, 11, 4},
                                                                        {4, 11, 12, 9},
                                                                        {5, 8, 13, 10},
                                                                        {6, 9, 14, 11},
                                                                        {7, 10, 15, 8},
                                                                        {8, 15, 0, 13},
                                                                        {9, 12, 1, 14},
                                                                        {10, 13, 2, 15},
                                                                        {11, 14, 3, 12}}};

inline constexpr std::array<Neighbours, kTorusDevices> kTrn2Neighbours{{{12, 1, 3, 4},
                                                                        {0, 13, 5, 2},
                                                                        {14, 3, 1, 6},
                                                                        {2, 15, 7, 0},
                                                                        {8, 5, 7, 0},
                                                                        {4, 9, 1, 6},
                                                                        {10, 7, 5, 2},
                                                                        {6, 11, 3, 4},
                                                                        {4, 9, 11, 12},
                                                                        {8, 5, 13, 10},
                                                                        {6, 11, 9, 14},
                                                                        {10, 7, 15, 8},
                                                                        {0, 13, 15, 8},
                                                                        {12, 1, 9, 14},
                                                                        {2, 15, 13, 10},
                                                                        {14, 3, 11, 12}}};

/// Physical core of logical core 8d + k, by the group of device d; Trn2 and Trn3.
inline constexpr std::array<std::array<std::uint8_t, kMaxCoresPerDevice>, 4> kCoreOrders{
    {{4, 5, 6, 7, 2, 3, 0, 1},
     {2, 3, 0, 1, 4, 5, 6, 7},
     {0, 1, 2, 3, 6, 7, 4, 5},
     {6, 7, 4, 5, 0, 1, 2, 3}}};
/// Which of these orders device d mod 16 has.
inline constexpr std::array<std::uint8_t, kTorusDevices> kCoreOrderOf{0, 1, 0, 1, 2, 3, 2, 3,
                                                                      0, 1, 0, 1, 2, 3, 2, 3};

} // namespace sim
} // namespace v0
} // namespace neuronbook

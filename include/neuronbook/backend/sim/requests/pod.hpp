// SPDX-License-Identifier: Apache-2.0
//
// Requests about the pod that joins several servers.
// Owns: their handlers. Does not own: the pod (pod_election.hpp).
// Layer: backend (simulated kernel).   Source: driver-abi.md 5.12 (measured on Trn1 and PDS)
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "neuronbook/backend/sim/requests/call.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// By number, and then only the exact word.
inline std::int64_t pod_info(Call& call) {
    uapi::PodInfo info;
    if (call.word != uapi::kPodInfo) return -EINVAL;
    if (const auto answer = call.copy_in(info)) return answer;
    if (info.sz != sizeof info) return -EINVAL;
    auto& pod = call.state.pod;
    const auto view = pod.view(pod.mode(), call.now);
    info = uapi::PodInfo{};
    info.sz = sizeof info;
    info.pod_type = static_cast<std::uint8_t>(pod.type());
    std::memcpy(info.pod_id, &view.id, sizeof view.id);
    info.pod_sz = static_cast<std::uint8_t>(view.size);
    return call.copy_out(info);
}

/// By number, and then only two exact words. While nothing is decided the answer is an error and
/// the structure says so too. The caller's own size does not come back.
inline std::int64_t pod_status(Call& call) {
    uapi::PodStatusV2 status;
    const bool newer = call.word == uapi::kPodStatusV2;
    if (!newer && call.word != uapi::kPodStatus) return -EINVAL;
    if (const auto answer = newer ? call.copy_in(status) : call.copy_in(status.v1)) return answer;
    if (status.v1.sz != call.encoded_size()) return -EINVAL;
    auto& pod = call.state.pod;
    const auto view = pod.view(pod.mode(), call.now);
    status = uapi::PodStatusV2{};
    std::memcpy(status.v1.pod_id, &view.id, sizeof view.id);
    status.v1.state = static_cast<std::uint32_t>(pod.state(call.now));
    status.v1.pod_type = static_cast<std::uint8_t>(pod.type());
    status.v1.pod_sz = static_cast<std::uint8_t>(view.size);
    status.v1.node_id = static_cast<std::int8_t>(view.node);
    status.mode = static_cast<std::uint32_t>(pod.mode());
    status.modes_supported = pod.modes(call.now);
    const auto missing = newer ? call.copy_out(status) : call.copy_out(status.v1);
    if (missing != 0) return missing;
    const bool busy = status.v1.state == static_cast<std::uint32_t>(uapi::PodState::InProgress);
    return busy ? -EBUSY : 0;
}

/// What a control request does where servers can be joined.
inline std::int64_t control_pod(Call& call, const uapi::PodCtrlV2& ask) {
    auto& pod = call.state.pod;
    const auto mode = static_cast<uapi::UltraserverMode>(ask.mode);
    switch (static_cast<uapi::PodCtrlReq>(ask.v1.ctrl)) {
    case uapi::PodCtrlReq::ReqPod:
        return pod.request(call.now, ask.v1.timeout, call.state.marks.held() != 0);
    case uapi::PodCtrlReq::ReqSingleNode:
        return pod.set_mode(uapi::UltraserverMode::X1, call.now, -kNotSupported);
    case uapi::PodCtrlReq::ReqKill: pod.kill(call.now); return 0;
    case uapi::PodCtrlReq::SetMode: return pod.set_mode(mode, call.now, -kNotSupported);
    }
    return -EINVAL;
}

/// By number, and then only two exact words. The structure goes back whatever the outcome.
inline std::int64_t pod_ctrl(Call& call) {
    uapi::PodCtrlV2 ask;
    const bool newer = call.word == uapi::kPodCtrlV2;
    if (!newer && call.word != uapi::kPodCtrl) return -EINVAL;
    if (const auto answer = newer ? call.copy_in(ask) : call.copy_in(ask.v1)) return answer;
    if (ask.v1.sz != call.encoded_size()) return -EINVAL;
    std::int64_t outcome = 0;
    if (call.state.pod.platform() != Platform::Standard) {
        outcome = control_pod(call, ask);
        ask.v1.state = static_cast<std::uint32_t>(call.state.pod.state(call.now));
    } else if (call.machine().is(Architecture::Sunda)) {
        ask.v1.state = static_cast<std::uint32_t>(uapi::PodState::SingleNode);
    }
    const auto missing = newer ? call.copy_out(ask) : call.copy_out(ask.v1);
    return outcome != 0 ? outcome : missing;
}

} // namespace sim
} // namespace v0
} // namespace neuronbook

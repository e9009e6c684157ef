// SPDX-License-Identifier: Apache-2.0
//
// A simulated machine that says yes to copies and fills and moves nothing, so that their sizes may
// be anything.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/backend/uapi.hpp"

namespace neuronbook::test {

/// One request for a copy or a fill, as it was sent.
struct DryCopy {
    std::uint32_t word;
    std::uint64_t from; ///< offset; of what has one offset, that
    std::uint64_t to;
    std::uint64_t size;
    const void* buffer = nullptr;
};

/// `P`: SimPort, or one that passes for an older driver's.
template <class P>
class DryCopyPort : public P {
public:
    DryCopyPort(P inner, std::shared_ptr<std::vector<DryCopy>> seen)
        : P(std::move(inner)), seen_(std::move(seen)) {}

    std::int64_t ioctl(int fd, std::uint32_t word, void* argument) {
        switch (word) {
        case uapi::kMemCopy: return inside<uapi::MemCopy>(word, argument);
        case uapi::kMemCopy64Deprecated: return inside<uapi::MemCopy64Deprecated>(word, argument);
        case uapi::kMemset: return one<uapi::Memset>(word, argument);
        case uapi::kMemset64: return one<uapi::Memset64>(word, argument);
        case uapi::kMemBufCopy: return buffered<uapi::MemBufCopy>(word, argument);
        case uapi::kMemBufCopy64: return buffered<uapi::MemBufCopy64>(word, argument);
        case uapi::kMemBufZerocopy64Deprecated:
            return buffered<uapi::MemBufCopy64zcDeprecated>(word, argument);
        case uapi::kMemBufZerocopy64: return buffered<uapi::MemBufCopy64zc>(word, argument);
        default: return P::ioctl(fd, word, argument);
        }
    }

private:
    template <class Form>
    std::int64_t inside(std::uint32_t word, const void* argument) {
        const auto& ask = *static_cast<const Form*>(argument);
        seen_->push_back({word, ask.src_offset, ask.dst_offset, ask.size});
        return 0;
    }
    template <class Form>
    std::int64_t one(std::uint32_t word, const void* argument) {
        const auto& ask = *static_cast<const Form*>(argument);
        seen_->push_back({word, ask.offset, ask.offset, ask.size});
        return 0;
    }
    template <class Form>
    std::int64_t buffered(std::uint32_t word, const void* argument) {
        const auto& ask = *static_cast<const Form*>(argument);
        seen_->push_back({word, ask.offset, ask.offset, ask.size, ask.buffer});
        return 0;
    }

    std::shared_ptr<std::vector<DryCopy>> seen_;
};

static_assert(Port<DryCopyPort<SimPort>>);

} // namespace neuronbook::test

// SPDX-License-Identifier: Apache-2.0
//
// A decorator that shows every call of a port to an observer.
// Owns: nothing but the observer's address. Does not own: what becomes of a call's record.
// Layer: backend.
#pragma once

#include <cstdint>
#include <utility>

#include "neuronbook/backend/decorated_port.hpp"

namespace neuronbook {
inline namespace v0 {

/// Called after each call with its answer, on the thread that made it. Must not use the port.
/// `event.argument` is the request's structure as the driver left it.
using TraceFunction = void (*)(void* context, const PortEvent& event, std::int64_t answer);

namespace detail {

struct TraceHook {
    TraceFunction function;
    void* context;

    template <class F>
    std::int64_t around(const PortEvent& event, F call) {
        const std::int64_t answer = call();
        function(context, event, answer);
        return answer;
    }
};

} // namespace detail

/// Shows every call to `function(context, …)`.
template <Port P>
class TracePort : public DecoratedPort<P, detail::TraceHook> {
public:
    TracePort(P inner, TraceFunction function, void* context)
        : DecoratedPort<P, detail::TraceHook>(std::move(inner), {function, context}) {}
};

} // namespace v0
} // namespace neuronbook

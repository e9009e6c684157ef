// SPDX-License-Identifier: Apache-2.0
//
// Writes what happens to device memory as a trace that chrome://tracing and Perfetto open: a
// counter for each HBM, and a bar for each block while it lives.
//
//     memory_trace > FILE
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <vector>

#include "neuronbook/neuronbook.hpp"

namespace {

using namespace neuronbook;

/// Prints trace events, one a line. Observers are copied for each device, so they share a printer.
class Printer {
public:
    void print(const MemoryEvent& event, char phase) {
        const double time = static_cast<double>(event.ticks) * 1e-3; // the clock's nanoseconds
        const std::lock_guard lock(mutex_);
        std::printf(
            "%s{\"ph\":\"%c\",\"name\":\"%s\",\"cat\":\"block\",\"id\":\"0x%llx\",\"pid\":0,"
            "\"tid\":%u,\"ts\":%.3f,\"args\":{\"bytes\":%llu,\"hint\":\"%s\"}},\n",
            first_ ? "[\n" : "", phase, name_of(event.usage).data(),
            static_cast<unsigned long long>(event.address), event.core, time,
            static_cast<unsigned long long>(event.size), plain(event.hint.view()).c_str());
        std::printf("{\"ph\":\"C\",\"name\":\"HBM %u\",\"pid\":0,\"ts\":%.3f,"
                    "\"args\":{\"bytes\":%llu}},\n",
                    event.hbm, time, static_cast<unsigned long long>(event.channel_total));
        first_ = false;
    }
    void end() { std::puts(first_ ? "[]" : "{}]"); }

private:
    /// Hints are names; whatever JSON would trip over becomes a dot.
    static std::string plain(std::string_view text) {
        std::string safe(text);
        for (char& c : safe)
            if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '.';
        return safe;
    }

    std::mutex mutex_;
    bool first_ = true;
};

struct Tracer {
    Printer* printer = nullptr;
    void allocated(const MemoryEvent& event) noexcept { printer->print(event, 'b'); }
    void freed(const MemoryEvent& event) noexcept { printer->print(event, 'e'); }
    void refused(const Error& error) noexcept { std::fputs(describe(error).c_str(), stderr); }
};

struct Shape : RuntimeShape {
    using Observer = Tracer;
};

} // namespace

int main() {
    auto kernel = SimKernel::make({.instance = "trn2.3xlarge"});
    if (!kernel) return 1;
    Printer printer;
    auto runtime =
        Runtime<SimDriver, Shape>::open({}, SimDriver(SimPort(**kernel)), Tracer{&printer});
    if (!runtime) return 1; // the log has said why
    for (std::uint32_t step = 0; step < 4; ++step) {
        const PhysicalCore core{DeviceIndex{0}, CoreIndex{2 * step}};
        auto model = (*runtime)->model_allocator(core, {.name = {1001 + step, "layer"}});
        if (!model) return 1;
        const auto weights = (*model)->allocate(
            {.size = Bytes{(1 + step) << 20}, .usage = Usage::Weight, .hint = "weights"});
        const auto rings = (*model)->allocate({.size = Bytes{65536}, .usage = Usage::DmaRingIo});
        if (!weights || !rings) return 1;
    }
    runtime->reset();
    printer.end();
}

// SPDX-License-Identifier: Apache-2.0
//
// What a runtime knows of its memory, for programs: JSON, or CSV with one line for each core and
// usage. What nobody knows is null, never 0.
//
//     memory_report [--csv]
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include "neuronbook/neuronbook.hpp"

namespace {

using namespace neuronbook;

void member(const char* name, std::optional<Bytes> size, const char* end) {
    if (size)
        std::printf("\"%s\": %llu%s", name, static_cast<unsigned long long>(size->count()), end);
    else
        std::printf("\"%s\": null%s", name, end);
}

/// Null where the driver keeps no such counters, or nobody may read them.
const char* agreement(const Result<Audit>& audit) {
    if (!audit || !audit->unread.empty()) return "null";
    return audit->agrees() ? "true" : "false";
}

void json(Runtime<SimDriver>& runtime, const DeviceUsage& device, std::uint32_t slot) {
    std::printf("  {\"device\": %u, \"books_agree\": %s, \"hbms\": [\n", device.device.value(),
                agreement(runtime.audit_memory(DeviceIndex{slot})));
    for (std::uint32_t hbm = 0;; ++hbm) {
        const auto use = runtime.used_on_hbm(DeviceIndex{slot}, hbm);
        if (!use) break; // past the last
        std::printf("%s    {", hbm == 0 ? "" : ",\n");
        member("own", use->own, ", ");
        member("others", use->others, ", ");
        member("free", use->headroom(), ", ");
        member("limit", use->limit, "}");
    }
    std::printf("],\n   \"owners\": [");
    const char* comma = "\n";
    for (const OwnerUsage& owner : device.owners) {
        std::printf("%s    {\"id\": %u, \"core\": %u, \"bytes\": %llu, \"blocks\": %llu}", comma,
                    owner.id, owner.core.value(), static_cast<unsigned long long>(owner.used[22]),
                    static_cast<unsigned long long>(owner.blocks));
        comma = ",\n";
    }
    std::printf("]}");
}

void csv(const DeviceUsage& device) {
    for (std::uint32_t core = 0; core < kMaxCoresPerDevice; ++core)
        for (std::uint32_t u = 0; u < kUsages; ++u)
            if (const auto bytes = device.counters.by_core[core][u])
                std::printf("%u,%u,%s,%llu\n", device.device.value(), core,
                            name_of(static_cast<Usage>(u)).data(),
                            static_cast<unsigned long long>(bytes));
}

} // namespace

int main(int argc, char** argv) {
    auto kernel = SimKernel::make({.instance = "trn1.2xlarge"});
    if (!kernel) return 1;
    auto runtime = Runtime<SimDriver>::open({}, SimDriver(SimPort(**kernel)));
    if (!runtime) return 1; // the log has said why
    auto model = (*runtime)->model_allocator({DeviceIndex{0}, CoreIndex{1}}, {.name = {1001, "m"}});
    if (!model) return 1;
    const auto weights = (*model)->allocate({.size = Bytes{5'000'000}, .usage = Usage::Weight});
    if (!weights) return 1;
    const bool lines = argc == 2 && std::string_view(argv[1]) == "--csv";
    std::puts(lines ? "device,core,usage,bytes" : "[");
    std::uint32_t slot = 0;
    for (const DeviceUsage& device : (*runtime)->usage()) {
        if (!lines && slot != 0) std::puts(",");
        lines ? csv(device) : json(**runtime, device, slot);
        ++slot;
    }
    if (!lines) std::puts("\n]");
}

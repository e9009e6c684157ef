// SPDX-License-Identifier: Apache-2.0
//
// Which requests a copy of the engine's ends in, by what the driver can do.
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "dmem/copy/patterns.hpp"
#include "neuronbook/backend/ioctl_driver.hpp"
#include "neuronbook/backend/sim/kernel.hpp"
#include "neuronbook/backend/sim/port.hpp"
#include "neuronbook/backend/trace_port.hpp"
#include "neuronbook/dmem/copy/copy_engine.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::literals;

namespace {

using Words = std::set<std::uint32_t>;

void note(void* words, const PortEvent& event, std::int64_t) {
    if (event.call == PortCall::Ioctl) static_cast<Words*>(words)->insert(event.request);
}

constexpr std::uint32_t kBuffer = 0xC0284E18;
constexpr std::uint32_t kPinned48 = 0xC0304E7C, kPinned64 = 0xC0404E7C;

} // namespace

TEST_CASE("the device takes the program's own pages where the driver can let it, else the plan "
          "goes by whether copies run aside",
          "[dmem][copy_engine][sim]") {
    const struct {
        const char *instance, *release;
        std::uint32_t large; ///< word of a copy of more than 64 KiB
    } rows[] = {
        {"trn1.2xlarge", "2.24.7", kBuffer},    {"trn1.2xlarge", "2.26.5", kBuffer},
        {"trn1.2xlarge", "2.30.2", kBuffer},    {"trn2.3xlarge", "2.24.7", kBuffer},
        {"trn2.3xlarge", "2.26.5", kPinned48},  {"trn2.3xlarge", "2.30.2", kPinned64},
        {"trn3.48xlarge", "2.30.2", kPinned64},
    };
    for (const auto& row : rows)
        for (const bool aside : {false, true}) {
            INFO(row.instance << " " << row.release << (aside ? ", aside" : ""));
            const auto kernel = SimKernel::make(
                {.instance = row.instance, .driver_version = row.release, .dma_thread = aside});
            REQUIRE(kernel);
            Words words;
            IoctlDriver driver(TracePort(SimPort(**kernel), note, &words));
            REQUIRE(driver.connect());
            REQUIRE(driver.open_device(HostDeviceId{0}));
            const auto chunk = test::chunk_of(driver, 1 << 20);
            const auto host = test::chunk_of(driver, 1 << 20, 0, MemoryLocation::Host);
            const auto sent = test::pattern(200'001);
            std::vector<std::byte> back(sent.size());
            CopyEngine engine(driver, HostDeviceId{0}, CoreIndex{0});
            const bool pins = row.large != kBuffer;
            CHECK(driver.abilities().zero_copy.available == pins);
            CHECK((engine.schedule(1_MiB).mode == CopyMode::Direct) == (pins || !aside));

            words.clear();
            REQUIRE(engine.write(chunk, 1_B, sent));
            REQUIRE(engine.read(chunk, 1_B, back));
            CHECK(back == sent);
            const bool staged = aside && !pins;
            CHECK(words.contains(row.large) == !staged);
            CHECK(words.contains(uapi::kMemCopyAsync64) == staged);
            CHECK(words.contains(uapi::kMemCopyAsyncWait) == staged);
            CHECK((engine.bounce_size() > 0_B) == staged);

            words.clear(); // host memory: the processor alone, whatever the size
            REQUIRE(engine.write(host, 1_B, sent));
            CHECK(words == Words{kBuffer});
        }
}

// expect: the driver must satisfy MemoryOps
#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

struct Memory {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&);
#ifdef REJECT
    void free(HostDeviceId, const Chunk&);
#else
    Result<void> free(HostDeviceId, const Chunk&);
#endif
    bool usable() const noexcept;
};

void use(Memory& driver, std::shared_ptr<Ledger> ledger, const Geometry& geometry) {
    Allocator<GlobalTag, Memory> allocator(driver, HostDeviceId{0}, {}, geometry, ledger);
}

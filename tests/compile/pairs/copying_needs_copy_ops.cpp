// expect: constraints not satisfied || no matching member function || no matching function
// A driver of memory alone allocates; it cannot move bytes.
#include <cstddef>
#include <span>

#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

struct Memory {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&);
    Result<void> free(HostDeviceId, const Chunk&);
    bool usable() const noexcept;
#ifndef REJECT
    Result<void> write(HostDeviceId, const Chunk&, Bytes, std::span<const std::byte>);
    Result<void> read(HostDeviceId, const Chunk&, Bytes, std::span<std::byte>);
#endif
};

Result<void> fill(Allocator<GlobalTag, Memory>& allocator, const Block& block,
                  std::span<const std::byte> bytes) {
    return allocator.write(block, Bytes{0}, bytes);
}

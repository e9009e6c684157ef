// expect: use of deleted function || uses deleted function || call to deleted
// Its blocks know where it is.
#include <utility>

#include "neuronbook/dmem/allocator.hpp"

using namespace neuronbook;

struct Memory {
    Result<Chunk> allocate(HostDeviceId, const ChunkRequest&);
    Result<void> free(HostDeviceId, const Chunk&);
    bool usable() const noexcept;
};
using Model = Allocator<ModelTag, Memory>;

#ifdef REJECT
Model moved(Model& from) { return Model(std::move(from)); }
#else
Model& kept(Model& from) { return from; }
#endif

// SPDX-License-Identifier: Apache-2.0
// The concepts of copies: see concepts_test.cpp.
#include <cstddef>
#include <span>

#include "neuronbook/backend/driver.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::test;

namespace {

// --- ChunkCopyOps, FillOps
struct NoCopy : ChunkCopyArchetype {
    Result<void> copy(HostDeviceId, const Chunk&, Bytes, const Chunk&, Bytes, Bytes) = delete;
};
struct CopiesWholeChunks : ChunkCopyArchetype {
    Result<void> copy(HostDeviceId, const Chunk&, const Chunk&);
};
struct CopyCounts : ChunkCopyArchetype {
    Result<Bytes> copy(HostDeviceId, const Chunk&, Bytes, const Chunk&, Bytes, Bytes);
};
struct NoFill : FillArchetype {
    Result<void> fill(HostDeviceId, const Chunk&, Bytes, Bytes, std::byte) = delete;
};
struct FillsWithText : FillArchetype {
    Result<void> fill(HostDeviceId, const Chunk&, Bytes, Bytes, const char*);
};
struct FillSaysNothing : FillArchetype {
    void fill(HostDeviceId, const Chunk&, Bytes, Bytes, std::byte);
};
static_assert(ChunkCopyOps<ChunkCopyArchetype> && FillOps<FillArchetype>);
static_assert(!ChunkCopyOps<NoCopy> && !ChunkCopyOps<CopiesWholeChunks> &&
              !ChunkCopyOps<CopyCounts>);
static_assert(!FillOps<NoFill> && !FillOps<FillsWithText> && !FillOps<FillSaysNothing>);

// --- AsyncCopies, AsyncCopyOps
struct CopiedChain : CopyChainArchetype {
    using CopyChainArchetype::CopyChainArchetype;
    CopiedChain(const CopiedChain&) : CopyChainArchetype(0) {}
    CopiedChain& operator=(const CopiedChain&) { return *this; }
};
struct FixedChain : CopyChainArchetype {
    FixedChain(FixedChain&&) = delete;
};
struct ChainNoStart : CopyChainArchetype {
    Result<void> start(const Chunk&, Bytes, const Chunk&, Bytes, Bytes) = delete;
};
struct ChainStartSaysNothing : CopyChainArchetype {
    void start(const Chunk&, Bytes, const Chunk&, Bytes, Bytes);
};
struct ChainNoFinish : CopyChainArchetype {
    Result<void> finish() = delete;
};
struct NoChain : Bare {
    Result<CopyChainArchetype> begin_copies(HostDeviceId, CoreIndex);
    bool copies_run_aside() const noexcept;
};
struct ChainOfAnotherType : AsyncCopyArchetype {
    using CopyChain = ChainNoFinish;
};
struct NoBegin : AsyncCopyArchetype {
    Result<CopyChain> begin_copies(HostDeviceId, CoreIndex) = delete;
};
struct BeginNeverFails : AsyncCopyArchetype {
    CopyChain begin_copies(HostDeviceId, CoreIndex);
};
struct AsideThrows : AsyncCopyArchetype {
    bool copies_run_aside() const;
};
struct AsideChanges : AsyncCopyArchetype {
    bool copies_run_aside() noexcept;
};
struct AsideIsANumber : AsyncCopyArchetype {
    int copies_run_aside() const noexcept;
};
static_assert(AsyncCopies<CopyChainArchetype> && AsyncCopyOps<AsyncCopyArchetype>);
static_assert(!AsyncCopies<CopiedChain> && !AsyncCopies<FixedChain> && !AsyncCopies<ChainNoStart> &&
              !AsyncCopies<ChainStartSaysNothing> && !AsyncCopies<ChainNoFinish>);
static_assert(!AsyncCopyOps<NoChain> && !AsyncCopyOps<ChainOfAnotherType> &&
              !AsyncCopyOps<NoBegin> && !AsyncCopyOps<BeginNeverFails>);
static_assert(!AsyncCopyOps<AsideThrows> && !AsyncCopyOps<AsideChanges> &&
              !AsyncCopyOps<AsideIsANumber>);

// --- BatchCopyOps
struct NoWriteBatch : BatchCopyArchetype {
    Result<void> write_batch(HostDeviceId, CoreIndex, std::span<const WritePiece>) = delete;
};
struct WritesChangeablePieces : BatchCopyArchetype {
    Result<void> write_batch(HostDeviceId, CoreIndex, std::span<WritePiece>);
};
struct NoReadBatch : BatchCopyArchetype {
    Result<void> read_batch(HostDeviceId, CoreIndex, std::span<const ReadPiece>) = delete;
};
struct ReadBatchCounts : BatchCopyArchetype {
    Result<Bytes> read_batch(HostDeviceId, CoreIndex, std::span<const ReadPiece>);
};
static_assert(BatchCopyOps<BatchCopyArchetype>);
static_assert(!BatchCopyOps<NoWriteBatch> && !BatchCopyOps<WritesChangeablePieces>);
static_assert(!BatchCopyOps<NoReadBatch> && !BatchCopyOps<ReadBatchCounts>);

} // namespace

TEST_CASE("the concepts of copies accept their archetypes and refuse every single defect",
          "[backend][concepts]") {
    SUCCEED("checked when this file was compiled");
}

// SPDX-License-Identifier: Apache-2.0
// Every requirement of Port is missed by a type with exactly that defect: absent, of another type,
// or not const.
#include <cstdint>
#include <span>
#include <string_view>

#include "neuronbook/backend/port.hpp"
#include "support/archetypes.hpp"
#include "support/catch.hpp"

using namespace neuronbook;
using namespace neuronbook::test;

namespace {

struct Unchanged : PortArchetype {};
struct CannotCopy : PortArchetype {
    CannotCopy(const CannotCopy&) = delete;
};
struct NoOpen : PortArchetype {
    std::int64_t open(const char*, Access) = delete;
};
struct OpensByFlags : PortArchetype {
    std::int64_t open(const char*, int);
};
struct OpenIsAnInt : PortArchetype {
    int open(const char*, Access);
};
struct NoClose : PortArchetype {
    std::int64_t close(int) = delete;
};
struct CloseSaysNothing : PortArchetype {
    void close(int);
};
struct NoIoctl : PortArchetype {
    std::int64_t ioctl(int, std::uint32_t, void*) = delete;
};
struct IoctlIsAnInt : PortArchetype {
    int ioctl(int, std::uint32_t, void*);
};
struct NoMap : PortArchetype {
    Mapping map(int, Bytes, bool, std::uint64_t) = delete;
};
struct MapIsAPointer : PortArchetype {
    void* map(int, Bytes, bool, std::uint64_t);
};
struct NoUnmap : PortArchetype {
    std::int64_t unmap(void*, Bytes) = delete;
};
struct UnmapSaysNothing : PortArchetype {
    void unmap(void*, Bytes);
};
struct NoReadFile : PortArchetype {
    std::int64_t read_file(const char*, std::span<char>) = delete;
};
struct ReadFileGivesText : PortArchetype {
    std::string_view read_file(const char*, std::span<char>);
};
struct NoExists : PortArchetype {
    bool exists(const char*) = delete;
};
struct ExistsIsANumber : PortArchetype {
    int exists(const char*);
};
struct NoNow : PortArchetype {
    Nanoseconds now() = delete;
};
struct NowIsANumber : PortArchetype {
    std::uint64_t now();
};
struct NoSleep : PortArchetype {
    void sleep(Nanoseconds) = delete;
};
struct SleepAnswers : PortArchetype {
    bool sleep(Nanoseconds);
};
struct NoIdentity : PortArchetype {
    PortIdentity identity() const = delete;
};
struct IdentityIsText : PortArchetype {
    std::string_view identity() const;
};
struct IdentityChanges : PortArchetype {
    PortIdentity identity();
};
static_assert(Port<PortArchetype> && Port<Unchanged>);
static_assert(!Port<CannotCopy> && !Port<NoOpen> && !Port<OpensByFlags> && !Port<OpenIsAnInt> &&
              !Port<NoClose> && !Port<CloseSaysNothing> && !Port<NoIoctl> && !Port<IoctlIsAnInt>);
static_assert(!Port<NoMap> && !Port<MapIsAPointer> && !Port<NoUnmap> && !Port<UnmapSaysNothing> &&
              !Port<NoReadFile> && !Port<ReadFileGivesText>);
static_assert(!Port<NoExists> && !Port<ExistsIsANumber> && !Port<NoNow> && !Port<NowIsANumber> &&
              !Port<NoSleep> && !Port<SleepAnswers> && !Port<NoIdentity> && !Port<IdentityIsText> &&
              !Port<IdentityChanges>);

} // namespace

TEST_CASE("the concept of a port accepts its archetype and refuses every single defect",
          "[backend][concepts]") {
    SUCCEED("checked when this file was compiled");
}

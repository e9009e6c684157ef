// SPDX-License-Identifier: Apache-2.0
// Many pieces of many chunks in one request.
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "backend/sim/fixture.hpp"

using namespace sim_test;

namespace {

/// Two batches of two writes of 64 bytes each, to chunks of two cores.
struct Batches : Process {
    Batches(SimKernel& kernel) : Process(kernel) {
        for (std::uint32_t i = 0; i < 2; ++i) {
            chunk[i] = allocate_as({8192, 0, 0, 0, 0, i, 9, 0, nullptr, 0, 0});
            ops[i] = {{{64, 64, bytes[i].data()}, {512, 64, bytes[i].data() + 64}}};
            batch[i] = {chunk[i], 1024, ops[i].data(), 2, 4096, 0, nullptr};
            bytes[i].fill(static_cast<unsigned char>(0x10 + i));
        }
    }

    std::int64_t submit() { return ask(uapi::kMemBufZerocopy64Batches, form); }

    /// Whether a batch's first write is there.
    bool done(std::size_t i) {
        unsigned char got = 0;
        copy_out(chunk[i], &got, 1, 1024 + 64);
        return got == 0x10 + i;
    }
    /// A batch's first write is not there any more.
    void undo(std::size_t i) {
        const unsigned char none = 0;
        copy_in(chunk[i], &none, 1, 1024 + 64);
    }

    std::array<std::uint64_t, 2> chunk{};
    std::array<std::array<unsigned char, 128>, 2> bytes{};
    std::array<std::array<uapi::NrtTensorBatchOp, 2>, 2> ops{};
    std::array<uapi::MemcpyBatch, 2> batch{};
    uapi::MemBufCopy64zcBatches form{0, batch.data(), 2, 1, 0, -1, 0, 0};
};

} // namespace

TEST_CASE("batches of small writes go through BAR4, whatever the queue", "[sim][batches]") {
    const auto driver = GENERATE("2.26.5", "2.30.2");
    const auto kernel = make_kernel(GENERATE("trn1.2xlarge", "trn2.3xlarge"), driver);
    Batches process(*kernel);
    process.form.sequence_num = 5;
    process.form.h2t_qid = 99;
    process.form.flags = 0xFFFF;
    process.batch[0].context = &process;
    CHECK(process.submit() == 0);
    CHECK((process.done(0) && process.done(1)));
    process.undo(0);
    // the driver's sum of the two offsets wraps
    process.batch[0].mem_handle_offset = 1024 + 4096;
    process.ops[0][0].offset = std::uint64_t{64} - 4096;
    CHECK(process.submit() == 0);
    CHECK(process.done(0));
}

TEST_CASE("one operation that needs an engine sends its batch there", "[sim][batches]") {
    const auto trn1 = make_kernel();
    const auto trn2 = make_kernel("trn2.3xlarge");
    Batches old(*trn1);
    Batches process(*trn2);
    for (auto* who : {&old, &process}) who->ops[1][1].size = 62;
    CHECK(old.submit() == -EINVAL);
    CHECK((old.done(0) && !old.done(1)));
    CHECK(process.submit() == 0);
    CHECK((process.done(0) && process.done(1)));
    process.form.h2t_qid = 1; // core 1's own; core 0's chunk goes through BAR4
    CHECK(process.submit() == 0);
    process.form.h2t_qid = 2;
    CHECK(process.submit() == -ENOENT);
    process.form.h2t_qid = 99;
    CHECK(process.submit() == -ENOENT);
    for (auto* who : {&old, &process}) {
        who->form.is_copy_to_device = 0;
        who->form.h2t_qid = -1;
    }
    CHECK(old.submit() == -EINVAL);
    process.bytes[0].fill(0);
    CHECK(process.submit() == 0);
    CHECK(process.bytes[0][0] == 0x10);
}

TEST_CASE("a batch is checked when its turn comes", "[sim][batches]") {
    const auto kernel = make_kernel("trn2.3xlarge", GENERATE("2.26.5", "2.30.2"));
    Batches process(*kernel);
    auto& op = process.ops[1][1];
    auto& batch = process.batch[1];
    std::int64_t answer = -EINVAL;
    SECTION("size 0") { op.size = 0; }
    SECTION("no buffer") { op.buffer = nullptr; }
    SECTION("past the end") { op.offset = 8192 - 1024 - 63; }
    SECTION("a bad handle") { batch.mem_handle = 999; }
    SECTION("a kernel address") {
        op.buffer = reinterpret_cast<void*>(0xFFFF800000000000u);
        answer = -EFAULT;
    }
    CHECK(process.submit() == answer);
    CHECK(process.done(0));
    CHECK_FALSE(process.done(1));
}

TEST_CASE("what is empty is refused before anything moves", "[sim][batches]") {
    const auto kernel = make_kernel("trn2.3xlarge", GENERATE("2.26.5", "2.30.2"));
    Batches process(*kernel);
    SECTION("no batches") { process.form.num_batches = 0; }
    SECTION("no array") { process.form.batches_ptr = nullptr; }
    SECTION("no operations") { process.batch[1].num_ops = 0; }
    SECTION("no array of operations") { process.batch[1].ops_ptr = nullptr; }
    CHECK(process.submit() == -EINVAL);
    CHECK_FALSE(process.done(0));
}

TEST_CASE("arrays that are too large or not there", "[sim][batches]") {
    const bool newer = GENERATE(false, true);
    const auto kernel = make_kernel("trn1.2xlarge", newer ? "2.30.2" : "2.26.5");
    Batches process(*kernel);
    auto* nowhere = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(process.ask(uapi::kMemBufZerocopy64Batches, nullptr) == (newer ? -EFAULT : 32));
    process.form.batches_ptr = static_cast<uapi::MemcpyBatch*>(nowhere);
    CHECK(process.submit() == (newer ? -EFAULT : 80));
    process.form.num_batches = 1u << 28;
    CHECK(process.submit() == -ENOMEM);
    process.form.batches_ptr = process.batch.data();
    process.form.num_batches = 2;
    process.batch[0].ops_ptr = static_cast<uapi::NrtTensorBatchOp*>(nowhere);
    CHECK(process.submit() == (newer ? -EFAULT : 48));
    process.batch[0].num_ops = 1u << 30;
    CHECK(process.submit() == -ENOMEM);
    process.batch[0] = process.batch[1];
    process.ops[1][0].buffer = nowhere;
    CHECK(process.submit() == (newer ? -EFAULT : 64)); // through BAR4
    ::munmap(nowhere, 4096);
}

TEST_CASE("2.24 knows no batches", "[sim][batches]") {
    const auto kernel = make_kernel("trn1.2xlarge", "2.24.7");
    CHECK(Batches(*kernel).submit() == -EINVAL);
}

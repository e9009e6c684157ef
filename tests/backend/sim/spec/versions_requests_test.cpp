// SPDX-License-Identifier: Apache-2.0
// Which release serves which request and which size of it: driver-abi.md 14, the upper rows. The
// columns 2.25 and 2.28 are those of 2.26.5 and 2.30.2, the releases that the model knows.
#include "backend/sim/spec/spec.hpp"

using namespace spec_test;

TEST_CASE("architectures: the third generation comes after 2.24, the first is never simulated",
          "[sim][spec][versions]") {
    const auto can_run = [](const char* instance, const std::string& release) {
        SimOptions options;
        options.instance = instance;
        options.driver_version = release;
        return SimKernel::make(options).has_value();
    };
    for (const auto& release : kReleases) {
        CAPTURE(release);
        CHECK(can_run("trn1.2xlarge", release));
        CHECK(can_run("inf2.48xlarge", release));
        CHECK(can_run("trn2.48xlarge", release));
        CHECK(can_run("trn3pd98.3xlarge", release) == (release != k24));
        CHECK_FALSE(can_run("inf1.xlarge", release));
    }
}

TEST_CASE("feature word: 0xFF, 0x1FF, and 0x7FF or 0x1FFF where zero-copy works",
          "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        for (const std::string instance : {kV2, kV3, kV4}) {
            if (instance == kV4 && release == k24) continue;
            const auto kernel = make_kernel(instance, release);
            Process process(*kernel, 1, Access::WriteOnly);
            CHECK(
                feature_word(process) ==
                by_release<std::uint64_t>(release, 0xFF, 0x1FF, instance == kV2 ? 0x7FF : 0x1FFF));
            CHECK(process.error == 0);
        }
    }
}

TEST_CASE("allocation is known in 8, 48 and 56 bytes, from 2.28 on in 64 too",
          "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto allocate = [&](std::uint32_t word, auto form) {
            std::uint64_t handle = 0;
            form.size = 4096;
            form.mem_handle = &handle;
            const auto answer = process.ask(word, form);
            CHECK((answer == 0) == (handle != 0));
            return answer;
        };
        CHECK(allocate(0x80084E66u, uapi::MemAllocV2{}) == 0);
        CHECK(allocate(0x80304E66u, uapi::MemAllocV2MemType{}) == 0);
        CHECK(allocate(0x80384E66u, uapi::MemAllocV2MemType64{}) == 0);
        CHECK(allocate(0xC0404E66u, uapi::MemAllocV2MemType64Pa{}) ==
              by_release(release, -EINVAL, -EINVAL, 0));
        CHECK(allocate(0x80284E66u, uapi::MemAllocV2{}) == -EINVAL); // its own size is no size
        CHECK(allocate(0x803C4E66u, uapi::MemAllocV2MemType64Pa{}) == -EINVAL);
    }
}

TEST_CASE("chunk copies are known in 8 and 40 bytes, in 2.30 in 56 too", "[sim][spec][versions]") {
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        const auto from = process.allocate(4096);
        const auto to = process.allocate(4096);
        uapi::MemCopy first{from, to, 64, 0, 0, 0};
        uapi::MemCopy64Deprecated second{from, to, 64, 0, 0};
        uapi::MemCopy64 third{from, to, 64, 0, 0, 0, nullptr};
        CHECK(process.ask(0x80084E17u, first) == 0);
        CHECK(process.ask(0x80284E17u, second) == 0);
        CHECK(process.ask(0x80384E17u, third) == by_release(release, -EINVAL, -EINVAL, 0));
        CHECK(process.ask(0x80204E17u, first) == -EINVAL); // 32 bytes, its own size
    }
}

TEST_CASE("zero-copy has one size in each release: 40, 48, 64", "[sim][spec][versions]") {
    std::vector<char> buffer(4096, 'z');
    for (const auto& release : kReleases) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV3, release);
        Process process(*kernel);
        const auto handle = process.allocate(4096);
        uapi::MemBufCopy64 oldest{handle, buffer.data(), 4096, 0, 1, 0};
        CHECK(process.ask(0xC0284E7Cu, oldest) == by_release(release, 0, -EINVAL, -EINVAL));
        CHECK(zero_copy_26(process, handle, buffer.data(), 4096, 0) ==
              by_release(release, -EINVAL, 0, -EINVAL));
        CHECK(zero_copy_30(process, handle, buffer.data(), 4096, 0) ==
              by_release(release, -EINVAL, -EINVAL, 0));
        std::vector<char> back(4096);
        CHECK(process.copy_out(handle, back.data(), 4096) == 0);
        CHECK(back == buffer);
    }
}

TEST_CASE("requests 125 to 129 are not in 2.24", "[sim][spec][versions]") {
    for (const std::uint32_t word :
         {0xC0144E7Du, 0xC0084E7Eu, 0x40084E7Fu, 0x40044E80u, 0xC0204E81u}) {
        CAPTURE(word);
        CHECK(known_to(word) == "26 30");
    }
}

TEST_CASE("requests 130 and 131 came with 2.26", "[sim][spec][versions]") {
    CHECK(known_to(0x40044E82u) == "26 30");
    CHECK(known_to(0x40104E83u) == "26 30");
    CHECK(known_to(0x80084E83u) == "26 30"); // by its number alone
}

TEST_CASE("requests 132, 134 and 135 came with 2.28", "[sim][spec][versions]") {
    CHECK(known_to(0xC0084E84u) == "30");
    CHECK(known_to(0xC0244E86u) == "30");
    CHECK(known_to(0xC1084E87u) == "30");
    CHECK(known_to(0xB0084E85u) == "24 26 30"); // 133 is old
}

TEST_CASE("requests 136 and 137 came with 2.28, on the free-access lane too",
          "[sim][spec][versions]") {
    CHECK(known_to(0xC0184E88u) == "30");
    CHECK(known_to(0x40084E89u) == "30");
    const auto kernel = make_kernel(kV2, k30);
    Process process(*kernel, 1, Access::WriteOnly);
    process.ask(0xC0184E88u, nullptr);
    process.ask(0x40084E89u, nullptr);
    CHECK(kernel->unknown().empty());
}

TEST_CASE("requests 138 and 139 came with 2.29 and 2.30", "[sim][spec][versions]") {
    CHECK(known_to(0x80084E8Au) == "30");
    CHECK(known_to(0xC0C84E8Bu) == "30");
}

TEST_CASE("an unreadable argument of the newer requests: bytes in 2.26, an errno in 2.30",
          "[sim][spec][versions]") {
    const auto kernel = make_kernel(kV2, k26);
    Process process(*kernel);
    const auto ask = [&](std::uint32_t word) { return process.ask(word, nullptr); };
    CHECK(ask(0xC0304E7Cu) == 48);
    CHECK(ask(0xC0144E7Du) == 20);
    CHECK(ask(0xC0084E7Eu) == 8);
    CHECK(ask(0x40084E7Fu) == 8);
    CHECK(ask(0x40044E80u) == 4);
    CHECK(ask(0xC0204E81u) == 32);
    CHECK(ask(0x40044E82u) == 4);
    CHECK(ask(0x40104E83u) == 16);
    const auto newer = make_kernel(kV2, k30);
    Process other(*newer);
    for (const std::uint32_t word : {0xC0404E7Cu, 0xC0144E7Du, 0xC0184E88u, 0x80084E8Au})
        CHECK(other.ask(word, nullptr) == -EFAULT);
}

TEST_CASE("what 2.25 brought is served: queues, power, metrics, batches", "[sim][spec][versions]") {
    std::uint32_t word = 0x01020304;
    for (const std::string release : {k26, k30}) {
        CAPTURE(release);
        const auto kernel = make_kernel(kV2, release);
        Process process(*kernel);
        uapi::H2tDmaAllocQueues queues{0, 0, 0, 0, 0, 0, 99}; // 0 + 0 asks for the default
        CHECK(process.ask(0xC0144E7Du, queues) == 0);
        CHECK(queues.copy_default_queue == 0);
        uapi::H2tDmaFreeQueues freed{0, 0, 0, 1}; // the default's bit is ignored
        CHECK(process.ask(0xC0084E7Eu, freed) == 0);
        uapi::PowerProfile power{8, 0, 1}; // does nothing on this architecture
        CHECK(process.ask(0x40084E7Fu, power) == 0);
        power.sz = 4;
        CHECK(process.ask(0x40084E7Fu, power) == -ENXIO);
        uapi::MetricsCtrl metrics{0};
        CHECK(process.ask(0x40044E80u, metrics) == 0);
        uapi::NrtTensorBatchOp op{8, 4, &word};
        uapi::MemcpyBatch batch{process.allocate(4096), 0, &op, 1, 64, 0, nullptr};
        uapi::MemBufCopy64zcBatches all{0, &batch, 1, 1, 0, -1, 0, 0};
        CHECK(process.ask(0xC0204E81u, all) == 0);
        std::uint32_t back = 0;
        CHECK(process.copy_out(batch.mem_handle, &back, 4, 8) == 0);
        CHECK(back == 0x01020304);
        op.size = 0;
        CHECK(process.ask(0xC0204E81u, all) == -EINVAL);
    }
}

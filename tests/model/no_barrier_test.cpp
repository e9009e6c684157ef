// SPDX-License-Identifier: Apache-2.0
// Counting a thread where the kernel refuses membarrier(): a program of its own, since the refusal
// is for good.
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

#include "model/models.hpp"
#include "neuronbook/base/describe.hpp"
#include "neuronbook/base/process_barrier.hpp"
#include "support/log_lines.hpp"

using namespace neuronbook;
using test::kAtOnce;
using test::kCore;
using test::kLong;
using test::model;
using test::SmallModel;

namespace {

/// From now on membarrier() answers ENOSYS to this thread and those it starts, as before Linux 4.3.
bool refuse_membarrier() {
    std::array<sock_filter, 4> filter{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

} // namespace

TEST_CASE("without membarrier() counting a thread says so, and counts in the cells",
          "[model][counting]") {
    REQUIRE(refuse_membarrier());
    const auto available = ThreadCounts::available();
    REQUIRE(!available);
    CHECK(available.error().status == Status::Failure);
    CHECK(available.error().detail == Detail::NotOnThisKernel);
    CHECK(available.error().os_error == ENOSYS);
    CHECK(describe(available.error()).find("membarrier") != std::string::npos);
    CHECK(!ProcessBarrier::usable());

    test::LogLines lines(LogLevel::Info);
    ModelDatabase<SmallModel, ThreadCounts> models(kCore);
    REQUIRE(lines.lines.size() == 1);
    CHECK(lines.lines[0].second.find("membarrier()") != std::string::npos);

    const auto handle = *models.add(model());
    auto held = *models.acquire(handle);
    CHECK(models.remove(handle, kAtOnce).error().asked == 1);
    std::thread([&] { held.release(); }).join();
    CHECK(models.drain(handle, kAtOnce));

    // And holds against removals all the same.
    std::atomic<bool> stop{false};
    std::atomic<ModelHandle> current{ModelHandle{}};
    std::atomic<int> dead{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!stop.load())
                if (const auto got = models.acquire(current.load()))
                    dead += (*got)->alive != SmallModel::kAlive;
        });
    for (int i = 0; i < 2000; ++i) {
        current = *models.add(model());
        if (!models.remove(current.load(), kLong)) break;
    }
    stop = true;
    for (auto& reader : readers) reader.join();
    CHECK(dead == 0);
    CHECK(SmallModel::count == 0);
}

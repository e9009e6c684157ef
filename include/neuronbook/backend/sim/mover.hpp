// SPDX-License-Identifier: Apache-2.0
//
// A thread that moves the bytes of asynchronous copies, as an engine of its own would.
// Owns: the thread and what it still has to move. Does not own: the memory, or which request may be
// served meanwhile (kernel.hpp). Layer: backend (simulated kernel).
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>

namespace neuronbook {
inline namespace v0 {
namespace sim {

/// Moves piece after piece, each of them whole, so ranges that overlap by less than a piece do not
/// come out as memmove leaves them.
inline void move_pieces(std::byte* to, const std::byte* from, std::uint64_t size,
                        std::uint64_t most) {
    for (std::uint64_t done = 0; done < size; done += most)
        std::memmove(to + done, from + done, std::min(most, size - done));
}

/// Moves are done in the order in which they were put, and are known by their number, from 1. The
/// thread starts with the first of them and ends with the object, after the last one. In a forked
/// child, which has no such thread, nothing is waited for. put() and wait(): any thread.
class Mover {
public:
    struct Move {
        std::byte* to;
        const std::byte* from;
        std::uint64_t size;
        std::uint64_t piece;
    };

    Mover() = default;
    Mover(const Mover&) = delete;
    Mover& operator=(const Mover&) = delete;
    ~Mover() {
        if (!started_ || forked()) return;
        {
            const Guard guard(*this);
            ends_ = true;
            ::pthread_cond_broadcast(&changed_);
        }
        ::pthread_join(thread_, nullptr);
        ::pthread_cond_destroy(&changed_);
        ::pthread_mutex_destroy(&mutex_);
    }

    /// The number of the move, which is done at once where the host has no thread to give.
    std::uint64_t put(const Move& move) {
        if (!started_ && !start()) {
            move_pieces(move.to, move.from, move.size, move.piece);
            return 0;
        }
        const Guard guard(*this);
        moves_.push_back(move);
        const auto number = put_.load(std::memory_order_relaxed) + 1;
        put_.store(number, std::memory_order_release);
        ::pthread_cond_broadcast(&changed_);
        return number;
    }

    /// Until the move of that number, and all before it, are done.
    void wait(std::uint64_t number) {
        if (number == 0 || forked()) return;
        const auto is_done = [&] { return done_.load(std::memory_order_acquire) >= number; };
        if (comes_soon(is_done)) return;
        const Guard guard(*this);
        while (!is_done()) ::pthread_cond_wait(&changed_, &mutex_);
    }

    /// Number of the last move; 0 when none is under way.
    [[nodiscard]] std::uint64_t under_way() {
        if (!started_ || forked()) return 0;
        const auto put = put_.load(std::memory_order_acquire);
        return done_.load(std::memory_order_acquire) == put ? 0 : put;
    }

    /// For the kernel, under its lock: the move that the answer of a request is to wait for.
    std::uint64_t awaited = 0;

private:
    struct Guard {
        explicit Guard(Mover& mover) : mutex(mover.mutex_) { ::pthread_mutex_lock(&mutex); }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
        ~Guard() { ::pthread_mutex_unlock(&mutex); }
        pthread_mutex_t& mutex;
    };

    /// Looks for a while before the caller goes to sleep, since a sleeper's wake-up costs a good
    /// part of a staged piece. Each round lets others run, so that two threads which got one
    /// processor between them do not wait for each other's time to end.
    template <class Ready>
    static bool comes_soon(Ready ready) {
        for (int round = 0; round < kRounds; ++round) {
            for (int look = 0; look < kLooks; ++look)
                if (ready()) return true;
            ::sched_yield();
        }
        return false;
    }
    static constexpr int kRounds = 256; ///< some 200 us where nobody else is to run
    static constexpr int kLooks = 1024;

    [[nodiscard]] bool forked() const { return started_ && ::getpid() != pid_; }

    bool start() {
        pid_ = ::getpid();
        started_ = ::pthread_create(&thread_, nullptr, &Mover::run, this) == 0;
        return started_;
    }

    static void* run(void* self) {
        static_cast<Mover*>(self)->work();
        return nullptr;
    }

    void work() {
        for (std::uint64_t done = 0;; ++done) {
            (void)comes_soon([&] { return put_.load(std::memory_order_acquire) != done; });
            Move move{};
            {
                const Guard guard(*this);
                while (moves_.empty() && !ends_) ::pthread_cond_wait(&changed_, &mutex_);
                if (moves_.empty()) return;
                move = moves_.front();
                moves_.pop_front();
            }
            move_pieces(move.to, move.from, move.size, move.piece);
            const Guard guard(*this);
            done_.store(done + 1, std::memory_order_release);
            ::pthread_cond_broadcast(&changed_);
        }
    }

    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER; ///< guards what follows, but thread and pid
    pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
    std::deque<Move> moves_;
    std::atomic<std::uint64_t> put_{0};  ///< written with the lock, read without
    std::atomic<std::uint64_t> done_{0}; ///< as put_
    bool ends_ = false;
    bool started_ = false; ///< guarded by the kernel's lock, as thread and process
    pthread_t thread_{};
    ::pid_t pid_ = 0;
};

} // namespace sim
} // namespace v0
} // namespace neuronbook

// SPDX-License-Identifier: Apache-2.0
// One file as the weights of one model: staged, read back, compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuronbook/neuronbook.hpp"

namespace quickstart {

namespace nb = neuronbook;

/// FNV-1a, 64 bits: enough to see a byte that went astray.
class Checksum {
public:
    void add(std::span<const std::byte> bytes) {
        for (const std::byte b : bytes)
            value_ = (value_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3u;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// A line that grows while more than 64 MiB move.
class Progress {
public:
    Progress(const std::string& what, std::uint64_t total) : what_(what), total_(total) {}
    ~Progress() {
        if (shown_) std::fputc('\n', stderr);
    }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void at(std::uint64_t done) {
        if (total_ <= kStep || (done < next_ && done != total_)) return;
        next_ = done + kStep;
        shown_ = true;
        std::fprintf(stderr, "\r%s: %s of %s (%u%%)", what_.c_str(),
                     nb::human(nb::Bytes{done}).c_str(), nb::human(nb::Bytes{total_}).c_str(),
                     static_cast<unsigned>(done * 100 / total_));
    }

private:
    static constexpr std::uint64_t kStep = std::uint64_t{64} << 20;

    const std::string& what_;
    std::uint64_t total_;
    std::uint64_t next_ = kStep;
    bool shown_ = false;
};

/// A model that is nothing but weights, on one core, with a tier of its own.
template <class Runtime>
class StagedModel {
public:
    /// Effects: allocates the file's size from a fresh MODEL allocator and copies it there.
    static nb::Result<StagedModel> stage(Runtime& runtime, nb::PhysicalCore core,
                                         const std::string& path, std::uint64_t size) {
        StagedModel model(path, core, size);
        auto tier = runtime.model_allocator(core);
        if (!tier) return nb::fail(tier.error());
        model.tier_ = *std::move(tier);
        auto block = model.tier_->allocate(
            {.size = nb::Bytes{size}, .usage = nb::Usage::Weight, .hint = path});
        if (!block) return nb::fail(block.error());
        model.weights_ = *std::move(block);

        std::ifstream file(path, std::ios::binary);
        auto copied = model.move_all("staging " + path, [&](nb::Bytes at, auto piece) {
            file.read(reinterpret_cast<char*>(piece.data()),
                      static_cast<std::streamsize>(piece.size()));
            if (static_cast<std::size_t>(file.gcount()) != piece.size())
                return nb::Result<void>(nb::fail({.operation = nb::Operation::Copy,
                                                  .detail = nb::Detail::FileUnreadable,
                                                  .text = std::string_view(path)}));
            model.written_.add(piece);
            return model.tier_->write(model.weights_, at, piece);
        });
        if (!copied) return nb::fail(copied.error());
        return model;
    }

    /// Effects: reads the weights back. Returns whether they are the file's bytes.
    nb::Result<bool> verify() {
        Checksum read_back;
        auto read = move_all("reading back " + path_, [&](nb::Bytes at, auto piece) {
            auto done = tier_->read(weights_, at, piece);
            read_back.add(piece);
            return done;
        });
        if (!read) return nb::fail(read.error());
        return read_back.value() == written_.value();
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] nb::PhysicalCore core() const { return core_; }
    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] std::uint64_t checksum() const { return written_.value(); }
    [[nodiscard]] const nb::Block& weights() const { return weights_; }

    /// Effects: gives the weights back.
    nb::Result<void> free() { return tier_->free(std::move(weights_)); }

private:
    StagedModel(std::string path, nb::PhysicalCore core, std::uint64_t size)
        : path_(std::move(path)), core_(core), size_(size) {}

    /// Runs `step(offset, buffer)` over the whole size, 8 MiB at a time.
    template <class F>
    nb::Result<void> move_all(const std::string& what, F step) {
        constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
        std::vector<std::byte> buffer(std::min(size_, kPiece));
        Progress progress(what, size_);
        for (std::uint64_t done = 0; done < size_;) {
            const auto piece = std::min(size_ - done, kPiece);
            auto moved = step(nb::Bytes{done}, std::span(buffer.data(), piece));
            if (!moved) return moved;
            progress.at(done += piece);
        }
        return {};
    }

    std::string path_;
    nb::PhysicalCore core_;
    std::uint64_t size_;
    Checksum written_;
    std::unique_ptr<typename Runtime::ModelAllocator> tier_;
    nb::Block weights_;
};

} // namespace quickstart

// SPDX-License-Identifier: Apache-2.0
// One file as the weights of one model: staged, read back, compared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "input_file.hpp"
#include "neuronbook/neuronbook.hpp"
#include "progress.hpp"

namespace quickstart {

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

/// A model that is nothing but weights, on one core, with a tier of its own.
template <class Runtime>
class StagedModel {
public:
    /// Effects: allocates the file's size from a fresh MODEL allocator and copies it there.
    static nb::Result<StagedModel> stage(Runtime& runtime, nb::PhysicalCore core,
                                         const std::string& path, Progress& progress) {
        auto file = InputFile::open(path);
        if (!file) return nb::fail(file.error());
        StagedModel model(path, core, file->size());
        auto tier = runtime.model_allocator(core);
        if (!tier) return nb::fail(tier.error());
        model.tier_ = *std::move(tier);
        auto block = model.tier_->allocate(
            {.size = nb::Bytes{file->size()}, .usage = nb::Usage::Weight, .hint = path});
        if (!block) return nb::fail(block.error());
        model.weights_ = *std::move(block);

        auto copied = model.move_all(progress, [&](nb::Bytes at, auto piece) {
            if (auto read = file->read(piece); !read) return read;
            model.written_.add(piece);
            return model.tier_->write(model.weights_, at, piece);
        });
        if (!copied) return nb::fail(copied.error());
        return model;
    }

    /// Effects: reads the weights back. Returns whether they are the file's bytes.
    nb::Result<bool> verify(Progress& progress) {
        Checksum read_back;
        auto read = move_all(progress, [&](nb::Bytes at, auto piece) {
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
    nb::Result<void> move_all(Progress& progress, F step) {
        constexpr std::uint64_t kPiece = std::uint64_t{8} << 20;
        std::vector<std::byte> buffer(std::min(size_, kPiece));
        for (std::uint64_t done = 0; done < size_;) {
            const auto piece = std::min(size_ - done, kPiece);
            auto moved = step(nb::Bytes{done}, std::span(buffer.data(), piece));
            if (!moved) return moved;
            done += piece;
            progress.add(piece);
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

// SPDX-License-Identifier: Apache-2.0
// A file that is read once, from its beginning to its end.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "neuronbook/neuronbook.hpp"

namespace quickstart {

namespace nb = neuronbook;

class InputFile {
public:
    /// Errors: FileUnreadable with the errno for a file that is not there, may not be read or has
    /// no size, FileEmpty for one without a byte.
    static nb::Result<InputFile> open(const std::string& path) {
        std::error_code failed;
        const std::uint64_t size = std::filesystem::file_size(path, failed);
        if (failed) return nb::fail(unreadable(path, failed.value()));
        InputFile file(path, size);
        if (!file.stream_) return nb::fail(unreadable(path, errno));
        if (size > 0) return file;
        nb::Error error = unreadable(path, 0);
        error.detail = nb::Detail::FileEmpty;
        return nb::fail(error);
    }

    [[nodiscard]] std::uint64_t size() const { return size_; }

    /// The next bytes, all of `into`. Errors: FileUnreadable; without an errno when the file has
    /// become shorter.
    nb::Result<void> read(std::span<std::byte> into) {
        errno = 0;
        if (std::fread(into.data(), 1, into.size(), stream_.get()) == into.size()) return {};
        nb::Error error = unreadable(path_, std::ferror(stream_.get()) ? errno : 0);
        error.operation = nb::Operation::Copy;
        return nb::fail(error);
    }

private:
    struct Close {
        void operator()(std::FILE* stream) const { std::fclose(stream); }
    };

    InputFile(std::string path, std::uint64_t size)
        : path_(std::move(path)), size_(size), stream_(std::fopen(path_.c_str(), "rb")) {}

    static nb::Error unreadable(std::string_view path, int number) {
        return {.status = nb::Status::Invalid,
                .operation = nb::Operation::BringUp,
                .detail = nb::Detail::FileUnreadable,
                .os_error = number,
                .text = path};
    }

    std::string path_;
    std::uint64_t size_;
    std::unique_ptr<std::FILE, Close> stream_;
};

} // namespace quickstart

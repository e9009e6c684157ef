// SPDX-License-Identifier: Apache-2.0
//
// A port chosen at run time.
// Owns: the erased port. Does not own: the kernel behind it.
// Layer: backend.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "neuronbook/backend/port.hpp"

namespace neuronbook {
inline namespace v0 {

/// Any port behind one type, so that a program picks real devices or simulated ones with an option
/// and is compiled once. Copies share the port. One indirect call beside an ioctl.
class AnyPort {
public:
    template <class P>
        requires(!std::same_as<P, AnyPort>) && Port<P>
    explicit AnyPort(P port) : port_(std::make_shared<Held<P>>(std::move(port))) {}

    std::int64_t open(const char* path, Access access) { return port_->open(path, access); }
    std::int64_t close(int fd) { return port_->close(fd); }
    std::int64_t ioctl(int fd, std::uint32_t request, void* argument) {
        return port_->ioctl(fd, request, argument);
    }
    Mapping map(int fd, Bytes length, bool writable, std::uint64_t offset) {
        return port_->map(fd, length, writable, offset);
    }
    std::int64_t unmap(void* address, Bytes length) { return port_->unmap(address, length); }
    std::int64_t read_file(const char* path, std::span<char> buffer) {
        return port_->read_file(path, buffer);
    }
    bool exists(const char* path) { return port_->exists(path); }
    Nanoseconds now() { return port_->now(); }
    void sleep(Nanoseconds duration) { port_->sleep(duration); }
    [[nodiscard]] PortIdentity identity() const { return port_->identity(); }

private:
    struct Base {
        virtual ~Base() = default;
        virtual std::int64_t open(const char*, Access) = 0;
        virtual std::int64_t close(int) = 0;
        virtual std::int64_t ioctl(int, std::uint32_t, void*) = 0;
        virtual Mapping map(int, Bytes, bool, std::uint64_t) = 0;
        virtual std::int64_t unmap(void*, Bytes) = 0;
        virtual std::int64_t read_file(const char*, std::span<char>) = 0;
        virtual bool exists(const char*) = 0;
        virtual Nanoseconds now() = 0;
        virtual void sleep(Nanoseconds) = 0;
        [[nodiscard]] virtual PortIdentity identity() const = 0;
    };

    template <Port P>
    struct Held final : Base {
        explicit Held(P inner) : port(std::move(inner)) {}
        std::int64_t open(const char* path, Access access) override {
            return port.open(path, access);
        }
        std::int64_t close(int fd) override { return port.close(fd); }
        std::int64_t ioctl(int fd, std::uint32_t request, void* argument) override {
            return port.ioctl(fd, request, argument);
        }
        Mapping map(int fd, Bytes length, bool writable, std::uint64_t offset) override {
            return port.map(fd, length, writable, offset);
        }
        std::int64_t unmap(void* address, Bytes length) override {
            return port.unmap(address, length);
        }
        std::int64_t read_file(const char* path, std::span<char> buffer) override {
            return port.read_file(path, buffer);
        }
        bool exists(const char* path) override { return port.exists(path); }
        Nanoseconds now() override { return port.now(); }
        void sleep(Nanoseconds duration) override { port.sleep(duration); }
        [[nodiscard]] PortIdentity identity() const override { return port.identity(); }
        P port;
    };

    std::shared_ptr<Base> port_;
};

static_assert(Port<AnyPort>);

} // namespace v0
} // namespace neuronbook

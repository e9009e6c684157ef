// SPDX-License-Identifier: Apache-2.0
#include "neuronbook/backend/sim/tickets.hpp"

#include "support/catch.hpp"

namespace {

using namespace neuronbook;
using sim::Tickets;

Request with(Request request, std::uint64_t ticket) {
    request.ticket = ticket;
    return request;
}

} // namespace

TEST_CASE("a ticket is good for its process and its request alone", "[sim][tickets]") {
    Tickets tickets;
    const Request request{IoctlRequest{7, 0x40, 0x1000}};
    const auto ticket = tickets.give({5, false}, request, {{123}, {100}});
    REQUIRE(tickets.find({5, false}, with(request, ticket)) != nullptr);
    CHECK(tickets.find({5, false}, with(request, ticket))->until.count == 123);
    CHECK(tickets.find({5, false}, with(request, ticket))->since.count == 100);
    CHECK(tickets.find({5, true}, with(request, ticket)) != nullptr); // the same process
    CHECK(tickets.find({6, false}, with(request, ticket)) == nullptr);
    CHECK(tickets.find({5, false}, with({IoctlRequest{8, 0x40, 0x1000}}, ticket)) == nullptr);
    CHECK(tickets.find({5, false}, with({IoctlRequest{7, 0x41, 0x1000}}, ticket)) == nullptr);
    CHECK(tickets.find({5, false}, with({IoctlRequest{7, 0x40, 0x2000}}, ticket)) == nullptr);
    CHECK(tickets.find({5, false}, with({FlushRequest{7}}, ticket)) == nullptr);
    CHECK(tickets.find({5, false}, with(request, ticket + 1)) == nullptr);
    CHECK(tickets.find({5, false}, request) == nullptr);
    tickets.drop(ticket);
    CHECK(tickets.find({5, false}, with(request, ticket)) == nullptr);
}

TEST_CASE("tickets go with their process and with their file", "[sim][tickets]") {
    Tickets tickets;
    const auto first = tickets.give({5, false}, {FlushRequest{1}}, {});
    const auto second = tickets.give({5, false}, {FlushRequest{2}}, {});
    const auto third = tickets.give({6, false}, {IoctlRequest{1, 0, 0}}, {});
    tickets.drop_file(1);
    CHECK(tickets.find({5, false}, {FlushRequest{1}, first}) == nullptr);
    CHECK(tickets.find({6, false}, {IoctlRequest{1, 0, 0}, third}) == nullptr);
    CHECK(tickets.find({5, false}, {FlushRequest{2}, second}) != nullptr);
    tickets.drop_process(6);
    CHECK(tickets.waiting() == 1);
    tickets.drop_process(5);
    CHECK(tickets.waiting() == 0);
}

TEST_CASE("tickets that nobody comes back for do not pile up", "[sim][tickets]") {
    Tickets tickets;
    std::uint64_t first = 0, last = 0;
    for (std::int64_t file = 0; file < 5000; ++file) {
        last = tickets.give({5, false}, {FlushRequest{file}}, {});
        if (file == 0) first = last;
    }
    CHECK(tickets.waiting() == 1024);
    CHECK(tickets.find({5, false}, {FlushRequest{0}, first}) == nullptr);
    CHECK(tickets.find({5, false}, {FlushRequest{4999}, last}) != nullptr);
}

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "neuronbook/base/node_table.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

struct Item : TableNode<> {
    explicit Item(std::uint64_t number) : TableNode<>(number) {}
};

static_assert(!std::is_copy_constructible_v<Item> && !std::is_move_constructible_v<Item>);
static_assert(!std::is_copy_assignable_v<Item> && !std::is_move_assignable_v<Item>);
static_assert(!std::is_move_constructible_v<NodeTable<Item>>);

struct ByName;
struct ByNumber;
std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

} // namespace

TEST_CASE("a node is found by its number, and null is not found", "[base][node_table]") {
    NodeTable<Item> table;
    Item seven(7), zero(0), most(~std::uint64_t{0});
    REQUIRE(table.insert(seven));
    REQUIRE(table.insert(zero));
    REQUIRE(table.insert(most));
    CHECK(table.find(7) == &seven);
    CHECK(table.find(0) == &zero);
    CHECK(table.find(0xFFFF'FFFF'FFFF'FFFFu) == &most);
    CHECK(table.find(8) == nullptr);
    CHECK(table.size() == 3);
    table.clear();
}

TEST_CASE("names and bytes are keys too, and the kinds never meet", "[base][node_table]") {
    struct Any : TableNode<> {
        using TableNode<>::TableNode;
    };
    const std::string text = "ab";
    Any name("ab"), raw(bytes_of(text)), number(2), empty(std::string_view{}), longer("abc");
    NodeTable<Any> table;
    for (auto* node : {&name, &raw, &number, &empty, &longer}) REQUIRE(table.insert(*node));
    CHECK(table.find("ab") == &name);
    CHECK(table.find(std::string_view("ab")) == &name);
    CHECK(table.find(bytes_of(text)) == &raw);
    CHECK(table.find(2u) == &number);
    CHECK(table.find("") == &empty);
    CHECK(table.find("abc") == &longer);
    CHECK(table.find("a") == nullptr);
    CHECK(table.find(std::span<const std::byte>{}) == nullptr);
    table.clear();
}

TEST_CASE("raw keys of 260 bytes differ by their last byte", "[base][node_table]") {
    struct Raw : TableNode<> {
        using TableNode<>::TableNode;
    };
    std::array<std::string, 3> keys;
    for (auto& key : keys) key.assign(260, '\0');
    keys[1][259] = 1;
    keys[2][0] = 1;
    Raw a(bytes_of(keys[0])), b(bytes_of(keys[1])), c(bytes_of(keys[2]));
    NodeTable<Raw> table;
    REQUIRE(table.insert(a));
    REQUIRE(table.insert(b));
    REQUIRE(table.insert(c));
    for (auto* node : {&a, &b, &c}) CHECK(table.find(node->key()) == node);
    table.clear();
}

TEST_CASE("a duplicate key is refused and the first node stays", "[base][node_table]") {
    NodeTable<Item> table;
    Item first(1), second(1);
    REQUIRE(table.insert(first));
    CHECK_FALSE(table.insert(second));
    CHECK_FALSE(table.insert(first));
    CHECK(table.find(1) == &first);
    CHECK(table.size() == 1);
    CHECK(table.remove(1) == &first);
    CHECK(table.insert(second));
    table.clear();
}

TEST_CASE("a node leaves only the table it is in", "[base][node_table]") {
    NodeTable<Item> here, there;
    Item mine(1), other(1);
    REQUIRE(here.insert(mine));
    REQUIRE(there.insert(other));
    CHECK_FALSE(there.remove(mine));
    CHECK(here.find(1) == &mine);
    CHECK(here.remove(mine));
    CHECK_FALSE(here.remove(mine));
    CHECK(here.remove(1) == nullptr);
    CHECK(there.remove(1) == &other);
}

TEST_CASE("one object sits in two tables, each by its own key", "[base][node_table]") {
    struct Both : TableNode<ByName>, TableNode<ByNumber> {
        Both(const char* name, std::uint32_t handle)
            : TableNode<ByName>(name), TableNode<ByNumber>(handle) {}
    };
    NodeTable<Both, ByName> names;
    NodeTable<Both, ByNumber> handles;
    Both a("alpha", 1), b("beta", 2);
    REQUIRE(names.insert(a));
    REQUIRE(names.insert(b));
    REQUIRE(handles.insert(a));
    CHECK(names.find("alpha") == &a);
    CHECK(handles.find(1) == &a);
    CHECK(handles.find(2) == nullptr);
    CHECK(names.remove(a));
    CHECK(handles.find(1) == &a);
    CHECK(names.remove("beta") == &b);
    CHECK(handles.remove(a));
}

TEST_CASE("the table doubles when it holds more nodes than buckets", "[base][node_table]") {
    NodeTable<Item> table(3);
    CHECK(table.buckets() == 4);
    std::deque<Item> items;
    for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(table.insert(items.emplace_back(i)));
    CHECK(table.buckets() == 1024);
    for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(table.find(i) == &items[i]);
    table.clear();
    CHECK(table.size() == 0);
}

TEST_CASE("each node left is freed once when the table ends", "[base][node_table]") {
    std::vector<std::uint64_t> freed;
    {
        NodeTable<Item> table(
            4,
            [](void* context, Item& item) {
                static_cast<std::vector<std::uint64_t>*>(context)->push_back(item.key().integer());
                delete &item;
            },
            &freed);
        for (std::uint64_t i = 0; i < 5; ++i) REQUIRE(table.insert(*new Item(i)));
        delete table.remove(3);
        CHECK(freed.empty());
    }
    CHECK(std::set(freed.begin(), freed.end()) == std::set<std::uint64_t>{0, 1, 2, 4});
    CHECK(freed.size() == 4);
}

TEST_CASE("what freeing puts in is freed too", "[base][node_table]") {
    struct Refill {
        NodeTable<Item>* table = nullptr;
        std::deque<Item> items;
        std::size_t freed = 0;
    } refill;
    NodeTable<Item> table(
        4,
        [](void* context, Item&) {
            auto& r = *static_cast<Refill*>(context);
            ++r.freed;
            if (r.items.size() < 100) CHECK(r.table->insert(r.items.emplace_back(r.items.size())));
        },
        &refill);
    refill.table = &table;
    REQUIRE(table.insert(refill.items.emplace_back(0)));
    table.clear();
    CHECK(refill.freed == 100);
    CHECK(table.size() == 0);
}

TEST_CASE("emptying a large table takes about as long as filling it", "[base][node_table]") {
    std::deque<Item> items;
    NodeTable<Item> table;
    const auto start = std::clock(); // the processor's time, so that a busy machine does not matter
    for (std::uint64_t i = 0; i < 80000; ++i)
        if (!table.insert(items.emplace_back(i))) FAIL("a duplicate");
    const auto filled = std::clock();
    table.clear();
    const auto emptied = std::clock();
    CHECK(table.size() == 0);
    CHECK(emptied - filled < 10 * (filled - start)); // it was a hundred times as long and more
}

TEST_CASE("freeing may change the table it happens in", "[base][node_table]") {
    struct Pair {
        NodeTable<Item>* table = nullptr;
        Item* partner = nullptr;
        int freed = 0;
    } pair;
    Item a(1), b(2);
    NodeTable<Item> table(
        4,
        [](void* context, Item&) {
            auto& p = *static_cast<Pair*>(context);
            ++p.freed;
            for (std::uint64_t key : {1, 2}) p.table->remove(key);
        },
        &pair);
    pair.table = &table;
    REQUIRE(table.insert(a));
    REQUIRE(table.insert(b));
    table.clear();
    CHECK(pair.freed == 1);
    CHECK(table.size() == 0);
}

TEST_CASE("E17: unlinking clears, and a walk survives whatever its callback takes out",
          "[base][node_table]") {
    for (const std::size_t buckets : {1u, 4u, 64u}) {
        std::deque<Item> items;
        NodeTable<Item> table(buckets);
        for (std::uint64_t i = 0; i < 40; ++i) REQUIRE(table.insert(items.emplace_back(i)));

        SECTION("the current node, " + std::to_string(buckets) + " buckets") {
            std::set<std::uint64_t> seen;
            table.for_each([&](Item& item) {
                CHECK(seen.insert(item.key().integer()).second);
                CHECK(table.remove(item));
                CHECK_FALSE(item.is_linked());
            });
            CHECK(seen.size() == 40);
            CHECK(table.size() == 0);
        }
        SECTION("the current and the next node, " + std::to_string(buckets) + " buckets") {
            std::size_t visits = 0, removed = 0;
            NodeTable<Item>::Walk walk(table);
            while (auto* item = walk.next()) {
                ++visits;
                NodeTable<Item>::Walk ahead(table); // finds who comes after `item`
                while (ahead.next() != item) {}
                if (auto* after = ahead.next()) removed += table.remove(*after);
                removed += table.remove(*item);
                CHECK_FALSE(item->is_linked());
            }
            CHECK(visits == 20);
            CHECK(removed == 40);
        }
        SECTION("every node, " + std::to_string(buckets) + " buckets") {
            std::size_t visits = 0;
            table.for_each([&](Item&) {
                ++visits;
                table.clear();
            });
            CHECK(visits == 1);
        }
        table.clear();
    }
}

TEST_CASE("nodes that come in during a walk break nothing", "[base][node_table]") {
    std::deque<Item> items;
    NodeTable<Item> table(2);
    for (std::uint64_t i = 0; i < 8; ++i) REQUIRE(table.insert(items.emplace_back(i)));
    std::multiset<std::uint64_t> seen;
    table.for_each([&](Item& item) {
        seen.insert(item.key().integer());
        if (items.size() < 60) CHECK(table.insert(items.emplace_back(100 + items.size())));
    });
    for (std::uint64_t i = 0; i < 8; ++i) CHECK(seen.count(i) == 1);
    table.clear();
}

TEST_CASE("a walk that outlives its table has no next node", "[base][node_table]") {
    Item item(1);
    auto table = std::make_unique<NodeTable<Item>>();
    REQUIRE(table->insert(item));
    NodeTable<Item>::Walk walk(*table);
    table.reset();
    CHECK(walk.next() == nullptr);
    CHECK_FALSE(item.is_linked());
}

TEST_CASE("random operations agree with a map", "[base][node_table]") {
    std::mt19937 random(GENERATE(1u, 2u, 3u));
    std::map<std::uint64_t, std::unique_ptr<Item>> model;
    NodeTable<Item> table(1);
    for (int step = 0; step < 20000; ++step) {
        const std::uint64_t key = random() % 300;
        switch (random() % 3) {
        case 0: {
            auto item = std::make_unique<Item>(key);
            REQUIRE(table.insert(*item) == !model.contains(key));
            model.try_emplace(key, std::move(item));
            break;
        }
        case 1: {
            const auto at = model.find(key);
            REQUIRE(table.remove(key) == (at == model.end() ? nullptr : at->second.get()));
            model.erase(key);
            break;
        }
        default: {
            const auto at = model.find(key);
            REQUIRE(table.find(key) == (at == model.end() ? nullptr : at->second.get()));
        }
        }
        REQUIRE(table.size() == model.size());
    }
    std::set<std::uint64_t> walked;
    table.for_each([&](Item& item) { walked.insert(item.key().integer()); });
    CHECK(walked.size() == model.size());
    table.clear();
}

TEST_CASE("room made before is taken without allocating, and only if it is larger",
          "[base][node_table]") {
    NodeTable<Item> table(4);
    std::deque<Item> items;
    for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(table.insert(items.emplace_back(i)));
    CHECK(table.buckets_wanted() == 8); // one more would make it grow by itself
    NodeTable<Item>::Room small(2), none, large(table.buckets_wanted());
    table.take_room(small);
    table.take_room(none);
    CHECK(table.buckets() == 4);
    {
        NodeTable<Item>::Walk walk(table);
        CHECK(table.buckets_wanted() == 4);
        table.take_room(large); // not under a walk
        CHECK(table.buckets() == 4);
    }
    table.take_room(large);
    CHECK(table.buckets() == 8);
    CHECK(table.buckets_wanted() == 8);
    for (std::uint64_t i = 0; i < 4; ++i) CHECK(table.find(i) == &items[i]);
    REQUIRE(table.insert(items.emplace_back(4)));
    CHECK(table.buckets() == 8);
    table.clear();
}

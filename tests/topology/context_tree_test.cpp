// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <set>
#include <type_traits>
#include <vector>

#include "neuronbook/topology/context_tree.hpp"
#include "support/catch.hpp"

using namespace neuronbook;

namespace {

using Tree = ContextTree<>;

static_assert(!std::is_copy_constructible_v<Tree> && !std::is_move_constructible_v<Tree>);
static_assert(sizeof(ContextTree<32, 8>) <= 65536);

DeviceEntry device(std::uint32_t host, Architecture architecture = Architecture::Cayman) {
    return {.host = HostDeviceId{host},
            .routing = RoutingId{host + 100},
            .bus = {.bus = host},
            .geometry = geometry_of(architecture)};
}
constexpr PhysicalCore core(std::uint32_t device, std::uint32_t index) {
    return {DeviceIndex{device}, CoreIndex{index}};
}

/// Devices 0 and 1 (host 4 and 9); of the first cores 2, 3 and 7, of the second core 0.
std::unique_ptr<Tree> small_tree() {
    auto tree = std::make_unique<Tree>();
    REQUIRE(tree->add_device(device(4)));
    REQUIRE(tree->add_device(device(9)));
    for (const auto& each : {core(0, 2), core(0, 3), core(0, 7), core(1, 0)})
        REQUIRE(tree->own_core(each, UserCore{each.core.value() + 32}));
    return tree;
}

void check_miss(const Tree& tree, PhysicalCore asked, Detail detail, std::uint64_t value,
                std::uint64_t limit) {
    const auto found = tree.resolve(asked);
    REQUIRE_FALSE(found);
    CHECK(found.error().status == Status::Invalid);
    CHECK(found.error().operation == Operation::Resolve);
    CHECK(found.error().detail == detail);
    CHECK(found.error().value == value);
    CHECK(found.error().limit == limit);
}

// resolve() works where the compiler computes.
constexpr bool resolves_in_constant_expressions() {
    ContextTree<2, 2> tree;
    const DeviceEntry entry{.host = HostDeviceId{5}, .geometry = geometry_of(Architecture::Sunda)};
    if (tree.resolve(core(0, 1))) return false;
    if (!tree.add_device(entry) || !tree.own_core(core(0, 1), UserCore{11})) return false;
    const auto found = tree.resolve(core(0, 1));
    return found && (*found).core->user() == UserCore{11} && !tree.resolve(core(0, 0));
}
static_assert(resolves_in_constant_expressions());
constexpr ContextTree<> kEmpty;
static_assert(!kEmpty.resolve(core(0, 0)));

} // namespace

TEST_CASE("a core that is owned resolves to its device and its record", "[topology][tree]") {
    const auto tree = small_tree();
    const auto found = tree->resolve(core(0, 7));
    REQUIRE(found);
    CHECK(found->device->host() == HostDeviceId{4});
    CHECK(found->device->index() == DeviceIndex{0});
    CHECK(found->core->id() == core(0, 7));
    CHECK(found->core->user() == UserCore{39});
    CHECK(found->core->device() == found->device);
    CHECK(tree->resolve(core(1, 0))->device->host() == HostDeviceId{9});
}

TEST_CASE("every core of a full tree resolves to a record of its own", "[topology][tree]") {
    auto tree = std::make_unique<Tree>();
    std::set<const void*> records;
    for (std::uint32_t d = 0; d < 32; ++d) {
        REQUIRE(tree->add_device(device(d * 2)));
        for (std::uint32_t c = 0; c < 8; ++c)
            REQUIRE(tree->own_core(core(d, c), UserCore{d * 16 + c}));
    }
    for (std::uint32_t d = 0; d < 32; ++d)
        for (std::uint32_t c = 0; c < 8; ++c) {
            const auto found = tree->resolve(core(d, c));
            REQUIRE(found);
            REQUIRE(found->core->id() == core(d, c));
            REQUIRE(found->device->host() == HostDeviceId{d * 2});
            REQUIRE(records.insert(found->core).second);
        }
    CHECK(tree->core_count() == 256);
}

TEST_CASE("a miss says which number broke which bound", "[topology][tree]") {
    const auto tree = small_tree();
    check_miss(*tree, core(0, 0), Detail::CoreNotOwned, 0, 8);
    check_miss(*tree, core(1, 7), Detail::CoreNotOwned, 7, 8);
    check_miss(*tree, core(0, 8), Detail::CoreOutOfRange, 8, 8);
    check_miss(*tree, core(2, 0), Detail::DeviceOutOfRange, 2, 2);
    check_miss(*tree, core(31, 0), Detail::DeviceOutOfRange, 31, 2);
    check_miss(*tree, core(32, 0), Detail::DeviceOutOfRange, 32, 32);
    CHECK(tree->resolve(core(1, 3)).error().device == 9);
    CHECK(tree->resolve(core(1, 3)).error().core == 3);
}

TEST_CASE("a core number past its row never passes for a core of the next device",
          "[topology][tree]") {
    const auto tree = small_tree();
    check_miss(*tree, core(0, 8), Detail::CoreOutOfRange, 8, 8); // the flat number of core(1, 0)
    check_miss(*tree, core(0, 200), Detail::CoreOutOfRange, 200, 8);
    check_miss(*tree, core(0, 0xFFFF'FFFFu), Detail::CoreOutOfRange, 0xFFFF'FFFFu, 8);
    check_miss(*tree, core(0x2000'0000u, 2), Detail::DeviceOutOfRange, 0x2000'0000u, 32);
    check_miss(*tree, core(0xFFFF'FFFFu, 0xFFFF'FFFFu), Detail::DeviceOutOfRange, 0xFFFF'FFFFu, 32);
}

TEST_CASE("no pair of numbers but an owned one resolves", "[topology][tree]") {
    const auto tree = small_tree();
    std::vector<PhysicalCore> found;
    for (std::uint32_t d = 0; d < 70; ++d)
        for (std::uint32_t c = 0; c < 600; ++c)
            if (tree->resolve(core(d, c))) found.push_back(core(d, c));
    CHECK(found == std::vector{core(0, 2), core(0, 3), core(0, 7), core(1, 0)});
}

TEST_CASE("a second-generation device has two cores, whatever the tree has room for",
          "[topology][tree]") {
    auto tree = std::make_unique<Tree>();
    REQUIRE(tree->add_device(device(0, Architecture::Sunda)));
    const auto refused = tree->own_core(core(0, 2), UserCore{2});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::CoreOutOfRange);
    CHECK(refused.error().limit == 2);
    check_miss(*tree, core(0, 5), Detail::CoreOutOfRange, 5, 2);
}

TEST_CASE("the 33rd device is refused, naming both numbers", "[topology][tree]") {
    auto tree = std::make_unique<Tree>();
    for (std::uint32_t d = 0; d < 32; ++d) REQUIRE(tree->add_device(device(d)));
    const auto refused = tree->add_device(device(40));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status == Status::Resource);
    CHECK(refused.error().detail == Detail::TooManyDevices);
    CHECK(refused.error().value == 33);
    CHECK(refused.error().limit == 32);
    CHECK(refused.error().device == 40);
    CHECK(tree->device_count() == 32);
}

TEST_CASE("devices that cannot be added leave the tree as it is", "[topology][tree]") {
    const auto tree = small_tree();
    CHECK(tree->add_device(device(9)).error().detail == Detail::Duplicate);
    CHECK(tree->add_device({}).error().detail == Detail::ImpossibleGeometry);
    ContextTree<4, 2> narrow;
    const auto refused = narrow.add_device(device(0));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().detail == Detail::ImpossibleGeometry);
    CHECK(refused.error().value == 8);
    CHECK(refused.error().limit == 2);
    CHECK(tree->device_count() == 2);
}

TEST_CASE("cores that cannot be owned are refused", "[topology][tree]") {
    const auto tree = small_tree();
    const auto refused = [&](PhysicalCore asked) {
        return tree->own_core(asked, UserCore{0}).error().detail;
    };
    CHECK(refused(core(0, 2)) == Detail::Duplicate);
    CHECK(refused(core(0, 8)) == Detail::CoreOutOfRange);
    CHECK(refused(core(2, 0)) == Detail::DeviceOutOfRange);
    CHECK(refused(core(0xFFFF'FFFFu, 0)) == Detail::DeviceOutOfRange);
    CHECK(tree->core_count() == 4);
}

TEST_CASE("devices are found by slot, host number and routing id", "[topology][tree]") {
    const auto tree = small_tree();
    CHECK(tree->find(DeviceIndex{1})->host() == HostDeviceId{9});
    CHECK(tree->find(HostDeviceId{9})->index() == DeviceIndex{1});
    CHECK(tree->find(RoutingId{109})->index() == DeviceIndex{1});
    CHECK(tree->find(HostDeviceId{4})->bus() == BusAddress{.bus = 4});
}

TEST_CASE("E5: looking for a device that is not there gives null", "[topology][tree]") {
    const auto tree = small_tree();
    const Tree& view = *tree;
    CHECK(view.find(DeviceIndex{2}) == nullptr);
    CHECK(view.find(DeviceIndex{32}) == nullptr);
    CHECK(view.find(DeviceIndex{0xFFFF'FFFFu}) == nullptr);
    CHECK(view.find(HostDeviceId{0}) == nullptr); // free slots hold host number 0
    CHECK(view.find(RoutingId{0}) == nullptr);
    CHECK(Tree{}.find(HostDeviceId{4}) == nullptr);
}

TEST_CASE("the registry keeps owned cores in the order they came", "[topology][tree]") {
    auto tree = small_tree();
    REQUIRE(tree->own_core(core(0, 0), UserCore{0}));
    const auto order = [&] {
        std::vector<PhysicalCore> cores;
        tree->for_each_core([&](const auto& each) { cores.push_back(each.id()); });
        return cores;
    };
    CHECK(order() == std::vector{core(0, 2), core(0, 3), core(0, 7), core(1, 0), core(0, 0)});
    REQUIRE(tree->disown_core(core(0, 3)));
    CHECK(order() == std::vector{core(0, 2), core(0, 7), core(1, 0), core(0, 0)});
    CHECK(tree->core_at(3)->id() == core(0, 0));
    CHECK(tree->core_at(4) == nullptr);
    check_miss(*tree, core(0, 3), Detail::CoreNotOwned, 3, 8);
    CHECK_FALSE(tree->disown_core(core(0, 3)));
}

TEST_CASE("a device knows which of its cores are owned", "[topology][tree]") {
    const auto tree = small_tree();
    const auto& first = *tree->find(DeviceIndex{0});
    CHECK(first.owned_mask() == 0x8C);
    CHECK(first.owns(CoreIndex{7}));
    CHECK_FALSE(first.owns(CoreIndex{0}));
    CHECK_FALSE(first.owns(CoreIndex{8}));
    CHECK_FALSE(first.owns(CoreIndex{34}));
}

TEST_CASE("a removed device takes its cores along, and its slot is used again",
          "[topology][tree]") {
    const auto tree = small_tree();
    REQUIRE(tree->remove_device(DeviceIndex{0}));
    CHECK(tree->device_count() == 1);
    CHECK(tree->core_count() == 1);
    check_miss(*tree, core(0, 2), Detail::NotRegistered, 0, 2);
    CHECK(tree->remove_device(DeviceIndex{0}).error().detail == Detail::NotRegistered);
    CHECK(tree->remove_device(DeviceIndex{5}).error().detail == Detail::DeviceOutOfRange);
    CHECK(tree->resolve(core(1, 0)));
    const auto added = tree->add_device(device(20));
    REQUIRE(added);
    CHECK((*added)->index() == DeviceIndex{0});
    CHECK((*added)->owned_mask() == 0);
    check_miss(*tree, core(0, 2), Detail::CoreNotOwned, 2, 8);
}

TEST_CASE("C12: a cleared tree remembers nothing and can be filled again", "[topology][tree]") {
    const auto tree = small_tree();
    tree->set_machine({.architecture = Architecture::Cayman, .routing_map_size = 16});
    tree->clear();
    CHECK(tree->device_count() == 0);
    CHECK(tree->core_count() == 0);
    CHECK(tree->machine().architecture == Architecture::Invalid);
    CHECK(tree->machine().routing_map_size == 0);
    check_miss(*tree, core(0, 2), Detail::DeviceOutOfRange, 0, 0);
    REQUIRE(tree->add_device(device(1, Architecture::Sunda)));
    REQUIRE(tree->own_core(core(0, 1), UserCore{3}));
    CHECK(tree->resolve(core(0, 1))->core->user() == UserCore{3});
}

TEST_CASE("cores next to one HBM are given if they are owned", "[topology][tree]") {
    const auto tree = small_tree();
    auto group = tree->cores_on_hbm_of(core(0, 3));
    REQUIRE(group);
    REQUIRE(group->count == 2);
    CHECK(group->cores[0]->id() == core(0, 2));
    CHECK(group->cores[1]->id() == core(0, 3));
    group = tree->cores_on_hbm_of(core(0, 7));
    REQUIRE(group->count == 1);
    CHECK(group->cores[0]->id() == core(0, 7));
    CHECK(tree->cores_on_hbm_of(core(0, 6)).error().detail == Detail::CoreNotOwned);
    CHECK(tree->default_hbm(core(0, 7)) == 3u);
    CHECK(tree->default_hbm(core(0, 2)) == 1u);
    CHECK_FALSE(tree->default_hbm(core(0, 6)));
}

TEST_CASE("the payload of a core belongs to whoever instantiates the tree", "[topology][tree]") {
    struct Payload {
        std::vector<int> numbers{7};
    };
    ContextTree<2, 8, Payload> tree;
    REQUIRE(tree.add_device(device(0)));
    REQUIRE(tree.own_core(core(0, 4), UserCore{4}));
    tree.resolve(core(0, 4))->core->payload.numbers.push_back(8);
    const auto& view = tree;
    CHECK(view.resolve(core(0, 4))->core->payload.numbers == std::vector{7, 8});
}

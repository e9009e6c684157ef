// expect: no known conversion || no viable conversion || no matching member function
// resolve() takes the tree's own slot; a host number goes through find() first.
#include "neuronbook/topology/context_tree.hpp"

using namespace neuronbook;

bool there(const ContextTree<>& tree, HostDeviceId host, CoreIndex core) {
#ifdef REJECT
    return tree.resolve({host, core}).has_value();
#else
    const auto* device = tree.find(host);
    return device && tree.resolve({device->index(), core}).has_value();
#endif
}

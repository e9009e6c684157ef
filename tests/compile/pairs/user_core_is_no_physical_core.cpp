// expect: could not convert || no viable conversion || cannot convert
// What users count is not yet a core: the core map and the tree turn it into one.
#include "neuronbook/topology/core_map.hpp"

using namespace neuronbook;

Result<HostCore> where(const CoreMap& map, UserCore user, LogicalCore logical) {
#ifdef REJECT
    return map.host_core(logical);
#else
    (void)logical;
    return map.host_core(user);
#endif
}

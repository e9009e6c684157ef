// expect: could not convert || no viable conversion || cannot convert
#include "neuronbook/topology/routing_map.hpp"

using namespace neuronbook;

Result<RoutingId> address(const RoutingMap& map, HostDeviceId host, RoutingId routing) {
#ifdef REJECT
    return map.routing_of(routing);
#else
    (void)routing;
    return map.routing_of(host);
#endif
}

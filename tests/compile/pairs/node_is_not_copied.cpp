// expect: use of deleted function || call to implicitly-deleted copy constructor
// A copied link would stay behind in the table.
#include "neuronbook/base/node_table.hpp"

using namespace neuronbook;

struct Item : TableNode<> {
    using TableNode<>::TableNode;
};

#ifdef REJECT
Item copied(const Item& item) { return item; }
#else
const Item& same(const Item& item) { return item; }
#endif

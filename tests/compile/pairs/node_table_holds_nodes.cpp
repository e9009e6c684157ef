// expect: must derive from TableNode
// With the tag of the table: a node of another table has no link for this one.
#include "neuronbook/base/node_table.hpp"

using namespace neuronbook;

struct ByName;
struct ByNumber;
struct Item : TableNode<ByName> {
    using TableNode<ByName>::TableNode;
};

#ifdef REJECT
NodeTable<Item, ByNumber> table;
#else
NodeTable<Item, ByName> table;
#endif

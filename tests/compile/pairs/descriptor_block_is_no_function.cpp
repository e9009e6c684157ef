// expect: cannot convert || no matching || no viable conversion
// Both are numbers, and changing places would count for another function.
#include "neuronbook/model/descriptor_table.hpp"

using namespace neuronbook;

#ifdef REJECT
const DescriptorCounts* counts(const DescriptorTable& table, FunctionId function,
                               DescriptorBlock block) {
    return table.find(block, function);
}
#else
const DescriptorCounts* counts(const DescriptorTable& table, FunctionId function,
                               DescriptorBlock block) {
    return table.find(function, block);
}
#endif

// expect: use of deleted function || call to implicitly-deleted copy constructor
// A copied reference would be given back twice.
#include <utility>

#include "neuronbook/model/model_database.hpp"

using namespace neuronbook;

struct Model : ModelRecord {
    using ModelRecord::ModelRecord;
};
using Ref = ModelDatabase<Model>::Ref;

#ifdef REJECT
Ref again(const Ref& held) { return held; }
#else
Ref again(Ref& held) { return std::move(held); }
#endif

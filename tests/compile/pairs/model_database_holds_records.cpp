// expect: constraints not satisfied || does not satisfy || constraint failure
// What a database holds brings its handle and its place with it.
#include <memory>

#include "neuronbook/model/model_database.hpp"

using namespace neuronbook;

#ifdef REJECT
struct Model {
    ModelHandle handle;
};
#else
struct Model : ModelRecord {
    using ModelRecord::ModelRecord;
};
#endif

void made() { ModelDatabase<Model> models({}); }

// expect: cannot convert || no viable conversion
// A core's number does not pass for a model.
#include "neuronbook/model/model_database.hpp"

using namespace neuronbook;

struct Model : ModelRecord {
    using ModelRecord::ModelRecord;
};

bool had(const ModelDatabase<Model>& models) {
#ifdef REJECT
    return models.find(LogicalCore{1}) != nullptr;
#else
    return models.find(ModelHandle{1}) != nullptr;
#endif
}

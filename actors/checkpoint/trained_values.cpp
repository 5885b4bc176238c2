#include "troupe/actors/checkpoint/trained_values.h"

namespace troupe {

std::map<std::string, Tensor> trained_values(const Checkpoint& checkpoint) {
  std::map<std::string, Tensor> values;
  for (auto& record : checkpoint.read_all()) {
    if (record.kind == TensorKind::variable) values.emplace(record.name, record.value);
    if (record.kind == TensorKind::moving_average) values[record.variable] = record.value;
  }
  return values;
}

}  // namespace troupe

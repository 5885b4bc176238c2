#include "troupe/ops/device_types.h"

#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

struct Kernels {
  std::shared_mutex mutex;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_type;
};

Kernels& kernels() {
  static Kernels all;
  return all;
}

bool never_runs(const OpDef& op) {
  return op.alias || op.name == "placeholder" || op.name == "variable";
}

}  // namespace

int device_priority(std::string_view type) {
  if (type == "GPU") return 210;
  if (type == "SYCL") return 200;
  if (type == "CPU") return 70;
  return 50;
}

bool has_kernel(const OpDef& op, std::string_view type) {
  if (never_runs(op)) return true;
  if (type == "CPU") return op.cpu != nullptr;
  const std::shared_lock lock(kernels().mutex);
  const auto found = kernels().by_type.find(type);
  return found != kernels().by_type.end() && found->second.contains(op.name);
}

void register_kernels(std::string_view type, const std::vector<std::string>& ops) {
  const std::unique_lock lock(kernels().mutex);
  kernels().by_type[std::string(type)].insert(ops.begin(), ops.end());
}

}  // namespace troupe

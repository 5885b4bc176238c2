#include "troupe/ops/catalog.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace troupe {
namespace {

class Catalog {
 public:
  static Catalog& instance() {
    static Catalog catalog;
    return catalog;
  }

  const OpDef* find(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    const auto found = ops_.find(name);
    return found == ops_.end() ? nullptr : found->second;
  }

  void add(const OpDef& op) {
    const std::unique_lock lock(mutex_);
    if (!ops_.emplace(op.name, &op).second)
      fail(Code::already_exists, "an op called '", op.name, "' is already registered");
  }

  std::vector<std::string> names() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::string> all;
    for (const auto& [name, op] : ops_) all.emplace_back(name);
    return all;
  }

 private:
  Catalog() {
    for (const auto& family :
         {state_ops(), elementwise_ops(), reduction_ops(), matmul_ops(), array_ops(), random_ops(),
          convolution_ops(), small_convolution_ops(), pooling_ops(), normalization_ops(),
          batch_norm_ops(), softmax_ops(), loss_ops()})
      for (const auto* op : family) add(*op);
  }

  mutable std::shared_mutex mutex_;
  std::map<std::string, const OpDef*, std::less<>> ops_;
};

}  // namespace

const OpDef& find_op(std::string_view name) {
  if (const auto* op = Catalog::instance().find(name)) return *op;
  std::string near;
  for (const auto& known : op_names())
    if (!name.empty() && known.substr(0, 3) == name.substr(0, 3))
      near += text(near.empty() ? "" : ", ", known);
  fail(Code::not_found, "no op is called '", name, "'",
       near.empty() ? "" : text("; there are: ", near));
}

bool has_op(std::string_view name) { return Catalog::instance().find(name) != nullptr; }
void register_op(const OpDef& op) { Catalog::instance().add(op); }
std::vector<std::string> op_names() { return Catalog::instance().names(); }

}  // namespace troupe

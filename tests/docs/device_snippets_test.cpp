// As snippets_test.cpp, for the pages about several devices.

#include "troupe/actors/session.h"
#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/error.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

// clang-format off
namespace {

using namespace troupe;

/// Member functions, because nobody calls them.
struct Devices {
  void scopes(GraphPtr graph, Output x, Output w, Output& y, Output& slot) {
#include <troupe/ops/device_scope.h>

const DeviceScope worker(*graph, "/job:worker");
{
  const DeviceScope second(*graph, "/cpu:1");
  y = matmul(x, w);                       // asks for /job:worker/device:CPU:1
}
const DeviceScope by_op(*graph, [](const Node& node) {
  return node.op->name == "variable" ? "/cpu:0" : "";
});
const ColocationScope beside(*graph, w.node());
slot = variable(*graph, "w/slot", {4, 3}, init::zeros());   // wherever w is
  }

  void session(GraphPtr graph) {
Session session(graph, {.devices = cpu_devices(2)});   // /device:CPU:0 and /device:CPU:1
  }

  void parts_of_one_net(GraphPtr graph, Output x, OutputList halves) {
for (int i = 0; i < 2; ++i) {
  const NameScope name(*graph, text("tower_", i));
  const DeviceScope device(*graph, text("/cpu:", i));
  const auto half = slice(x, {0, 2 * i}, {-1, 2});
  const auto w1 = variable(*graph, "w1", {2, 32}, init::normal(0, 1));
  halves.push_back(tanh(matmul(half, w1)));
}
  }
};

}  // namespace

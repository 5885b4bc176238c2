#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "support/interpreter.h"
#include "support/reference_file.h"
#include "troupe/ops/gradient.h"

namespace troupe::test {

/// Fails unless both have the same dtype and shape and all values are near:
/// within `tolerance`, relative above 1 and absolute below.
inline void expect_near(const Tensor& got, const Tensor& wanted, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.dtype(), wanted.dtype()) << what;
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  for (std::int64_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got.at(i), wanted.at(i), tolerance * std::max(1.0, std::abs(wanted.at(i))))
        << what << ", value " << i << " of " << wanted.shape();
}

/// How far a float32 or float64 kernel may be from the reference.
struct Tolerance {
  double float32 = 1e-5;
  double float64 = 1e-12;
  double of(DType type) const { return type == DType::float64 ? float64 : float32; }
};

/// Builds the op from a placeholder for each input of the case and compares its
/// outputs, and the gradients of its own rule, with what the case recorded.
/// `build` returns output 0 of the node that is checked.
inline void check_reference(
    const ReferenceCase& reference,
    const std::function<Output(const OutputList&, const ReferenceCase&)>& build,
    const Tolerance& tolerance = {}) {
  SCOPED_TRACE(testing::Message() << reference);
  Graph graph;
  std::map<std::string, Tensor> feeds;
  const auto feed = [&](const std::string& name) {
    const auto& values = reference.tensor(name);
    feeds[name] = values;
    return placeholder(graph, name, values.dtype(), values.shape());
  };
  OutputList x;
  while (reference.has("in" + std::to_string(x.size())))
    x.push_back(feed("in" + std::to_string(x.size())));

  auto& node = build(x, reference).node();
  for (int i = 0; reference.has("out" + std::to_string(i)); ++i) {
    const auto name = "out" + std::to_string(i);
    const auto& wanted = reference.tensor(name);
    ASSERT_EQ(node.outputs.at(i).shape, wanted.shape()) << "the inferred shape of " << name;
    expect_near(run_graph(node.output(i), feeds), wanted, tolerance.of(wanted.dtype()), name);
  }

  OutputList dy;
  for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
    const auto name = "dout" + std::to_string(i);
    dy.push_back(reference.has(name) ? feed(name) : Output());
  }
  if (std::ranges::none_of(dy, [](const auto& d) { return static_cast<bool>(d); })) return;
  ASSERT_NE(node.op->gradient, nullptr);
  const auto dx = node.op->gradient(Backward(node, dy));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto name = "din" + std::to_string(i);
    if (!reference.has(name)) continue;
    ASSERT_TRUE(dx.at(i)) << "no gradient reaches input " << i;
    const auto& wanted = reference.tensor(name);
    expect_near(run_graph(dx[i].dense(), feeds), wanted, tolerance.of(wanted.dtype()), name);
  }
}

/// The same for every case of `op` in tests/data/<file>; there must be one.
inline void check_references(
    const std::string& file, const std::string& op,
    const std::function<Output(const OutputList&, const ReferenceCase&)>& build,
    const Tolerance& tolerance = {}) {
  int checked = 0;
  for (const auto& reference : read_references(std::string(TROUPE_TEST_DATA) + "/" + file)) {
    if (reference.op != op) continue;
    check_reference(reference, build, tolerance);
    ++checked;
  }
  EXPECT_GT(checked, 0) << file << " has no case of " << op;
}

}  // namespace troupe::test

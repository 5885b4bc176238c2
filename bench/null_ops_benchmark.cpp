// How many ops that do nothing one worker dispatches: a chain, and a wide graph.
#include <benchmark/benchmark.h>

#include "troupe/devices/fragment.h"
#include "troupe/ops/catalog.h"
#include "troupe/ops/op.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

constexpr int kOps = 10'000;

void same_shape(InferContext& c) { c.output(c.input(0)); }
KernelPtr do_nothing(const KernelInit&) {
  return make_kernel([](const Run&) {}, 1);
}
const OpDef null_op{.name = "bench_null",
                    .min_inputs = 1,
                    .max_inputs = OpDef::kAny,
                    .infer = same_shape,
                    .cpu = do_nothing};
// Heavy ones make the program run with others, which counts who is ready.
KernelPtr do_nothing_heavily(const KernelInit&) {
  return make_kernel([](const Run&) {}, 1e9);
}
const OpDef heavy_op{.name = "bench_heavy",
                     .min_inputs = 1,
                     .max_inputs = 1,
                     .infer = same_shape,
                     .cpu = do_nothing_heavily};

void run_null_ops(benchmark::State& state, bool wide, int inter_op) {
  static const bool registered = [] {
    register_op(null_op);
    register_op(heavy_op);
    return true;
  }();
  benchmark::DoNotOptimize(registered);
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {1});
  // Distinct attributes keep equal nodes from being merged.
  const auto null = [&](const OutputList& inputs, int i) {
    return graph->add("bench_null", inputs, {{"number", i}}).output(0);
  };
  OutputList ends;
  auto last = x;
  for (int i = 0; i < kOps; ++i) {
    if (wide)
      ends.push_back(null({x}, i));
    else
      last = null({last}, i);
  }
  if (!wide) ends.push_back(last);
  if (inter_op > 1)
    for (int i = 0; i < 2; ++i)
      ends.push_back(graph->add("bench_heavy", {x}, {{"number", i}}).output(0));
  named("end", null(ends, -1));
  graph->finish();
  Fragment fragment({graph, {"x"}, {"end"}, {}, {}}, {.intra_op = 1, .inter_op = inter_op},
                    {std::shared_ptr<void>(), &serial()}, "/device:CPU:0");
  const TensorList feeds{Tensor(DType::float32, {1})};
  const auto stream = [](std::uint32_t, const Tensor&) {};
  const auto invite = [] {};
  TensorList results;
  const auto run = [&] {
    const auto executor = fragment.acquire(feeds);
    executor->begin(feeds, 0);
    executor->lead({stream, invite});
    executor->finish(results);
    fragment.release(executor);
  };
  run();  // compiles the program, which takes seconds
  for (auto _ : state) run();
  state.counters["ops/s"] =
      benchmark::Counter(static_cast<double>(kOps) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(run_null_ops, chain, false, 1);
BENCHMARK_CAPTURE(run_null_ops, wide, true, 1);
BENCHMARK_CAPTURE(run_null_ops, chain_counting_who_is_ready, false, 2);
BENCHMARK_CAPTURE(run_null_ops, wide_counting_who_is_ready, true, 2);

}  // namespace
}  // namespace troupe

BENCHMARK_MAIN();

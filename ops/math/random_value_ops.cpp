#include <cmath>
#include <numbers>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/math/random_families.h"
#include "troupe/ops/math/random_words.h"
#include "troupe/ops/op.h"
#include "troupe/ops/random_ops.h"

namespace troupe {
namespace {

double number(const Attributes& attributes, std::string_view name) {
  return attributes.get<double>(name);
}

void declared(InferContext& c) {
  const auto& shape = c.attributes().get<Shape>("shape");
  if (!shape.known()) c.fail("shape is ", shape, ", but all extents must be known");
  c.output(c.attributes().get<DType>("dtype"), shape);
}

void expect_floating(const InferContext& c) {
  const auto dtype = c.attributes().get<DType>("dtype");
  if (!is_floating(dtype)) c.fail("dtype is ", dtype, ", but must be float32 or float64");
}

void uniform_shape(InferContext& c) {
  expect_floating(c);
  const auto low = number(c.attributes(), "low");
  const auto high = number(c.attributes(), "high");
  if (!(low < high)) c.fail("low is ", low, " and high is ", high, ", but low must be below high");
  declared(c);
}

void normal_shape(InferContext& c) {
  expect_floating(c);
  if (const auto stddev = number(c.attributes(), "stddev"); !(stddev >= 0))
    c.fail("stddev is ", stddev, ", but must be at least 0");
  declared(c);
}

void uniform_int_shape(InferContext& c) {
  const auto dtype = c.attributes().get<DType>("dtype");
  if (dtype != DType::int32 && dtype != DType::int64)
    c.fail("dtype is ", dtype, ", but must be int32 or int64");
  const auto low = c.attributes().get<std::int64_t>("low");
  const auto high = c.attributes().get<std::int64_t>("high");
  if (low >= high) c.fail("low is ", low, " and high is ", high, ", but low must be below high");
  if (dtype == DType::int32 && (low < INT32_MIN || high - 1 > INT32_MAX))
    c.fail("[", low, ", ", high, ") does not fit int32");
  declared(c);
}

/// A kernel that draws value by value: value i is draw(seed, i), with the seed of
/// the node's stream. A draw that tries again takes the next stream of Philox.
template <class T, class Draw>
KernelPtr one_by_one(const KernelInit& init, double cycles, Draw draw) {
  const auto count = init.outputs[0].shape.volume();
  return make_kernel(
      [=, random = RandomWords(init)](const Run& run) {
        const auto seed = random.seed(run);
        auto* y = run.out<T>();
        run.intra.parallel_for(count, cycles, [&](auto begin, auto end) {
          for (; begin < end; ++begin) y[begin] = draw(seed, static_cast<std::uint64_t>(begin));
        });
      },
      static_cast<double>(count) * cycles);
}

KernelPtr uniform_cpu(const KernelInit& init) {
  const auto low = number(init.attributes(), "low");
  const auto high = number(init.attributes(), "high");
  if (init.outputs[0].dtype == DType::float64)
    return one_by_one<double>(init, 80, [=](std::uint64_t seed, std::uint64_t i) {
      const auto words = Philox(seed)(i);
      const auto value = low + (high - low) * to_unit_double(words[0], words[1]);
      return value < high ? value : std::nextafter(high, low);
    });
  const auto count = init.outputs[0].shape.volume();
  return make_kernel(
      [=, random = RandomWords(init)](const Run& run) {
        auto* y = run.out<float>();
        random.for_each_piece(run, count, 1, [&](auto* words, auto begin, auto n) {
          simd::random_loops().uniform(words, y + begin, n, static_cast<float>(low),
                                       static_cast<float>(high));
        });
      },
      static_cast<double>(count) * 3);
}

KernelPtr normal_cpu(const KernelInit& init) {
  const auto mean = number(init.attributes(), "mean");
  const auto stddev = number(init.attributes(), "stddev");
  if (init.outputs[0].dtype == DType::float64)
    return one_by_one<double>(init, 200, [=](std::uint64_t seed, std::uint64_t i) {
      const auto words = Philox(seed)(i);
      const auto radius = std::sqrt(-2 * std::log1p(-to_unit_double(words[0], words[1])));
      return mean +
             stddev * radius * std::cos(2 * std::numbers::pi * to_unit_double(words[2], words[3]));
    });
  const auto count = init.outputs[0].shape.volume();
  return make_kernel(
      [=, random = RandomWords(init)](const Run& run) {
        auto* y = run.out<float>();
        random.for_each_piece(run, count, 2, [&](auto* words, auto begin, auto n) {
          const auto whole = n / simd::kRandomChunk;
          const auto& loops = simd::random_loops();
          loops.normal(words, y + begin, whole, static_cast<float>(mean),
                       static_cast<float>(stddev));
          if (const auto rest = n - whole * simd::kRandomChunk; rest > 0) {
            float last[simd::kRandomChunk];
            loops.normal(words + whole * simd::kRandomChunk, last, 1, static_cast<float>(mean),
                         static_cast<float>(stddev));
            std::copy_n(last, rest, y + begin + whole * simd::kRandomChunk);
          }
        });
      },
      static_cast<double>(count) * 4);
}

KernelPtr truncated_normal_cpu(const KernelInit& init) {
  const auto mean = number(init.attributes(), "mean");
  const auto stddev = number(init.attributes(), "stddev");
  return dispatch_floating(init.outputs[0].dtype, "truncated_normal", [&]<class T>() {
    return one_by_one<T>(init, 250, [=](std::uint64_t seed, std::uint64_t i) {
      double z = 3;
      for (std::uint64_t attempt = 0; std::abs(z) > 2; ++attempt) {
        const auto words = Philox(seed, attempt)(i);
        z = std::sqrt(-2 * std::log1p(-to_unit_double(words[0], words[1]))) *
            std::cos(2 * std::numbers::pi * to_unit_double(words[2], words[3]));
      }
      return static_cast<T>(mean + stddev * z);
    });
  });
}

/// Without bias: a product whose low half falls below a bound is drawn again (Lemire 2019).
std::uint64_t below(std::uint64_t bound, std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t reject = (0 - bound) % bound;
  for (std::uint64_t attempt = 0;; ++attempt) {
    const auto words = Philox(seed, attempt)(i);
    const auto draw = std::uint64_t{words[0]} << 32 | words[1];
    const auto product = static_cast<unsigned __int128>(draw) * bound;
    if (static_cast<std::uint64_t>(product) >= reject)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

KernelPtr uniform_int_cpu(const KernelInit& init) {
  const auto low = static_cast<std::uint64_t>(init.attributes().get<std::int64_t>("low"));
  const auto bound = static_cast<std::uint64_t>(init.attributes().get<std::int64_t>("high")) - low;
  const auto draw = [=]<class T>(T) {
    return [=](std::uint64_t seed, std::uint64_t i) {
      return static_cast<T>(low + below(bound, seed, i));
    };
  };
  if (init.outputs[0].dtype == DType::int32)
    return one_by_one<std::int32_t>(init, 100, draw(std::int32_t{}));
  return one_by_one<std::int64_t>(init, 100, draw(std::int64_t{}));
}

constexpr OpDef random_op(std::string_view name, void (*shape)(InferContext&),
                          KernelPtr (*cpu)(const KernelInit&)) {
  return {.name = name, .infer = shape, .cpu = cpu, .stateful = true};
}

const OpDef uniform_op = random_op("random_uniform", uniform_shape, uniform_cpu);
const OpDef uniform_int_op = random_op("random_uniform_int", uniform_int_shape, uniform_int_cpu);
const OpDef normal_op = random_op("random_normal", normal_shape, normal_cpu);
const OpDef truncated_normal_op = random_op("truncated_normal", normal_shape, truncated_normal_cpu);

Output drawn(Graph& graph, std::string_view op, const Shape& shape, const RandomOptions& options,
             Attributes attributes) {
  attributes.set("shape", shape);
  attributes.set("dtype", options.dtype);
  attributes.set("seed", options.seed);
  return graph.add(op, {}, std::move(attributes)).output(0);
}

}  // namespace

OpFamily random_value_ops() {
  return {&uniform_op, &uniform_int_op, &normal_op, &truncated_normal_op};
}

Output random_uniform(Graph& graph, const Shape& shape, double low, double high,
                      const RandomOptions& options) {
  return drawn(graph, "random_uniform", shape, options, {{"low", low}, {"high", high}});
}
Output random_uniform_int(Graph& graph, const Shape& shape, std::int64_t low, std::int64_t high,
                          const RandomOptions& options) {
  return drawn(graph, "random_uniform_int", shape, options, {{"low", low}, {"high", high}});
}
Output random_normal(Graph& graph, const Shape& shape, double mean, double stddev,
                     const RandomOptions& options) {
  return drawn(graph, "random_normal", shape, options, {{"mean", mean}, {"stddev", stddev}});
}
Output truncated_normal(Graph& graph, const Shape& shape, double mean, double stddev,
                        const RandomOptions& options) {
  return drawn(graph, "truncated_normal", shape, options, {{"mean", mean}, {"stddev", stddev}});
}

}  // namespace troupe

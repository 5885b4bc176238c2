#include <algorithm>

#include "troupe/ops/convolution_kernels.h"

namespace troupe {
namespace {

/// Calls fn(x, w, y) with the offsets of every product of the convolution of
/// images [begin, end): y[y] += x[x] * w[w]. All three passes are this walk.
template <class Fn>
void walk(const Convolution& c, std::int64_t begin, std::int64_t end, Fn fn) {
  const auto in = c.in / c.groups;
  const auto out = c.out / c.groups;
  for (auto image = begin; image < end; ++image)
    for (std::int64_t i = 0; i < c.rows.output; ++i)
      for (std::int64_t j = 0; j < c.columns.output; ++j)
        for (std::int64_t p = 0; p < c.rows.window; ++p)
          for (std::int64_t q = 0; q < c.columns.window; ++q) {
            const auto row = i * c.rows.stride + p * c.rows.dilation - c.rows.before;
            const auto column = j * c.columns.stride + q * c.columns.dilation - c.columns.before;
            if (row < 0 || row >= c.rows.input || column < 0 || column >= c.columns.input) continue;
            const auto x = ((image * c.rows.input + row) * c.columns.input + column) * c.in;
            const auto y = ((image * c.rows.output + i) * c.columns.output + j) * c.out;
            const auto w = (p * c.columns.window + q) * in * c.out;
            for (std::int64_t g = 0; g < c.groups; ++g)
              for (std::int64_t k = 0; k < in; ++k)
                for (std::int64_t o = 0; o < out; ++o)
                  fn(x + g * in + k, w + k * c.out + g * out + o, y + g * out + o);
          }
}

/// Images are independent in all but the gradient of the filter.
template <class Fn>
void for_images(const Run& run, const Convolution& c, Fn fn) {
  if (c.batch == 0) return;
  const auto each = 16 * c.cycles() / static_cast<double>(c.batch);
  run.intra.parallel_for(c.batch, each, fn);
}

}  // namespace

KernelPtr plain_convolution(const Convolution& c, const ConvolutionEpilogue& epilogue) {
  return make_kernel(
      [c, epilogue](const Run& run) {
        const auto* x = run.in<double>(0);
        const auto* w = run.in<double>(1);
        auto* y = run.out<double>();
        for_images(run, c, [&](auto begin, auto end) {
          const auto first = begin * c.output_size();
          const auto last = end * c.output_size();
          std::fill(y + first, y + last, 0.0);
          walk(c, begin, end, [&](auto i, auto k, auto o) { y[o] += x[i] * w[k]; });
          if (!epilogue.bias) return;
          const auto* bias = run.in<double>(2);
          for (auto i = first; i < last; ++i) {
            y[i] += bias[i % c.out];
            if (epilogue.relu && y[i] < 0) y[i] = 0;
          }
        });
      },
      16 * c.cycles());
}

KernelPtr plain_convolution_input_gradient(const Convolution& c) {
  return make_kernel(
      [c](const Run& run) {
        const auto* w = run.in<double>(1);
        const auto* dy = run.in<double>(2);
        auto* dx = run.out<double>();
        for_images(run, c, [&](auto begin, auto end) {
          std::fill(dx + begin * c.input_size(), dx + end * c.input_size(), 0.0);
          walk(c, begin, end, [&](auto i, auto k, auto o) { dx[i] += dy[o] * w[k]; });
        });
      },
      16 * c.cycles());
}

KernelPtr plain_convolution_filter_gradient(const Convolution& c) {
  return make_kernel(
      [c](const Run& run) {
        const auto* x = run.in<double>(0);
        const auto* dy = run.in<double>(2);
        auto* dw = run.out<double>();
        std::fill_n(dw, c.filter_size(), 0.0);
        walk(c, 0, c.batch, [&](auto i, auto k, auto o) { dw[k] += x[i] * dy[o]; });
      },
      16 * c.cycles());
}

}  // namespace troupe

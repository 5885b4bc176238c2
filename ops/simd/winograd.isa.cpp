#include "troupe/ops/simd/winograd.h"

#include "troupe/ops/simd/loops.h"
#include "troupe/ops/simd/vectors.h"

namespace troupe::simd::TROUPE_ISA {
namespace {

using Floats = VectorOf<float, kRegister>::type;
constexpr int kLanes = kRegister / sizeof(float);
constexpr int kTile = WinogradSizes::kTile;
constexpr int kPoints = WinogradSizes::kPoints;
constexpr int kPanel = WinogradSizes::kChannels;  // columns of a filter that stand together

Floats load(const float* from) { return Lanes<Floats>::load(from); }
void store(float* to, Floats values) { Lanes<Floats>::store(to, values); }

// ---- the points

constexpr float kNear = 0.70710678118654752f;  // points +-kNear and +-kFar; kNear * kFar = 1
constexpr float kFar = 1.41421356237309505f;

/// The six values of a tile along one axis, evaluated: the rows of B^T.
inline void evaluate_input(Floats& d0, Floats& d1, Floats& d2, Floats& d3, Floats& d4, Floats& d5) {
  const Floats near_even = d4 - 2.0f * d2;
  const Floats near_odd = (d3 - 2.0f * d1) * kNear;
  const Floats far_even = d4 - 0.5f * d2;
  const Floats far_odd = (d3 - 0.5f * d1) * kFar;
  d0 = d0 - 2.5f * d2 + d4;
  d5 = d1 - 2.5f * d3 + d5;
  d1 = near_even + near_odd;
  d2 = near_even - near_odd;
  d3 = far_even + far_odd;
  d4 = far_even - far_odd;
}

/// The outputs from the values at the points: the rows of A^T.
template <int kStep>
inline void interpolate(const Floats (&m)[kTile], Floats (&y)[kStep]) {
  const Floats near_even = m[1] + m[2];
  const Floats near_odd = (m[1] - m[2]) * kNear;
  const Floats far_even = m[3] + m[4];
  const Floats far_odd = (m[3] - m[4]) * kFar;
  y[0] = m[0] + near_even + far_even;
  if constexpr (kStep == 2) {
    y[1] = near_odd + far_odd + m[5];
  } else {
    y[1] = near_odd + far_odd;
    y[2] = 0.5f * near_even + 2.0f * far_even;
    y[3] = 0.5f * near_odd + 2.0f * far_odd + m[5];
  }
}

/// The way back: the columns of A^T.
template <int kStep>
inline void evaluate_gradient(const Floats (&y)[kStep], Floats (&m)[kTile]) {
  Floats near_even = y[0], near_odd = kNear * y[1];
  Floats far_even = y[0], far_odd = kFar * y[1];
  if constexpr (kStep == 4) {
    near_even += 0.5f * y[2];
    near_odd += 0.5f * kNear * y[3];
    far_even += 2.0f * y[2];
    far_odd += 2.0f * kFar * y[3];
  }
  m[0] = y[0];
  m[1] = near_even + near_odd;
  m[2] = near_even - near_odd;
  m[3] = far_even + far_odd;
  m[4] = far_even - far_odd;
  m[5] = y[kStep - 1];
}

/// The values of a filter along one axis at the points: the rows of G.
template <int kWindow>
struct FilterPoints {
  constexpr FilterPoints() {
    constexpr double kPlaces[] = {0, kNear, -kNear, kFar, -kFar};
    constexpr double kScales[] = {1, -1.0 / 1.5, -1.0 / 1.5, 1 / 6.0, 1 / 6.0};
    for (int i = 0; i < kTile - 1; ++i) {
      double power = kScales[i];
      for (int k = 0; k < kWindow; ++k, power *= kPlaces[i]) at[i][k] = static_cast<float>(power);
    }
    at[kTile - 1][kWindow - 1] = 1;
  }
  float at[kTile][kWindow] = {};
};
template <int kWindow>
constexpr FilterPoints<kWindow> kFilterPoints;

// ---- products

#if defined(__AVX512F__)
constexpr int kMostVectors = 4;
#else
constexpr int kMostVectors = 2;
#endif
constexpr int kMostRows = 6;

/// Where a matrix is: value (i, k) of the left one at from[i * row + k * step], value
/// (k, v) of the right one, a whole vector, at from[k * step + v * row].
struct Operand {
  const float* from;
  std::int64_t row;
  std::int64_t step;
};

/// fn(0) to fn(kCount - 1), written out for the compiler: arrays that are indexed by
/// nothing else are registers, without a detour through memory.
template <int kCount, class Fn>
TROUPE_INLINE void unrolled(Fn fn) {
  if constexpr (kCount > 0) {
    unrolled<kCount - 1>(fn);
    fn(kCount - 1);
  }
}
#define TROUPE_UNROLLED(i) [&](int i) __attribute__((always_inline))

/// c = the product of two matrices, or with kAdd c + the product, of so many rows and vectors.
template <bool kAdd, int kRows, int kVectors>
void multiply_some(const Operand& left, const Operand& right, std::int64_t count, float* c,
                   std::int64_t c_row) {
  Floats sum[kRows][kVectors];
  unrolled<kRows>(TROUPE_UNROLLED(i) {
    unrolled<kVectors>(
        TROUPE_UNROLLED(v) { sum[i][v] = kAdd ? load(c + i * c_row + v * kLanes) : Floats{}; });
  });
  const float* a = left.from;
  const float* b = right.from;
  const auto a_row = left.row, a_step = left.step, b_row = right.row, b_step = right.step;
  for (; count > 0; --count, a += a_step, b += b_step) {
    Floats values[kVectors];
    unrolled<kVectors>(TROUPE_UNROLLED(v) { values[v] = load(b + v * b_row); });
    unrolled<kRows>(TROUPE_UNROLLED(i) {
      const float factor = a[i * a_row];
      unrolled<kVectors>(TROUPE_UNROLLED(v) { sum[i][v] += factor * values[v]; });
    });
  }
  unrolled<kRows>(TROUPE_UNROLLED(i) {
    unrolled<kVectors>(TROUPE_UNROLLED(v) { store(c + i * c_row + v * kLanes, sum[i][v]); });
  });
}
#undef TROUPE_UNROLLED

using MultiplySome = void (*)(const Operand&, const Operand&, std::int64_t, float*, std::int64_t);
template <bool kAdd, int kVectors>
constexpr MultiplySome kByRows[kMostRows] = {
    multiply_some<kAdd, 1, kVectors>, multiply_some<kAdd, 2, kVectors>,
    multiply_some<kAdd, 3, kVectors>, multiply_some<kAdd, 4, kVectors>,
    multiply_some<kAdd, 5, kVectors>, multiply_some<kAdd, 6, kVectors>};

template <bool kAdd>
const MultiplySome* by_rows(std::int64_t vectors) {
  if constexpr (kMostVectors == 4) {
    if (vectors == 3) return kByRows<kAdd, 3>;
    if (vectors >= 4) return kByRows<kAdd, 4>;
  }
  return vectors == 1 ? kByRows<kAdd, 1> : kByRows<kAdd, 2>;
}

std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

/// `rows` rows of the product, `columns` wide; column(j) is the right matrix from column j on.
template <bool kAdd, class Column>
void multiply(Operand a, std::int64_t rows, Column column, std::int64_t columns, std::int64_t count,
              float* c) {
  for (std::int64_t j = 0; j < columns; j += kMostVectors * kLanes) {
    const auto* some = by_rows<kAdd>((columns - j) / kLanes);
    const Operand b = column(j);
    for (std::int64_t i = 0; i < rows; i += kMostRows)
      some[smaller(kMostRows, rows - i) - 1]({a.from + i * a.row, a.row, a.step}, b, count,
                                             c + i * columns + j, columns);
  }
}

// ---- tiles

/// The memory of a block: at each point a row of channels for each tile. A line more
/// than that between the points keeps them from falling into the same few cache sets.
struct Points {
  Points(float* values, std::int64_t tiles, std::int64_t channels)
      : values(values), channels(channels), stride(tiles * channels + kPanel) {}
  float* at(std::int64_t point) const { return values + point * stride; }

  float* values;
  std::int64_t channels;
  std::int64_t stride;
};

/// The place of a tile.
struct TilePlace {
  TilePlace(const WinogradSizes& sizes, std::int64_t tile)
      : image(tile / sizes.tiles()),
        row(tile % sizes.tiles() / sizes.tiles_across() * sizes.step()),
        column(tile % sizes.tiles_across() * sizes.step()) {}
  std::int64_t image;
  std::int64_t row, column;  // of its first output
};

/// A window onto an image: what lies outside of it is zero.
struct View {
  const float* image;
  std::int64_t rows, columns, channels;
  std::int64_t top, left;

  bool inside(int height, int width) const {
    return top >= 0 && left >= 0 && top + height <= rows && left + width <= columns;
  }
  const float* pixel(int i, int j) const {
    return image + ((top + i) * columns + left + j) * channels;
  }
  bool has(int i, int j) const {
    return top + i >= 0 && top + i < rows && left + j >= 0 && left + j < columns;
  }
};

/// Calls with_pixels(load), where load(i, j, channel) is a vector of a pixel.
template <int kSize, class Fn>
void read_view(const View& view, Fn with_pixels) {
  if (view.inside(kSize, kSize))
    with_pixels([&](int i, int j, std::int64_t c) { return load(view.pixel(i, j) + c); });
  else
    with_pixels([&](int i, int j, std::int64_t c) {
      return view.has(i, j) ? load(view.pixel(i, j) + c) : Floats{};
    });
}

/// Evaluates tile number `index` of a block.
void evaluate_tile(const WinogradSizes& sizes, const float* images, std::int64_t tile,
                   const Points& to, std::int64_t index) {
  const TilePlace place(sizes, tile);
  const auto size = sizes.rows.input * sizes.columns.input * sizes.in;
  const View view{images + place.image * size,   sizes.rows.input,
                  sizes.columns.input,           sizes.in,
                  place.row - sizes.rows.before, place.column - sizes.columns.before};
  read_view<kTile>(view, [&](auto pixel) {
    for (std::int64_t c = 0; c < sizes.in; c += kLanes) {
      Floats d[kTile][kTile];
      for (int j = 0; j < kTile; ++j) {
        for (int i = 0; i < kTile; ++i) d[i][j] = pixel(i, j, c);
        evaluate_input(d[0][j], d[1][j], d[2][j], d[3][j], d[4][j], d[5][j]);
      }
      float* out = to.values + index * to.channels + c;
      for (int i = 0; i < kTile; ++i) {
        evaluate_input(d[i][0], d[i][1], d[i][2], d[i][3], d[i][4], d[i][5]);
        for (int j = 0; j < kTile; ++j) store(out + (i * kTile + j) * to.stride, d[i][j]);
      }
    }
  });
}

template <int kStep>
void evaluate_gradient_tile(const WinogradSizes& sizes, const float* gradients, std::int64_t tile,
                            const Points& to, std::int64_t index) {
  const TilePlace place(sizes, tile);
  const auto size = sizes.rows.output * sizes.columns.output * sizes.out;
  const View view{gradients + place.image * size,
                  sizes.rows.output,
                  sizes.columns.output,
                  sizes.out,
                  place.row,
                  place.column};
  read_view<kStep>(view, [&](auto pixel) {
    for (std::int64_t c = 0; c < sizes.out; c += kLanes) {
      Floats down[kStep][kTile];  // [column][point]
      for (int j = 0; j < kStep; ++j) {
        Floats y[kStep];
        for (int i = 0; i < kStep; ++i) y[i] = pixel(i, j, c);
        evaluate_gradient(y, down[j]);
      }
      float* out = to.values + index * to.channels + c;
      for (int i = 0; i < kTile; ++i) {
        Floats y[kStep], m[kTile];
        for (int j = 0; j < kStep; ++j) y[j] = down[j][i];
        evaluate_gradient(y, m);
        for (int j = 0; j < kTile; ++j) store(out + (i * kTile + j) * to.stride, m[j]);
      }
    }
  });
}

/// Writes the outputs of tile number `index` of a block.
template <int kStep>
void interpolate_tile(const WinogradSizes& sizes, const Points& from, std::int64_t index,
                      const float* bias, bool relu, std::int64_t tile, float* outputs) {
  const TilePlace place(sizes, tile);
  const auto rows = smaller(kStep, sizes.rows.output - place.row);
  const auto columns = smaller(kStep, sizes.columns.output - place.column);
  float* first = outputs + ((place.image * sizes.rows.output + place.row) * sizes.columns.output +
                            place.column) *
                               sizes.out;
  for (std::int64_t c = 0; c < sizes.out; c += kLanes) {
    const float* in = from.values + index * from.channels + c;
    Floats down[kTile][kStep];  // [column][row]
    for (int j = 0; j < kTile; ++j) {
      Floats m[kTile];
      for (int i = 0; i < kTile; ++i) m[i] = load(in + (i * kTile + j) * from.stride);
      interpolate(m, down[j]);
    }
    const Floats start = bias != nullptr ? load(bias + c) : Floats{};
    for (int i = 0; i < kStep; ++i) {
      if (i >= rows) break;
      Floats m[kTile], y[kStep];
      for (int j = 0; j < kTile; ++j) m[j] = down[j][i];
      interpolate(m, y);
      for (int j = 0; j < kStep; ++j) {
        if (j >= columns) break;
        Floats value = y[j] + start;
        if (relu) value = value < 0 ? Floats{} : value;
        store(first + (i * sizes.columns.output + j) * sizes.out + c, value);
      }
    }
  }
}

/// Calls fn(first, count) for one block of tiles after the other.
template <class Fn>
void each_block(const WinogradSizes& sizes, std::int64_t first, std::int64_t last, Fn fn) {
  const auto block = sizes.block();
  for (; first < last; first += block) fn(first, smaller(block, last - first));
}

template <int kWindow>
void evaluate_filter(const WinogradSizes& sizes, const float* filter, float* points,
                     std::int64_t first, std::int64_t last) {
  const auto& g = kFilterPoints<kWindow>.at;
  const auto size = sizes.in * sizes.out;
  for (auto in = first; in < last; ++in) {
    for (std::int64_t out = 0; out < sizes.out; out += kLanes) {
      Floats down[kTile][kWindow];
      for (int j = 0; j < kWindow; ++j) {
        Floats w[kWindow];
        for (int k = 0; k < kWindow; ++k)
          w[k] = load(filter + (k * kWindow + j) * size + in * sizes.out + out);
        for (int i = 0; i < kTile; ++i) {
          down[i][j] = Floats{};
          for (int k = 0; k < kWindow; ++k) down[i][j] += w[k] * g[i][k];
        }
      }
      float* to = points + out / kPanel * kPanel * sizes.in + in * kPanel + out % kPanel;
      for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j) {
          Floats sum{};
          for (int k = 0; k < kWindow; ++k) sum += down[i][k] * g[j][k];
          store(to + (i * kTile + j) * size, sum);
        }
    }
  }
}

template <int kWindow>
void interpolate_filter(const WinogradSizes& sizes, const float* points, float* filter,
                        std::int64_t first, std::int64_t last) {
  const auto& g = kFilterPoints<kWindow>.at;
  const auto size = sizes.in * sizes.out;
  for (auto at = first * sizes.out; at < last * sizes.out; at += kLanes) {
    Floats down[kWindow][kTile];
    for (int j = 0; j < kTile; ++j) {
      Floats m[kTile];
      for (int i = 0; i < kTile; ++i) m[i] = load(points + (i * kTile + j) * size + at);
      for (int k = 0; k < kWindow; ++k) {
        down[k][j] = Floats{};
        for (int i = 0; i < kTile; ++i) down[k][j] += m[i] * g[i][k];
      }
    }
    for (int k = 0; k < kWindow; ++k)
      for (int l = 0; l < kWindow; ++l) {
        Floats sum{};
        for (int j = 0; j < kTile; ++j) sum += down[k][j] * g[j][l];
        store(filter + (k * kWindow + l) * size + at, sum);
      }
  }
}

}  // namespace

void winograd_filter(const WinogradSizes& sizes, const float* filter, float* points,
                     std::int64_t first, std::int64_t last) {
  sizes.window == 3 ? evaluate_filter<3>(sizes, filter, points, first, last)
                    : evaluate_filter<5>(sizes, filter, points, first, last);
}

void winograd_convolve(const WinogradSizes& sizes, const float* images, const float* points,
                       const float* bias, bool relu, float* outputs, std::int64_t first,
                       std::int64_t last, float* scratch) {
  const Points inputs(scratch, sizes.block(), sizes.in);
  const Points products(scratch + kPoints * inputs.stride, sizes.block(), sizes.out);
  each_block(sizes, first, last, [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) evaluate_tile(sizes, images, begin + i, inputs, i);
    for (int point = 0; point < kPoints; ++point) {
      const float* filter = points + point * sizes.in * sizes.out;
      const auto column = [&](std::int64_t j) {
        return Operand{filter + j / kPanel * kPanel * sizes.in + j % kPanel,
                       kLanes == kPanel ? kPanel * sizes.in : kLanes, kPanel};
      };
      multiply<false>({inputs.at(point), sizes.in, 1}, count, column, sizes.out, sizes.in,
                      products.at(point));
    }
    for (std::int64_t i = 0; i < count; ++i)
      sizes.window == 3 ? interpolate_tile<4>(sizes, products, i, bias, relu, begin + i, outputs)
                        : interpolate_tile<2>(sizes, products, i, bias, relu, begin + i, outputs);
  });
}

void winograd_gradient_points(const WinogradSizes& sizes, const float* images,
                              const float* gradients, float* points, std::int64_t first,
                              std::int64_t last, float* scratch) {
  const Points inputs(scratch, sizes.block(), sizes.in);
  const Points outputs(scratch + kPoints * inputs.stride, sizes.block(), sizes.out);
  each_block(sizes, first, last, [&](std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      evaluate_tile(sizes, images, begin + i, inputs, i);
      sizes.window == 3 ? evaluate_gradient_tile<4>(sizes, gradients, begin + i, outputs, i)
                        : evaluate_gradient_tile<2>(sizes, gradients, begin + i, outputs, i);
    }
    for (int point = 0; point < kPoints; ++point) {
      const auto column = [&](std::int64_t j) {
        return Operand{outputs.at(point) + j, kLanes, sizes.out};
      };
      multiply<true>({inputs.at(point), 1, sizes.in}, sizes.in, column, sizes.out, count,
                     points + point * sizes.in * sizes.out);
    }
  });
}

void winograd_filter_gradient(const WinogradSizes& sizes, const float* points, float* filter,
                              std::int64_t first, std::int64_t last) {
  sizes.window == 3 ? interpolate_filter<3>(sizes, points, filter, first, last)
                    : interpolate_filter<5>(sizes, points, filter, first, last);
}

}  // namespace troupe::simd::TROUPE_ISA

#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

// Work on matrices [rows, columns] whose columns are the channels of an image or
// the features of a layer. T is float or double.

namespace troupe::simd {

TROUPE_EACH_ISA(
    // y = x + bias, the bias added to every row.
    template <class T>
    void add_row(const T* x, const T* bias, T* y, std::int64_t rows, std::int64_t columns);
    // sums[c] = the sum of column c.
    template <class T> void sum_rows(const T* x, T* sums, std::int64_t rows, std::int64_t columns);
    // dx = dy where y > 0, else 0 (the gradient of a ReLU), and the sums of its columns.
    template <class T> void relu_gradient_sums(const T* dy, const T* y, T* dx, T* sums,
                                               std::int64_t rows, std::int64_t columns);
    // The sums of x - shift and of its square, for every column.
    template <class T> void shifted_sums(const T* x, const T* shift, T* sums, T* squares,
                                         std::int64_t rows, std::int64_t columns);
    // The sums of dy and of dy (x - mean), for every column.
    template <class T> void gradient_sums(const T* x, const T* mean, const T* dy, T* sums,
                                          T* products, std::int64_t rows, std::int64_t columns);
    // y = (x - mean) factor + offset, for every column.
    template <class T> void normalize(const T* x, const T* mean, const T* factor, const T* offset,
                                      T* y, std::int64_t rows, std::int64_t columns);
    // dx = (dy - a - (x - mean) b) factor, for every column.
    template <class T>
    void normalize_gradient(const T* x, const T* mean, const T* a, const T* b, const T* factor,
                            const T* dy, T* dx, std::int64_t rows, std::int64_t columns);)

}  // namespace troupe::simd

#pragma once

#include <cstdint>

#include "troupe/ops/simd/isa.h"

// Softmax of single rows. `to` may be the row that is read. Sums are added in sixteen
// parts whatever the instruction set. T is float, within a few units in the last
// place, or double.

namespace troupe::simd {

TROUPE_EACH_ISA(
    // Writes exp(x - greatest), unless `to` is nullptr, and the greatest x; returns the sum.
    template <class T> T exponentials(const T* x, std::int64_t count, T* to, T* greatest);
    template <class T> void softmax_row(const T* x, std::int64_t count, T* to);
    template <class T> void log_softmax_row(const T* x, std::int64_t count, T* to);
    // Of the output y and its gradient.
    template <class T>
    void softmax_row_gradient(const T* y, const T* dy, std::int64_t count, T* to);
    template <class T>
    void log_softmax_row_gradient(const T* y, const T* dy, std::int64_t count, T* to);)

}  // namespace troupe::simd

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "troupe/ops/tensor.h"

namespace troupe {

enum class CompressionKind {
  none,
  bfloat16,  ///< the 8 bits of exponent of float32: nothing overflows
  float16,   ///< 10 bits of mantissa; what is too large for it becomes 65504
  top_k,     ///< the largest values only; the others are added to the next gradient
};

/// How a replica makes what it pushes smaller.
struct GradientCompression {
  CompressionKind kind = CompressionKind::none;
  double keep = 0.01;  ///< top_k: this part of the values of each variable, at least one

  /// "none", "bfloat16", "float16", "topk:0.01". Throws invalid_argument.
  static GradientCompression parse(std::string_view words);
};
std::string to_string(const GradientCompression& compression);

/// A gradient as it is pushed: all values in 16 bits, or some of them with their places.
struct CompressedGradient {
  Tensor values;
  Tensor positions;  ///< int32 or int64 [values], in a flat tensor, ascending; empty for all
};

/// The compression of one replica, with what it has not sent yet: "error feedback", as in
/// Seide et al. 2014 and Stich et al. 2018. For float32 and float64.
class GradientCompressor {
 public:
  explicit GradientCompressor(GradientCompression compression = {});

  bool on() const { return compression_.kind != CompressionKind::none; }
  /// What is not sent now is sent later.
  bool owes() const { return compression_.kind == CompressionKind::top_k; }
  /// `part` tells the gradients of a set apart: what is left of one is for the next one of
  /// that name. Values that are not finite are always sent, so that whoever gets them can
  /// complain.
  CompressedGradient compress(const std::string& part, const Tensor& gradient);
  /// What became of the set: when it was refused, nothing of it counts as sent.
  void settle(bool applied);

  /// What is owed, by part, and what will be if the set in hand is applied: shared tensors.
  const std::map<std::string, Tensor>& owed() const { return left_; }
  std::map<std::string, Tensor> owed_when_applied() const;
  /// Goes on with that in place of what is owed. A tensor of another size than its part is left
  /// out.
  void restore(std::map<std::string, Tensor> owed) { left_ = std::move(owed); }

 private:
  CompressedGradient largest(const std::string& part, const Tensor& gradient);

  GradientCompression compression_;
  std::map<std::string, Tensor> left_;  // of gradients before, by part
  std::map<std::string, Tensor> next_;  // the same, once the set in hand is applied
};

/// The gradient of a variable of that type and shape. Throws invalid_argument when it
/// cannot have come from one.
Tensor decompressed(const CompressedGradient& gradient, DType type, const Shape& shape);

}  // namespace troupe

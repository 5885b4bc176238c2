#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

/// What a tensor in a checkpoint is to the training run.
enum class TensorKind : std::uint8_t {
  variable = 1,        ///< a weight
  slot = 2,            ///< what an optimizer keeps for a variable: momentum, second moments
  moving_average = 3,  ///< the average over time of a variable
};

/// "variable", "slot", "moving average".
std::string_view to_string(TensorKind kind);

/// A tensor on its way into a checkpoint. Its name is unique in the checkpoint.
struct TensorRecord {
  std::string name;  ///< "conv1/weights", "conv1/weights/momentum"
  TensorKind kind = TensorKind::variable;
  std::string variable;  ///< the variable that a slot or moving average belongs to
  std::string slot;      ///< "momentum" and the like; empty unless a slot
  Tensor value;
  TensorList blocks = {};       ///< instead of the value: rows, one block after the other
  std::int64_t first_row = 0;   ///< of the whole tensor, when this is a part of it
  std::int64_t total_rows = 0;  ///< of the whole tensor; 0 when this is all of it
};

/// What the manifest remembers of a tensor: the record without the values.
struct TensorEntry {
  std::string name;
  TensorKind kind = TensorKind::variable;
  std::string variable;
  std::string slot;
  DType dtype = DType::float32;
  Shape shape;
  std::uint32_t crc32c = 0;    ///< of the values, little-endian
  std::int64_t first_row = 0;  ///< as in TensorRecord
  std::int64_t total_rows = 0;

  /// The name of the whole tensor, also when this is a part of it.
  std::string whole_name() const;
};

/// A safetensors file that is written and safe on disk, but belongs to no
/// checkpoint until a manifest that names it is published.
struct ShardFile {
  std::string name;  ///< relative to the checkpoint's directory
  std::uint64_t bytes = 0;
  std::vector<TensorEntry> tensors;
};

/// A checkpoint: one consistent state of a training run.
struct Manifest {
  std::int64_t step = 0;
  double epoch = 0;
  std::chrono::system_clock::time_point time{};  ///< of publication
  std::vector<ShardFile> files;
  std::map<std::string, std::string> state;  ///< bytes by name: reader position, random states, ...
  std::map<std::string, double> metrics;     ///< "test/loss" and the like
};

/// The bytes of a manifest file: messages/proto/checkpoint.proto.
std::string encode_manifest(const Manifest& manifest);

/// The inverse. `path` is for messages. Throws data_loss when the bytes are not
/// what encode_manifest() gave, and unimplemented when a newer Troupe wrote them.
Manifest decode_manifest(std::string_view bytes, const std::string& path);

/// The same from a file; a directory of that name is data_loss. Throws not_found as well.
Manifest read_manifest(const std::string& path);

}  // namespace troupe

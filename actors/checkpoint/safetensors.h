#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "troupe/ops/tensor.h"

namespace troupe {

// The safetensors format: eight bytes with the length of the header
// (little-endian), the header in JSON, then the values of all tensors without a
// gap. https://github.com/huggingface/safetensors describes it; Python opens such
// a file with safetensors.numpy.load_file(path).

struct NamedTensor {
  std::string name;
  Tensor value;
  TensorList blocks = {};  ///< instead of the value: its rows, one block after the other; not empty

  /// The value, or its blocks.
  std::span<const Tensor> parts() const {
    return blocks.empty() ? std::span<const Tensor>(&value, 1) : std::span<const Tensor>(blocks);
  }
  DType dtype() const { return parts()[0].dtype(); }
  Shape shape() const;
  std::uint64_t byte_size() const;
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsResult {
  std::uint64_t bytes = 0;             ///< size of the file
  std::vector<std::uint32_t> crc32cs;  ///< of each tensor's values, in the order given
};

/// Writes a file that is complete and on disk when it appears under its name:
/// the bytes go to `path`.tmp, which is synced and then renamed. In the file the
/// tensors are sorted by the size of their values, largest first, then by name,
/// so that each is aligned and equal tensors give equal files.
/// Throws invalid_argument for a name that is used twice, is not UTF-8 or is
/// "__metadata__", and for string tensors; unavailable, naming the path, when the
/// system refuses (resource_exhausted when the disk is full).
SafetensorsResult write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                    const Metadata& metadata = {});

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::uint64_t begin = 0;  ///< of the values, in bytes from the start of the file
  std::uint64_t end = 0;
};

/// A safetensors file, open for reading. The constructor reads and checks the
/// header; values are read when they are asked for, from any thread.
class SafetensorsFile {
 public:
  /// Throws not_found when there is no such file, and data_loss, naming the file
  /// and where possible the tensor, when its header does not describe the file
  /// exactly; unimplemented for a dtype that Troupe does not have.
  explicit SafetensorsFile(std::string path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }
  const Metadata& metadata() const { return metadata_; }

  /// In the order of their values in the file.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  /// nullptr when the file has no such tensor.
  const SafetensorsEntry* find(const std::string& name) const;

  /// Throws not_found, listing what there is, for a name that the file does not
  /// have, and data_loss when the file has been cut short since it was opened.
  Tensor read(const std::string& name) const;
  Tensor read(const SafetensorsEntry& entry) const;

 private:
  void read_header();
  void parse_header(const std::string& json, std::uint64_t values_begin);
  void read_bytes(std::uint64_t offset, void* to, std::size_t size, const std::string& what) const;

  std::string path_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  Metadata metadata_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace troupe

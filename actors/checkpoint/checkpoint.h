#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/checkpoint/manifest.h"
#include "troupe/actors/checkpoint/safetensors.h"
#include "troupe/ops/error.h"

namespace troupe {

/// A published checkpoint, open for reading.
///
/// Opening checks the manifest, that every file is there with its size, and that
/// files and manifest agree on every tensor; reading checks the checksum of what
/// is read. Damage is data_loss; the message names the file and the tensor, and
/// the newest older checkpoint of the directory that is whole, if there is one.
///
/// A tensor whose rows lived in several shards is one tensor here.
class Checkpoint {
 public:
  /// `path` is a directory (then its newest checkpoint is opened), a manifest
  /// ("run/ckpt-300.manifest"), that without its ending ("run/ckpt-300"), or "last" in a
  /// directory ("run/last").
  /// Throws not_found or invalid_argument, saying what was given and what there
  /// is, when the path names no checkpoint.
  static Checkpoint open(const std::string& path);

  const std::string& name() const { return name_; }  ///< "run/ckpt-300"
  const std::string& directory() const { return directory_; }
  const Manifest& manifest() const { return manifest_; }
  std::int64_t step() const { return manifest_.step; }

  bool has(const std::string& tensor) const {
    return splits_.contains(tensor) || tensors_.contains(tensor);
  }
  /// What the manifest says of a tensor. Throws not_found, listing what there is.
  const TensorEntry& entry(const std::string& tensor) const;
  /// Values of a tensor, verified. From any thread.
  Tensor read(const std::string& tensor) const;
  /// Everything, file by file.
  std::vector<TensorRecord> read_all() const;
  /// Reads everything and keeps nothing.
  void verify() const;

 private:
  struct Place {
    const TensorEntry* entry;
    const SafetensorsFile* file;
  };

  /// A tensor whose rows stand in several files.
  struct Split {
    TensorEntry entry;  ///< of the whole
    std::vector<Place> parts;
  };

  explicit Checkpoint(const std::string& manifest_path);
  void open_file(const ShardFile& file);
  void join_parts();
  Tensor read_split(const Split& split) const;
  const Place& place(const std::string& tensor) const;
  Tensor read_verified(const Place& place) const;
  static bool is_whole(const std::string& manifest_path);
  /// Throws `error`; for damage it offers an older checkpoint.
  [[noreturn]] static void refuse(const Error& error, const std::string& manifest_path);

  std::string directory_;
  std::string name_;
  Manifest manifest_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> tensors_;  ///< also parts of those that are split
  std::map<std::string, Split> splits_;   ///< by the name of the whole
};

}  // namespace troupe

#include "troupe/actors/checkpoint/manifest.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "troupe/messages/crc32c.h"
#include "troupe/messages/proto/checkpoint.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kWithoutParts = 1;  ///< what readers of version 1 understand
constexpr std::string_view kFormat = "troupe checkpoint";

using Nanoseconds = std::chrono::nanoseconds;
using Clock = std::chrono::system_clock;

void encode(const TensorEntry& from, proto::TensorEntry& to) {
  to.set_name(from.name);
  to.set_kind(static_cast<proto::TensorEntry::Kind>(from.kind));
  to.set_variable(from.variable);
  to.set_slot(from.slot);
  to.set_dtype(std::string(to_string(from.dtype)));
  for (const auto extent : from.shape.extents()) to.add_shape(extent);
  to.set_crc32c(from.crc32c);
  to.set_first_row(from.first_row);
  to.set_total_rows(from.total_rows);
}

/// Reads a manifest, believing nothing that it says without a check.
class Decoder {
 public:
  explicit Decoder(const std::string& path) : path_(path) {}

  Manifest decode(const proto::Manifest& from) {
    if (from.format_version() > kVersion)
      fail(Code::unimplemented, path_, " has format version ", from.format_version(),
           ", but this Troupe reads up to ", kVersion, ": use the Troupe that wrote it");
    if (from.step() < 0) complain("step ", from.step(), " is negative");
    Manifest to;
    to.step = from.step();
    to.epoch = from.epoch();
    to.time = Clock::time_point(
        std::chrono::duration_cast<Clock::duration>(Nanoseconds(from.wall_time_ns())));
    for (const auto& file : from.files()) to.files.push_back(decode(file));
    to.state = {from.state().begin(), from.state().end()};
    to.metrics = {from.metrics().begin(), from.metrics().end()};
    return to;
  }

 private:
  template <class... Parts>
  [[noreturn]] void complain(const Parts&... parts) const {
    fail(Code::data_loss, path_, ": ", parts...);
  }

  ShardFile decode(const proto::ShardFile& from) {
    const auto& name = from.name();
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
      complain("'", name, "' is not the name of a file beside the manifest");
    if (!files_.insert(name).second) complain("file ", name, " is listed twice");
    ShardFile to{name, from.bytes(), {}};
    for (const auto& tensor : from.tensors()) to.tensors.push_back(decode(tensor));
    return to;
  }

  TensorEntry decode(const proto::TensorEntry& from) {
    if (!tensors_.insert(from.name()).second)
      complain("tensor '", from.name(), "' is listed twice");
    if (from.kind() < proto::TensorEntry::VARIABLE ||
        from.kind() > proto::TensorEntry::MOVING_AVERAGE)
      complain("tensor '", from.name(), "' has kind ", static_cast<int>(from.kind()),
               ", which does not exist");
    if (from.total_rows() != 0 &&
        (from.shape().empty() || from.variable().empty() || from.first_row() < 0 ||
         from.shape(0) < 0 || from.first_row() > from.total_rows() - from.shape(0)))
      complain("tensor '", from.name(), "' is said to be rows from ", from.first_row(), " on of ",
               from.total_rows(), ", which cannot be");
    try {
      return {from.name(),
              static_cast<TensorKind>(from.kind()),
              from.variable(),
              from.slot(),
              parse_dtype(from.dtype()),
              Shape(std::vector<std::int64_t>(from.shape().begin(), from.shape().end())),
              from.crc32c(),
              from.first_row(),
              from.total_rows()};
    } catch (const Error& e) {
      complain("tensor '", from.name(), "': ", e.what());
    }
  }

  const std::string& path_;
  std::set<std::string> files_;
  std::set<std::string> tensors_;
};

}  // namespace

std::string_view to_string(TensorKind kind) {
  switch (kind) {
    case TensorKind::variable:
      return "variable";
    case TensorKind::slot:
      return "slot";
    case TensorKind::moving_average:
      return "moving average";
  }
  return "unknown kind";
}

std::string TensorEntry::whole_name() const {
  if (total_rows == 0) return name;
  if (kind == TensorKind::variable) return variable;
  return variable + "/" + (kind == TensorKind::moving_average ? "average" : slot);
}

std::string encode_manifest(const Manifest& manifest) {
  proto::Manifest inner;
  bool parts = false;
  for (const auto& file : manifest.files)
    for (const auto& tensor : file.tensors) parts = parts || tensor.total_rows > 0;
  inner.set_format_version(parts ? kVersion : kWithoutParts);
  inner.set_step(manifest.step);
  inner.set_epoch(manifest.epoch);
  inner.set_wall_time_ns(
      std::chrono::duration_cast<Nanoseconds>(manifest.time.time_since_epoch()).count());
  for (const auto& file : manifest.files) {
    auto& to = *inner.add_files();
    to.set_name(file.name);
    to.set_bytes(file.bytes);
    for (const auto& tensor : file.tensors) encode(tensor, *to.add_tensors());
  }
  inner.mutable_state()->insert(manifest.state.begin(), manifest.state.end());
  inner.mutable_metrics()->insert(manifest.metrics.begin(), manifest.metrics.end());

  proto::ManifestFile outer;
  outer.set_format(std::string(kFormat));
  outer.set_manifest(inner.SerializeAsString());
  outer.set_crc32c(crc32c(outer.manifest()));
  return outer.SerializeAsString();
}

Manifest decode_manifest(std::string_view bytes, const std::string& path) {
  proto::ManifestFile outer;
  const bool parsed = outer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (outer.format() != kFormat)
    fail(Code::data_loss, path, " is damaged: it does not begin as a manifest does");
  if (!parsed || outer.manifest().empty() || crc32c(outer.manifest()) != outer.crc32c())
    fail(Code::data_loss, path, " is damaged: its checksum does not match");
  proto::Manifest inner;
  if (!inner.ParseFromString(outer.manifest()))
    fail(Code::data_loss, path, " is damaged: its content cannot be parsed");
  return Decoder(path).decode(inner);
}

Manifest read_manifest(const std::string& path) {
  constexpr std::uintmax_t kMax = 1u << 30;  // Protobuf's own limit is twice as much
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail(Code::data_loss, path, " is a directory instead of a manifest");
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream in(path, std::ios::binary);
  if (error || !in) fail(Code::not_found, "cannot read ", path);
  if (size > kMax) fail(Code::data_loss, path, ": ", size, " bytes are too many for a manifest");
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return decode_manifest(bytes, path);
}

}  // namespace troupe

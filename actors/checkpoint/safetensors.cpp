#include "troupe/actors/checkpoint/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/actors/system_error.h"
#include "troupe/messages/crc32c.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as in the reference implementation
constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  DType type;
  std::string_view name;
};
constexpr std::array<TypeName, 10> kTypeNames{{
    {DType::float32, "F32"},
    {DType::float64, "F64"},
    {DType::bfloat16, "BF16"},
    {DType::float16, "F16"},
    {DType::int8, "I8"},
    {DType::int16, "I16"},
    {DType::int32, "I32"},
    {DType::int64, "I64"},
    {DType::uint8, "U8"},
    {DType::boolean, "BOOL"},
}};

// ---- writing ---------------------------------------------------------------------------------

std::string_view type_name(const std::string& path, const NamedTensor& tensor) {
  for (const auto& [type, name] : kTypeNames)
    if (type == tensor.dtype()) return name;
  fail(Code::invalid_argument, path, ": tensor '", tensor.name, "' has dtype ", tensor.dtype(),
       ", which safetensors files do not hold");
}

/// The positions of the tensors in the order of the file.
std::vector<std::size_t> file_order(const std::string& path, std::span<const NamedTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto size_a = size_of(tensors[a].dtype());
    const auto size_b = size_of(tensors[b].dtype());
    return size_a != size_b ? size_a > size_b : tensors[a].name < tensors[b].name;
  });
  std::set<std::string_view> names{kMetadata};
  for (const auto& tensor : tensors)
    if (!names.insert(tensor.name).second)
      fail(Code::invalid_argument, path, ": tensor name '", tensor.name, "' is ",
           tensor.name == kMetadata ? "reserved by the format" : "used twice");
  return order;
}

std::string make_header(const std::string& path, std::span<const NamedTensor> tensors,
                        const std::vector<std::size_t>& order, const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  std::uint64_t offset = 0;
  for (const auto i : order) {
    const auto end = offset + tensors[i].byte_size();
    header[tensors[i].name] = {{"dtype", type_name(path, tensors[i])},
                               {"shape", tensors[i].shape().vector()},
                               {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    auto text = header.dump();
    text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
    return text;
  } catch (const nlohmann::json::exception&) {
    fail(Code::invalid_argument, path, ": a tensor name or metadata is not valid UTF-8");
  }
}

// ---- reading ---------------------------------------------------------------------------------

/// Parses JSON from outside: no deep nesting, no key twice in an object.
Json parse_json(const std::string& path, const std::string& text) {
  constexpr int kDeepest = 3;  // header, tensor, list
  std::vector<std::set<std::string>> keys(kDeepest + 1);
  const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kDeepest) fail(Code::data_loss, path, ": the header is nested too deeply");
      keys[level + 1].clear();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys[level].insert(key).second)
        fail(Code::data_loss, path, ": the header has '", key, "' twice");
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const nlohmann::json::exception& e) {
    fail(Code::data_loss, path, ": the header is not JSON: ", e.what());
  }
}

/// Reads what the header says of one tensor; every complaint names it.
class EntryParser {
 public:
  EntryParser(const std::string& path, const std::string& name) : path_(path), name_(name) {}

  SafetensorsEntry parse(const Json& json, std::uint64_t values_begin,
                         std::uint64_t values_size) const {
    if (!json.is_object()) complain("its description is not an object");
    SafetensorsEntry entry{name_, parse_type(field(json, "dtype")),
                           parse_shape(field(json, "shape")), 0, 0};
    const auto offsets = integers(field(json, "data_offsets"), "data_offsets");
    if (offsets.size() != 2) complain("data_offsets has ", offsets.size(), " numbers, not 2");
    const std::uint64_t begin = offsets[0];
    const std::uint64_t end = offsets[1];
    if (begin > end || end > values_size)
      complain("its values are said to be bytes ", begin, " to ", end, " of the ", values_size,
               " that the file has");
    if (end - begin != values_of(entry))
      complain(entry.dtype, " ", entry.shape, " needs ", values_of(entry), " bytes, but has ",
               end - begin);
    entry.begin = values_begin + begin;
    entry.end = values_begin + end;
    return entry;
  }

 private:
  template <class... Parts>
  [[noreturn]] void complain(const Parts&... parts) const {
    fail(Code::data_loss, path_, ": tensor '", name_, "': ", parts...);
  }

  const Json& field(const Json& json, const char* key) const {
    const auto found = json.find(key);
    if (found == json.end()) complain("its ", key, " is missing");
    return *found;
  }

  DType parse_type(const Json& json) const {
    if (!json.is_string()) complain("its dtype is not a string");
    const auto& given = json.get_ref<const std::string&>();
    std::string known;
    for (const auto& [type, name] : kTypeNames) {
      if (name == given) return type;
      known += text(known.empty() ? "" : ", ", name);
    }
    fail(Code::unimplemented, path_, ": tensor '", name_, "' has dtype ", given, "; Troupe reads ",
         known);
  }

  std::vector<std::uint64_t> integers(const Json& json, const char* key) const {
    std::vector<std::uint64_t> numbers;
    if (!json.is_array()) complain("its ", key, " is not a list");
    for (const auto& number : json) {
      if (!number.is_number_unsigned()) complain("its ", key, " is not a list of whole numbers");
      numbers.push_back(number.get<std::uint64_t>());
    }
    return numbers;
  }

  Shape parse_shape(const Json& json) const {
    std::vector<std::int64_t> extents;
    for (const auto extent : integers(json, "shape")) {
      if (!std::in_range<std::int64_t>(extent)) complain("extent ", extent, " is absurd");
      extents.push_back(static_cast<std::int64_t>(extent));
    }
    try {
      return Shape(extents);
    } catch (const Error& e) {
      complain(e.what());
    }
  }

  std::uint64_t values_of(const SafetensorsEntry& entry) const {
    std::uint64_t bytes = size_of(entry.dtype);
    for (const auto extent : entry.shape.extents())
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
        complain("shape ", entry.shape, " is larger than any file");
    return bytes;
  }

  const std::string& path_;
  const std::string& name_;
};

}  // namespace

Shape NamedTensor::shape() const {
  auto shape = parts()[0].shape();
  if (blocks.empty()) return shape;
  std::int64_t rows = 0;
  for (const auto& block : blocks) rows += block.shape()[0];
  shape.set(0, rows);
  return shape;
}

std::uint64_t NamedTensor::byte_size() const {
  std::uint64_t bytes = 0;
  for (const auto& part : parts()) bytes += part.byte_size();
  return bytes;
}

SafetensorsResult write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                    const Metadata& metadata) {
  const auto order = file_order(path, tensors);
  const auto header = make_header(path, tensors, order, metadata);
  const std::uint64_t length = header.size();

  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  SafetensorsResult result;
  result.crc32cs.resize(tensors.size());
  for (const auto i : order) {
    for (const auto& part : tensors[i].parts()) {
      result.crc32cs[i] = crc32c(part.data(), part.byte_size(), result.crc32cs[i]);
      file.write(part.data(), part.byte_size());
    }
  }
  result.bytes = file.bytes();
  file.commit();
  return result;
}

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) system_error("open", path_);
  try {
    read_header();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  if (file_ >= 0) ::close(file_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_),
      metadata_(std::move(other.metadata_)),
      entries_(std::move(other.entries_)) {}

void SafetensorsFile::read_header() {
  struct stat status {};
  if (::fstat(file_, &status) != 0) system_error("look at", path_);
  if (!S_ISREG(status.st_mode)) fail(Code::invalid_argument, path_, " is not a regular file");
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  if (bytes_ < kLengthBytes)
    fail(Code::data_loss, path_, ": ", bytes_, " bytes are too few for a safetensors file");

  std::uint64_t length = 0;
  read_bytes(0, &length, sizeof length, "the length of the header");
  const auto room = bytes_ - kLengthBytes;
  if (length > room || length > kMaxHeader)
    fail(Code::data_loss, path_, ": the header is said to be ", length, " bytes, but ",
         length > room ? text(room, " follow: the file is cut short or not safetensors")
                       : text("may have ", kMaxHeader));
  std::string header(length, '\0');
  read_bytes(kLengthBytes, header.data(), header.size(), "the header");
  parse_header(header, kLengthBytes + length);
}

void SafetensorsFile::parse_header(const std::string& text, std::uint64_t values_begin) {
  const auto header = parse_json(path_, text);
  if (!header.is_object()) fail(Code::data_loss, path_, ": the header is not a JSON object");
  for (const auto& [name, description] : header.items()) {
    if (name != kMetadata) {
      const EntryParser parser(path_, name);
      entries_.push_back(parser.parse(description, values_begin, bytes_ - values_begin));
      continue;
    }
    if (!description.is_object())
      fail(Code::data_loss, path_, ": ", kMetadata, " is not an object");
    for (const auto& [key, value] : description.items()) {
      if (!value.is_string())
        fail(Code::data_loss, path_, ": ", kMetadata, " '", key, "' is not a string");
      metadata_[key] = value.get<std::string>();
    }
  }

  std::ranges::sort(entries_, [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  auto next = values_begin;
  for (const auto& entry : entries_) {
    if (entry.begin != next)
      fail(Code::data_loss, path_, ": tensor '", entry.name, "' begins at byte ", entry.begin,
           entry.begin < next ? ", inside the tensor before it" : ", after a gap",
           "; expected byte ", next);
    next = entry.end;
  }
  if (next != bytes_)
    fail(Code::data_loss, path_, ": the tensors end at byte ", next, ", but the file at ", bytes_);
}

void SafetensorsFile::read_bytes(std::uint64_t offset, void* to, std::size_t size,
                                 const std::string& what) const {
  auto* out = static_cast<char*>(to);
  while (size > 0) {
    const auto got = ::pread(file_, out, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) system_error("read", path_);
    if (got == 0) fail(Code::data_loss, path_, ": ", what, " ends too early, at byte ", offset);
    out += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
}

const SafetensorsEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &SafetensorsEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Tensor SafetensorsFile::read(const std::string& name) const {
  if (const auto* entry = find(name)) return read(*entry);
  std::string known;
  for (const auto& entry : entries_) known += text(known.empty() ? "" : ", ", entry.name);
  fail(Code::not_found, path_, " has no tensor '", name, "'; it has: ", known);
}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  auto tensor = Tensor::uninitialized(entry.dtype, entry.shape);
  const auto what = "tensor '" + entry.name + "'";
  if (tensor.byte_size() > 0)
    read_bytes(entry.begin, tensor.mutable_data(), tensor.byte_size(), what);
  if (entry.dtype == DType::boolean) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensor.data());
    if (std::any_of(bytes, bytes + tensor.size(), [](std::uint8_t b) { return b > 1; }))
      fail(Code::data_loss, path_, ": ", what, " has a byte that is neither true nor false");
  }
  return tensor;
}

}  // namespace troupe

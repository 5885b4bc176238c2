#include "troupe/actors/readers/npy_format.h"

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/actors/readers/input_file.h"
#include "troupe/actors/readers/zip_archive.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// NumPy itself refuses more than 10,000 unless it is told otherwise.
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;

/// The literal that describes an array:
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Literal {
 public:
  Literal(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;

  void parse() {
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const auto key = quoted();
      expect(':');
      if (key == "descr") {
        has_descr = true;
        parse_descr();
      } else if (key == "fortran_order") {
        has_order = true;
        fortran_order = boolean();
      } else if (key == "shape") {
        has_shape = true;
        parse_shape();
      } else {
        bad(text("there is a key '", key, "'"));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (at_ != text_.size()) bad("something follows the closing brace");
    if (!has_descr || !has_order || !has_shape)
      bad("it needs the keys 'descr', 'fortran_order' and 'shape'");
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail(Code::data_loss, path_, ": byte ", at_, " of the description of a NumPy array: ", why);
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(text("'", c, "' should stand here"));
  }
  std::string quoted() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') bad("a text in quotes should stand here");
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) bad("the quotes do not end");
    const auto inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"False", "True"})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    bad("True or False should stand here");
  }
  void parse_descr() {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[')
      fail(Code::invalid_argument, path_,
           ": its values are records with fields; save each field as an array of its own");
    descr = quoted();
  }
  void parse_shape() {
    shape.clear();
    expect('(');
    while (!accept(')')) {
      std::int64_t extent = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) bad("an extent should stand here");
      at_ = static_cast<std::size_t>(end - text_.data());
      accept('L');  // Python 2 wrote 3L
      shape.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
      skip_blanks();
    }
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

std::optional<DType> dtype_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, DType>, 9> kTypes{{
      {"f4", DType::float32},
      {"f8", DType::float64},
      {"f2", DType::float16},
      {"i1", DType::int8},
      {"i2", DType::int16},
      {"i4", DType::int32},
      {"i8", DType::int64},
      {"u1", DType::uint8},
      {"b1", DType::boolean},
  }};
  for (const auto& [name, dtype] : kTypes)
    if (name == kind) return dtype;
  return std::nullopt;
}

void set_dtype(ArrayHeader& header, const std::string& descr, const std::string& path) {
  const auto order = descr.empty() ? ' ' : descr[0];
  const auto kind = std::string_view(descr).substr(descr.empty() ? 0 : 1);
  if (kind.starts_with('O'))
    fail(Code::invalid_argument, path,
         ": its values are Python objects, which are stored as programs and are never run here; "
         "save numbers");
  const auto dtype = dtype_of(kind);
  if (!dtype || (order != '<' && order != '>' && order != '|' && order != '='))
    fail(Code::invalid_argument, path, ": no dtype of Troupe is '", descr,
         "'; save it as one that is: array.astype('float32'), or float64, float16, int8, int16, "
         "int32, int64, uint8, bool");
  header.dtype = *dtype;
  header.big_endian = order == '>';
}

std::unique_ptr<ByteStream> stream_of(const std::string& path, const std::string& member) {
  if (!member.empty())
    return std::make_unique<ZipMemberStream>(path, find_zip_member(path, member + ".npy"),
                                             path + "/" + member);
  if (path.ends_with(".npz"))
    fail(Code::invalid_argument, path,
         " holds several arrays; say which one is to be read (read_npz; option 'array')");
  return std::make_unique<InputFile>(path);
}

}  // namespace

OpenArray open_npy(const std::string& path, const std::string& member) {
  expect_readable_again(path);
  OpenArray array{{}, stream_of(path, member)};
  auto& [header, stream] = array;
  std::array<char, 8> start{};  // the magic string and the version
  read_header_bytes(*stream, start.data(), start.size());
  if (std::string_view(start.data(), kMagic.size()) != kMagic)
    fail(Code::data_loss, stream->path(), ": not an array that NumPy has saved: it does not start ",
         "with \\x93NUMPY");
  const int version = start[6];
  if (version < 1 || version > 3)
    fail(Code::data_loss, stream->path(), ": NumPy's format ", version, '.', int{start[7]},
         "; 1.0 to 3.0 can be read");
  const std::size_t width = version == 1 ? 2 : 4;
  std::array<char, 4> bytes{};
  read_header_bytes(*stream, bytes.data(), width);
  std::size_t length = 0;
  for (auto i = width; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kMaxHeaderBytes)
    fail(Code::data_loss, stream->path(), ": a header of ", length, " bytes; at most ",
         kMaxHeaderBytes, " can be read");
  std::string written(length, '\0');
  read_header_bytes(*stream, written.data(), length);

  Literal literal(written, stream->path());
  literal.parse();
  header.header_bytes = stream->offset();
  set_dtype(header, literal.descr, stream->path());
  if (literal.fortran_order && literal.shape.size() > 1)
    fail(Code::invalid_argument, stream->path(),
         ": the array is in Fortran order, which scatters each row over the whole file; save it "
         "in C order: numpy.save(file, numpy.ascontiguousarray(array))");
  set_extents(header, literal.shape, *stream);
  return array;
}

ArrayFormat npy_format(const std::string& member) {
  return {member.empty() ? "rows" : "rows of array '" + member + "'",
          [member](const std::string& path) { return open_npy(path, member); }};
}

}  // namespace troupe

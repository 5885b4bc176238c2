#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/dtype.h"
#include "troupe/ops/error.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// What is said about a reader or a decoder in a pipeline file or in a program:
/// options by name, with values as text.
///
///   OptionMap{{"files", "train-*.txt"}, {"skip_header_lines", "1"}}
///
/// Whoever makes the reader asks for the options that it knows, by type, and thereby
/// makes them known: one that is given and that nobody asks for is an error. So ask
/// for all of them before anything is returned.
///
/// Without a fallback an option must be given. Every accessor throws invalid_argument
/// for a text that is not what it asks for, with the place of the option where that
/// is known:
///
///   train.pbtxt:4:5: option 'skip_header_lines' of reader 'text' is "x", which is not a
///   whole number
class OptionMap {
 public:
  OptionMap() = default;
  OptionMap(std::initializer_list<std::pair<std::string, std::string>> options);

  /// Adds a value to those of an option. `place` is where it stands: "train.pbtxt:4:5".
  void add(const std::string& name, std::string value, std::string place = {});
  /// Who has these options, for messages: "reader 'text'".
  void set_owner(std::string owner) { owner_ = std::move(owner); }
  /// Where files() looks for relative paths; the working directory unless it is set.
  void set_directory(std::string directory) { directory_ = std::move(directory); }

  /// The same with this as the only one of `files`, which may be without a record.
  OptionMap of_file(const std::string& path) const;

  bool has(const std::string& name) const;

  std::string text(const std::string& name) const;
  std::string text(const std::string& name, std::string fallback) const;
  /// All values of an option that may be given several times; empty when it is not given.
  std::vector<std::string> list(const std::string& name) const;
  /// The same for paths and patterns, at least one; relative ones as seen from the directory.
  std::vector<std::string> files(const std::string& name) const;
  /// A path, as seen from the directory if it is relative.
  std::string path(const std::string& value) const;
  std::int64_t integer(const std::string& name, std::int64_t least, std::int64_t most) const;
  std::int64_t integer(const std::string& name, std::int64_t fallback, std::int64_t least,
                       std::int64_t most) const;
  /// All values of an option that may be given several times.
  std::vector<std::int64_t> integers(const std::string& name, std::int64_t least,
                                     std::int64_t most) const;
  /// A finite number.
  double number(const std::string& name, double fallback) const;
  /// "true" or "false".
  bool flag(const std::string& name, bool fallback) const;
  /// One character, or "space", "tab", "comma".
  char character(const std::string& name, char fallback) const;
  /// "28,28,1"; "" is a scalar.
  Shape shape(const std::string& name) const;
  Shape shape(const std::string& name, const Shape& fallback) const;
  /// The same where the first extent may be -1: it varies.
  Shape varying_shape(const std::string& name, const Shape& fallback) const;
  DType dtype(const std::string& name, DType fallback) const;

  /// Throws invalid_argument for an option that nobody has asked for, with the names
  /// of those that somebody did.
  void expect_all_known() const;

  /// Throws invalid_argument: "option 'files' of reader 'text' <parts>", with its place.
  template <class... Parts>
  [[noreturn]] void refuse(const std::string& name, const Parts&... parts) const {
    refuse_with(name, troupe::text(parts...));
  }

 private:
  struct Option {
    std::vector<std::string> values;
    std::string place;
    bool implied = false;  ///< nobody has written it: a path is meant as it stands
  };
  const Option* find(const std::string& name) const;
  /// The one value of an option; none when it is not given.
  std::optional<std::string> value(const std::string& name) const;
  std::string required(const std::string& name) const;
  std::int64_t parse_integer(const std::string& name, const std::string& value, std::int64_t least,
                             std::int64_t most) const;
  Shape parse_shape(const std::string& name, const std::string& value, bool may_vary = false) const;
  [[noreturn]] void refuse_with(const std::string& name, const std::string& why) const;

  std::string owner_ = "a reader";
  std::string directory_;
  std::map<std::string, Option> options_;
  mutable std::set<std::string> asked_;
};

}  // namespace troupe

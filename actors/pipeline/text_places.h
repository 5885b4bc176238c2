#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/pipeline/file_problems.h"

// Protobuf's own headers are for source files of the project only.
namespace google::protobuf {
class Message;
}

namespace troupe {

/// What is said on a command line instead of, or beside, what a file says: a field by its
/// path, and its value: {"aggregation.policy", "async"}, {"ensemble.member[1].weight", "2"}.
struct FileSetting {
  std::string path;
  std::string value;
};
/// From "aggregation.policy=async". Throws invalid_argument.
FileSetting parse_file_setting(const std::string& text);

/// Reads a message from Protobuf's text format and remembers where each field stood.
class TextPlaces {
 public:
  /// `path` is what the file is called in messages.
  explicit TextPlaces(std::string path);
  ~TextPlaces();
  TextPlaces(const TextPlaces&) = delete;
  TextPlaces& operator=(const TextPlaces&) = delete;

  /// Fills `message`, which must outlive this, and adds what is wrong to `problems`: all
  /// unknown fields, and the first thing that is not text format. Whether the end was reached.
  bool parse(const std::string& text, google::protobuf::Message& message, FileProblems& problems);
  /// Sets a field that is a number, a text, true or false. Adds to `problems` what is wrong with
  /// path or value.
  void set(const FileSetting& setting, google::protobuf::Message& message, FileProblems& problems);

  const std::string& path() const;
  /// "train.pbtxt:4:5", or "--set replicas=4": where a field stands, or one of its values; empty
  /// when it does not.
  std::string find(const google::protobuf::Message& message, const char* field, int index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The text of a small file. Throws not_found, and resource_exhausted above 4 MiB.
std::string read_small_file(const std::string& path);

/// "" for a name without a slash.
std::string directory_of(const std::string& path);

/// A message of a file, and where its fields stand.
template <class Message>
class Located {
 public:
  Located(const Message& message, const TextPlaces& places, std::string own)
      : message_(message), places_(places), own_(std::move(own)) {}

  const Message& operator*() const { return message_; }
  const Message* operator->() const { return &message_; }
  /// "train.pbtxt:4:5", where the message begins.
  const std::string& place() const { return own_; }

  /// Where a field stands, or else where the message begins.
  std::string place(const char* field, int index = -1) const {
    auto found = places_.find(message_, field, index);
    return found.empty() ? own_ : found;
  }

  template <class Inner>
  Located<Inner> inside(const char* field, const Inner& inner, int index = -1) const {
    return {inner, places_, place(field, index)};
  }

 private:
  const Message& message_;
  const TextPlaces& places_;
  std::string own_;
};

}  // namespace troupe

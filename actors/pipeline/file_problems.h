#pragma once

#include <string>
#include <utility>
#include <vector>

#include "troupe/ops/error.h"

namespace troupe {

/// What is wrong with a file that people write, all of it. what() has a line for each:
///
///   run.pbtxt:3:1: there is no field 'replcas'; did you mean 'replicas'?
///   run.pbtxt:9:12: no policy is called 'asink'; there are: async, local, ssp, sync
class FileError : public Error {
 public:
  FileError(Code code, std::vector<std::string> problems);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

/// Collects what is wrong while a file is looked through.
class FileProblems {
 public:
  /// `words` begin with the place: "run.pbtxt:3:1: ...".
  void add(Code code, std::string words);
  bool none() const { return problems_.empty(); }
  /// Throws FileError, with the code of the first problem, unless there is none.
  void expect_none() const;

  /// Does something whose errors belong to a place of the file; whether it went well.
  template <class Work>
  bool attempt(const std::string& place, Work work) {
    try {
      work();
      return true;
    } catch (const FileError& error) {
      for (const auto& problem : error.problems()) add(error.code(), problem);
    } catch (const Error& error) {
      add(error, place);
    }
    return false;
  }

 private:
  void add(const Error& error, const std::string& place);

  Code code_ = Code::ok;
  std::vector<std::string> problems_;
};

/// Whether words begin with a place in the same file as `place`.
bool has_place_of(const std::string& words, const std::string& place);

/// Does something whose errors belong to a place of the file, "run.pbtxt:4:5": it is put in
/// front of them, unless they say one of the same file themselves.
template <class Work>
auto at_place(const std::string& place, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (has_place_of(error.what(), place)) throw;
    throw error.within(place);
  }
}

}  // namespace troupe

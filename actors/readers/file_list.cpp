#include "troupe/actors/readers/file_list.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&found, globfree);
  const int result = glob(pattern.c_str(), GLOB_BRACE, nullptr, &found);
  if (result == GLOB_NOSPACE) fail(Code::resource_exhausted, "out of memory for ", pattern);
  if (result != 0) fail(Code::not_found, "no file matches ", pattern);
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};  // glob sorts
}

void check_readable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) system_error("read", path);
  if (S_ISDIR(info.st_mode))
    fail(Code::invalid_argument, "cannot read ", path, ": it is a directory; name its files (",
         path, "/*)");
  if (access(path.c_str(), R_OK) != 0) system_error("read", path);
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& patterns,
                                      const FilePolicy& policy) {
  if (patterns.empty()) fail(Code::invalid_argument, "a reader needs at least one file");
  std::vector<std::string> files;
  for (const auto& pattern : patterns) {
    struct stat info {};
    const bool expand = pattern != "-" && stat(pattern.c_str(), &info) != 0 &&
                        pattern.find_first_of("*?[{") != std::string::npos;
    try {
      for (auto& path : expand ? matches(pattern) : std::vector{pattern}) {
        if (path != "-") check_readable(path);
        files.push_back(std::move(path));
      }
    } catch (const Error& error) {
      policy.handle(error, pattern, false);
    }
  }
  return files;
}

std::vector<std::string> shard_files(const std::vector<std::string>& patterns, std::size_t index,
                                     std::size_t count) {
  if (index >= count)
    fail(Code::invalid_argument, "there is no shard ", index, " of ", count, ": they count from 0");
  const auto files = expand_files(patterns);
  if (files.size() < count)
    fail(Code::invalid_argument, describe_files(files), " cannot be shared out to ", count,
         " readers: there are only ", files.size(), " (shard their records instead)");
  std::vector<std::string> mine;
  for (auto i = index; i < files.size(); i += count) mine.push_back(files[i]);
  return mine;
}

std::string describe_files(const std::vector<std::string>& files) {
  if (files.size() == 1) return files[0];
  auto words = text(files.size(), " files (", files[0]);
  if (files.size() > 1) words += ", " + files[1];
  return words + (files.size() > 2 ? ", ...)" : ")");
}

}  // namespace troupe

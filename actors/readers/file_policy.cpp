#include "troupe/actors/readers/file_policy.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "troupe/ops/printable.h"

namespace troupe {
namespace {

constexpr std::size_t kMostEntries = 1000;

void warn_on_stderr(const std::string& line) {
  std::clog << "warning: " << printable(line) << std::endl;
}

}  // namespace

FileReport::FileReport(std::function<void(const std::string&)> warn)
    : warn_(warn ? std::move(warn) : warn_on_stderr) {}

void FileReport::left_out(const std::string& file, const std::string& why, bool warn) {
  {
    const std::lock_guard guard(mutex_);
    const auto known = std::ranges::find(entries_, file, &Entry::file);
    if (known != entries_.end()) {
      ++known->times;
    } else {
      ++count_;
      if (entries_.size() < kMostEntries) entries_.push_back({file, why});
    }
  }
  if (warn) warn_(why);
}

std::int64_t FileReport::count() const {
  const std::lock_guard guard(mutex_);
  return count_;
}

std::vector<FileReport::Entry> FileReport::entries() const {
  const std::lock_guard guard(mutex_);
  return entries_;
}

std::string FileReport::words() const {
  const std::lock_guard guard(mutex_);
  if (count_ == 0) return {};
  return text(count_, count_ == 1 ? " file was" : " files were",
              " left out, wholly or in part, the first: ", entries_[0].why);
}

void FilePolicy::apply(FileAction action, const Error& error, const std::string& file) const {
  if (action == FileAction::fail) throw error;
  if (report) report->left_out(file, error.what(), action == FileAction::warn);
}

void FilePolicy::handle(const Error& error, const std::string& file, bool opened) const {
  switch (error.code()) {
    case Code::not_found:
      return apply(missing, error, file);
    case Code::permission_denied:
    case Code::unavailable:
      return apply(unreadable, error, file);
    case Code::data_loss:
      return apply(damaged, error, file);
    case Code::resource_exhausted:  // a record that is too long; or too many open files
      return apply(opened ? damaged : FileAction::fail, error, file);
    default:
      throw error;
  }
}

void FilePolicy::handle_empty(const std::string& file) const {
  apply(empty, Error(Code::data_loss, text(file, " has no record (FilePolicy::empty)")), file);
}

}  // namespace troupe

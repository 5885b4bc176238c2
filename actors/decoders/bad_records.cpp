#include "troupe/actors/decoders/bad_records.h"

#include <algorithm>

#include "troupe/actors/system_error.h"

namespace troupe {

BadRecords::BadRecords(BadRecordOptions options)
    : options_(std::move(options)), count_(options_.left_out_before) {
  if (count_ > 0) first_ = "one before this run was resumed";
  if (options_.quarantine.empty()) return;
  file_.reset(std::fopen(options_.quarantine.c_str(), count_ > 0 ? "abe" : "wbe"));
  if (!file_) system_error("write", options_.quarantine);
}

void BadRecords::quarantine(std::string_view words, std::string_view record) {
  constexpr std::string_view kMark = "# ";
  const auto size = kMark.size() + words.size() + 1 + record.size() + 1;
  if (size > options_.max_quarantine_bytes - bytes_) return;
  std::string entry;
  entry.reserve(size);
  entry.append(kMark).append(words);
  std::ranges::replace(entry, '\n', ' ');
  entry.append("\n").append(record).append("\n");
  if (std::fwrite(entry.data(), 1, size, file_.get()) != size)
    system_error("write", options_.quarantine);
  bytes_ += size;
  ++kept_;
}

void BadRecords::skip(const Error& error, std::string_view record) {
  const std::lock_guard guard(mutex_);
  if (options_.budget == 0) throw error;
  if (count_ == options_.budget)
    throw Error(error.code(),
                text(error.what(), " (", count_,
                     " bad records had been left out before; more were not allowed)"));
  if (file_) quarantine(error.what(), record);
  if (count_++ == 0) first_ = error.what();
}

std::int64_t BadRecords::count() const {
  const std::lock_guard guard(mutex_);
  return count_;
}

std::string BadRecords::report() const {
  const std::lock_guard guard(mutex_);
  if (count_ == 0) return {};
  const auto words = text(count_, count_ == 1 ? " bad record was" : " bad records were",
                          " left out, the first: ", first_);
  if (!file_) return words;
  if (std::fflush(file_.get()) != 0)
    return words + text("; ", options_.quarantine, " could not be written");
  return words + text("; ", options_.quarantine, " has ", kept_, " of them",
                      options_.left_out_before > 0 ? " since the run was resumed" : "");
}

}  // namespace troupe

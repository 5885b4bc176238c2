#include "troupe/actors/decoders/bad_records.h"

namespace troupe {

void BadRecords::skip(const Error& error) {
  const std::lock_guard guard(mutex_);
  if (budget_ == 0) throw error;
  if (count_ == budget_)
    throw Error(error.code(),
                text(error.what(), " (", count_,
                     " bad records had been left out before; more were not allowed)"));
  if (count_++ == 0) first_ = error.what();
}

std::int64_t BadRecords::count() const {
  const std::lock_guard guard(mutex_);
  return count_;
}

std::string BadRecords::report() const {
  const std::lock_guard guard(mutex_);
  if (count_ == 0) return {};
  return text(count_, count_ == 1 ? " bad record was" : " bad records were",
              " left out, the first: ", first_);
}

}  // namespace troupe

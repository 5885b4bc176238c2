#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "troupe/ops/error.h"
#include "troupe/ops/spelling.h"

namespace troupe {

/// What has a name and a function that makes it (`name`, `make`), by name; any thread may call
/// it.
template <class Format>
class NamedCatalog {
 public:
  NamedCatalog(std::string_view kind, std::vector<Format> builtin) : kind_(kind) {
    for (auto& format : builtin) add(std::move(format));
  }

  /// Throws already_exists, and invalid_argument without a name or a function.
  void add(Format format) {
    if (format.name.empty() || !format.make)
      fail(Code::invalid_argument, "a ", kind_, " is registered with a name and a function");
    const std::lock_guard guard(mutex_);
    const auto name = format.name;
    if (!formats_.emplace(name, std::move(format)).second)
      fail(Code::already_exists, "a ", kind_, " called '", name, "' is already registered");
  }

  /// Throws not_found with the names that there are.
  Format find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = formats_.find(name);
    if (found != formats_.end()) return found->second;
    std::string known;
    std::vector<std::string> names;
    for (const auto& [other, format] : formats_) {
      known += (known.empty() ? "" : ", ") + other;
      names.push_back(other);
    }
    fail(Code::not_found, "no ", kind_, " is called '", name, "'; there are: ", known,
         suggestion(name, names));
  }

  std::vector<Format> all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Format> formats;
    for (const auto& [name, format] : formats_) formats.push_back(format);
    return formats;
  }

 private:
  std::string_view kind_;
  mutable std::mutex mutex_;
  std::map<std::string, Format> formats_;
};

}  // namespace troupe

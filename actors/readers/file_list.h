#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/file_policy.h"

namespace troupe {

/// The files that a list of paths and patterns stands for: "train-*.txt" becomes
/// its matches, sorted by name; the order of the list stays. "-" is the standard input.
///
/// Throws invalid_argument for an empty list or a directory; as the policy says,
/// not_found for a path that does not exist or a pattern that matches nothing, and
/// permission_denied for a file that may not be read.
std::vector<std::string> expand_files(const std::vector<std::string>& patterns,
                                      const FilePolicy& policy = {});

/// Every `count`-th file of such a list, beginning with number `index`, from 0: what one
/// of `count` readers reads, so that together they read each file once.
///
/// Throws invalid_argument when there are fewer files than that.
std::vector<std::string> shard_files(const std::vector<std::string>& patterns, std::size_t index,
                                     std::size_t count);

/// "3 files (a.txt, b.txt, ...)", for messages.
std::string describe_files(const std::vector<std::string>& files);

}  // namespace troupe

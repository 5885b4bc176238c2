#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/byte_range.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/queue_reader.h"
#include "troupe/ops/error.h"

namespace troupe {

// What formats have in common whose Source is made of its Options.

/// Checks options and files at once, and makes a new source for each reader.
template <class Source, class Options>
Records records_of(const std::vector<std::string>& files, Options options) {
  options.files = files;
  const Source probe(options);
  return {[options] { return std::make_unique<Source>(options); }, probe.describe()};
}

/// What opens one file, for interleave and queue_reader.
template <class Source, class Options>
FileOpener opener_of(Options options) {
  options.allow_empty = true;
  if (!options.policy.report) options.policy.report = std::make_shared<FileReport>();
  return [options](const std::string& path) {
    auto one = options;
    one.files = {path};
    return std::make_unique<Source>(one);
  };
}

/// The same as records_of for a Source that reads a range of a file. `cut(path, count)`
/// gives the ranges.
template <class Source, class Options, class Cut>
Records splittable(const std::vector<std::string>& files, const Options& options, Cut cut) {
  return records_of<Source>(files, options).with_split([=](std::size_t count) {
    const auto paths = expand_files(files);
    if (paths.size() != 1)
      fail(Code::invalid_argument, describe_files(paths),
           " cannot be split in ranges of bytes: ", "one file can. Join a reader of each");
    std::vector<Records> parts;
    for (const auto& range : cut(paths[0], count)) {
      auto part = options;
      part.files = paths;
      part.range = range;
      part.allow_empty = true;  // a range may lie inside of one record
      parts.emplace_back([part] { return std::make_unique<Source>(part); },
                         text(Source(part).describe(), ", part ", parts.size() + 1, " of ", count));
    }
    return parts;
  });
}

}  // namespace troupe

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/devices/fragment.h"

namespace troupe::test {

/// Runs a fragment on the calling thread.
class FragmentRuns {
 public:
  FragmentRuns(const GraphPtr& graph, const std::vector<std::string>& feeds,
               const OutputList& fetches, const ProgramOptions& options = {})
      : FragmentRuns(spec_of(graph, feeds, fetches), options) {}
  explicit FragmentRuns(const FragmentSpec& spec, const ProgramOptions& options = {})
      : fragment(finished(spec), options, {std::shared_ptr<void>(), &serial()}, "/device:CPU:0") {}

  TensorList operator()(const TensorList& feeds, std::uint64_t seed = 0) {
    const auto executor = fragment.acquire(feeds);
    TensorList fetches;
    executor->begin(feeds, seed);
    const auto stream = [&](std::uint32_t index, const Tensor& value) {
      streamed.emplace_back(index, value);
    };
    const auto invite = [] {};
    executor->lead({stream, invite});
    try {
      executor->finish(fetches);
    } catch (...) {
      fragment.release(executor);
      throw;
    }
    fragment.release(executor);
    return fetches;
  }

  Fragment fragment;
  std::vector<std::pair<std::uint32_t, Tensor>> streamed;

 private:
  static FragmentSpec spec_of(const GraphPtr& graph, const std::vector<std::string>& feeds,
                              const OutputList& fetches) {
    FragmentSpec spec{graph, feeds, {}, {}, {}};
    for (const auto& fetch : fetches) spec.fetches.push_back(fetch.name());
    return spec;
  }
  static const FragmentSpec& finished(const FragmentSpec& spec) {
    spec.graph->finish();
    return spec;
  }
};

template <class Fn>
std::string message_of(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace troupe::test

#include "troupe/actors/pipeline/pipeline_editor.h"

#include <utility>

#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// A reader answers between two reads, and a read may wait for a slow disk.
constexpr std::chrono::minutes kPatience{1};
constexpr int kMost = 1024;

}  // namespace

PipelineEdits::PipelineEdits(Troupe& troupe, PipelineEditor editor)
    : troupe_(troupe), editor_(std::move(editor)) {
  if (!editor_)
    fail(Code::failed_precondition,
         "there are no readers and decoders here to change: the batches "
         "come from elsewhere");
}

std::string PipelineEdits::join(const std::string& kind) const {
  return troupe_.ask<std::string>(editor_, kPatience, join_atom_v, kind);
}

std::string PipelineEdits::leave(const std::string& kind, const std::string& name) const {
  return troupe_.ask<std::string>(editor_, kPatience, leave_atom_v, kind, name);
}

int PipelineEdits::count(const std::string& kind) const {
  return static_cast<int>(troupe_.ask<std::int64_t>(editor_, kPatience, status_atom_v, kind));
}

std::vector<std::string> PipelineEdits::set(const std::string& kind, int wanted) const {
  if (wanted < 1 || wanted > kMost)
    fail(Code::invalid_argument, "a pipeline has 1 to ", kMost, ' ', kind, "s, but ", wanted,
         " were asked for");
  std::vector<std::string> changed;
  auto have = count(kind);
  for (; have < wanted; ++have) changed.push_back(join(kind));
  for (; have > wanted; --have) changed.push_back(leave(kind, ""));
  return changed;
}

}  // namespace troupe

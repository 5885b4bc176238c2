#include "troupe/actors/topology/topology.h"

namespace troupe {

std::string_view to_string(Role role) {
  switch (role) {
    case Role::reader:
      return "reader";
    case Role::decoder:
      return "decoder";
    case Role::queue:
      return "queue";
    case Role::feeder:
      return "feeder";
    case Role::replica:
      return "replica";
    case Role::shard:
      return "shard";
    case Role::device:
      return "device";
    case Role::evaluator:
      return "evaluator";
    case Role::checkpointer:
      break;
  }
  return "checkpointer";
}

std::vector<std::size_t> Topology::all(Role role) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].role == role) found.push_back(i);
  return found;
}

std::vector<std::size_t> Topology::before(std::size_t node) const {
  std::vector<std::size_t> found;
  for (const auto& link : links)
    if (link.to == node) found.push_back(link.from);
  return found;
}

std::vector<std::size_t> Topology::behind(std::size_t node) const {
  std::vector<std::size_t> found;
  for (const auto& link : links)
    if (link.from == node) found.push_back(link.to);
  return found;
}

}  // namespace troupe

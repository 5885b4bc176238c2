#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What an actor does in a topology.
enum class Role {
  reader,
  decoder,
  queue,
  feeder,
  replica,
  shard,
  device,
  evaluator,
  checkpointer,
};
std::string_view to_string(Role role);  ///< "decoder"

/// Who is in a topology and where data go, without the actors themselves.
struct Topology {
  struct Node {
    std::string name;
    Role role = Role::reader;
  };
  struct Link {
    std::size_t from = 0;  ///< positions in `nodes`
    std::size_t to = 0;
  };
  std::vector<Node> nodes;
  std::vector<Link> links;

  std::vector<std::size_t> all(Role role) const;
  /// Those that `node` gets its data from, or waits for.
  std::vector<std::size_t> before(std::size_t node) const;
  /// Those that `node` passes its data on to.
  std::vector<std::size_t> behind(std::size_t node) const;
};

}  // namespace troupe

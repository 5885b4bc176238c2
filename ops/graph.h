#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "troupe/ops/attributes.h"

namespace troupe {

class Graph;
struct Node;
struct OpDef;

/// The dtype and shape of a value, before there is one.
struct TensorSpec {
  DType dtype = DType::float32;
  Shape shape;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};
std::ostream& operator<<(std::ostream& out, const TensorSpec& spec);

/// One output of one node: what the functions that build graphs take and return.
class Output {
 public:
  Output() = default;
  Output(Node& node, int index) : node_(&node), index_(index) {}

  /// False for a default-constructed output, which stands for "none".
  explicit operator bool() const { return node_ != nullptr; }

  Node& node() const;
  int index() const { return index_; }
  Graph& graph() const;
  const TensorSpec& spec() const;
  DType dtype() const { return spec().dtype; }
  const Shape& shape() const { return spec().shape; }
  /// "conv1" for the first output of the node conv1, "split:2" for the third of split.
  std::string name() const;

  friend bool operator==(const Output&, const Output&) = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};
using OutputList = std::vector<Output>;

/// One op in a graph.
struct Node {
  int id = 0;  ///< position in Graph::nodes(): inputs always have smaller ids
  std::string name;
  const OpDef* op = nullptr;
  OutputList inputs;
  std::vector<Node*> control_inputs;  ///< must have run before this one
  Attributes attributes;
  std::string device;  ///< as the user asked: "/job:worker/device:CPU:0", "" for anywhere
  std::vector<const Node*> colocated_with;  ///< must be on the same device as each of these
  std::vector<TensorSpec> outputs;
  Graph* graph = nullptr;

  Output output(int index) { return {*this, index}; }
};

/// A node whose op is "variable", as its name and where it starts.
///
/// A graph only describes its variables. Their values live in parameter shards
/// or in a session, keyed by name, so that several graphs (training, evaluation)
/// mean the same weights by the same name.
struct Variable {
  Node* node = nullptr;
  const std::string& name() const { return node->name; }
  const TensorSpec& spec() const { return node->outputs[0]; }
  bool trainable() const;
  Output read() const { return {*node, 0}; }
};

/// What device a new node should ask for, a DeviceSpec as text; "" for no wish. It sees the
/// node with its op, name, inputs, outputs, and what scopes further inside have asked for.
using DeviceFunction = std::function<std::string(const Node&)>;

/// A description of a computation: nodes that are only ever added, each after
/// the nodes it reads. Building checks dtypes and shapes at once, so an Error
/// comes from the call that is wrong. Not safe for concurrent building; once
/// finished, a graph never changes and may be read from anywhere.
class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Adds a node. `name` is made unique by a suffix (conv, conv_1, ...) and gets
  /// the current name scope; an empty name becomes the op's.
  /// Throws invalid_argument, naming the node, when the op refuses the inputs,
  /// not_found for an unknown op and failed_precondition on a finished graph.
  Node& add(std::string_view op, OutputList inputs, Attributes attributes = {},
            std::string_view name = {});

  const std::deque<Node>& nodes() const { return nodes_; }
  Node& node(int id) { return nodes_.at(id); }

  /// The node of that name, or nullptr.
  Node* find(std::string_view name);
  const Node* find(std::string_view name) const;
  /// The output called "node" or "node:index". Throws not_found with near names.
  Output output(std::string_view name);

  /// The variables in the order of their creation.
  std::vector<Variable> variables();

  /// Assignments that belong to a training step besides the optimizer's, such
  /// as the moving averages of batch normalisation: outputs of assign ops.
  void add_update(Output assigned) { updates_.push_back(assigned); }
  const OutputList& updates() const { return updates_; }

  /// Terms that a loss should add, such as weight decay: scalars.
  void add_regularizer(Output loss) { regularizers_.push_back(loss); }
  const OutputList& regularizers() const { return regularizers_; }

  /// The name with the current name scope in front.
  std::string scoped(std::string_view name) const { return name_scope_ + std::string(name); }

  /// From now on adding throws failed_precondition.
  void finish() { finished_ = true; }
  bool finished() const { return finished_; }

  /// Renames a node. Throws already_exists and failed_precondition.
  void rename(Node& node, const std::string& name);

 private:
  friend class NameScope;
  friend class DeviceScope;
  friend class ColocationScope;
  friend class ControlScope;
  std::string unique_name(std::string_view wanted);
  void ask_for_device(Node& node) const;

  std::deque<Node> nodes_;  // a deque: nodes keep their address
  std::unordered_map<std::string, Node*> by_name_;
  std::unordered_map<std::string, int> next_suffix_;  // by name: every smaller one is taken
  OutputList updates_;
  OutputList regularizers_;
  bool finished_ = false;
  std::string name_scope_;               // "tower_0/"
  std::vector<DeviceFunction> devices_;  // innermost last
  std::vector<const Node*> colocated_;
  std::vector<Node*> control_;
};
using GraphPtr = std::shared_ptr<Graph>;

/// While it lives, new nodes of the graph are called "<name>/...". Scopes nest.
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;

 private:
  Graph& graph_;
  std::string outer_;
};

/// While it lives, new nodes run after the nodes of these outputs. Scopes add up.
class ControlScope {
 public:
  ControlScope(Graph& graph, const OutputList& after);
  ~ControlScope();
  ControlScope(const ControlScope&) = delete;

 private:
  Graph& graph_;
  std::size_t outer_;
};

/// Gives the node of `output` a name: named("logits", dense(x, ...)).
Output named(const std::string& name, Output output);

}  // namespace troupe

#include "troupe/messages/graph_codec.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include "support/interpreter.h"
#include "support/message_of.h"
#include "troupe/messages/proto/graph.pb.h"
#include "troupe/ops/array.h"
#include "troupe/ops/device_scope.h"
#include "troupe/ops/gradient.h"
#include "troupe/ops/losses.h"
#include "troupe/ops/random.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/sanitizer.h"
#include "troupe/ops/state.h"

namespace troupe::test {
namespace {

using testing::HasSubstr;

/// Everything that a graph can hold.
void build(Graph& g) {
  const auto x = placeholder(g, "x", DType::float32, {-1, 4});
  const NameScope scope(g, "tower");
  const auto w = variable(g, "w", {4, 3}, init::truncated_normal(0, 0.1));
  const auto table = variable(g, "table", {4, 2}, init::value(Tensor(DType::float64, {4, 2})),
                              {.dtype = DType::float64, .trainable = false});
  const DeviceScope device(g, "/job:worker/task:1/device:CPU:0");
  const auto parts = split(transpose(x), {1, -1}, 0);
  const ControlScope after(g, {group(g, {parts[0]})});
  const auto words = constant(g, Tensor::of<std::string>({2}, {"a", std::string("\0\xff", 2)}));
  gather(words, constant(g, Tensor::of<std::int64_t>({1}, {1})));
  g.add("identity", {parts[1]},
        {{"list", std::vector<std::string>{"one", "two"}},
         {"numbers", std::vector<double>{0.1, -1}},
         {"flag", true},
         {"nothing", std::vector<std::int64_t>{}}});
  {
    const ColocationScope beside(g, w.node());
    const DeviceScope fourth(g, "/cpu:3");
    g.add_update(assign_add(w, ones_like(w)));
  }
  g.add_regularizer(constant(g, 0.5));
  one_hot(constant(g, Tensor::scalar(std::int32_t{2})), 3, {.dtype = DType::int8});
  identity(table);
}

std::string described(const Graph& graph) {
  std::ostringstream out;
  for (const auto& node : graph.nodes()) {
    out << node.id << ' ' << node.name << ' ' << node.op->name << " @" << node.device << ' '
        << node.attributes << " (";
    for (const auto& input : node.inputs) out << ' ' << input.name();
    out << " ) after (";
    for (const auto* before : node.control_inputs) out << ' ' << before->name;
    out << " ) beside (";
    for (const auto* beside : node.colocated_with) out << ' ' << beside->name;
    out << " ) gives";
    for (const auto& spec : node.outputs) out << ' ' << spec;
    out << '\n';
  }
  for (const auto& update : graph.updates()) out << "update " << update.name() << '\n';
  for (const auto& term : graph.regularizers()) out << "regularizer " << term.name() << '\n';
  return out.str();
}

class GraphCodec : public testing::Test {
 protected:
  GraphCodec() {
    build(graph);
    message.ParseFromString(encode_graph(graph));
  }
  proto::Node& node(const std::string& name) {
    for (auto& candidate : *message.mutable_nodes())
      if (candidate.name() == name) return candidate;
    throw std::runtime_error("no node " + name);
  }
  std::string complaint() {
    return message_of([&] { decode_graph(message.SerializeAsString()); });
  }

  Graph graph;
  proto::Graph message;
};

TEST_F(GraphCodec, GivesBackTheSameGraphFromBytes) {
  const auto copy = decode_graph(encode_graph(graph));
  EXPECT_EQ(described(*copy), described(graph));
  EXPECT_EQ(encode_graph(*copy), encode_graph(graph));
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    EXPECT_EQ(copy->nodes()[i].attributes.all(), graph.nodes()[i].attributes.all());
  EXPECT_FALSE(copy->finished());
}

TEST_F(GraphCodec, GivesBackTheSameGraphFromText) {
#if defined(TROUPE_CHECKS_THREADS)
  GTEST_SKIP() << "Protobuf's maps have another layout under the thread sanitizer than in the "
                  "system's library";
#endif
  const auto written = graph_to_text(graph);
  EXPECT_EQ(described(*graph_from_text(written)), described(graph));
  EXPECT_THAT(written, HasSubstr("numbers: 0.5")) << "small tensors are written out";
}

TEST_F(GraphCodec, StartsVariablesFromTheSameValues) {
  const auto copy = decode_graph(encode_graph(graph));
  for (std::size_t i = 0; i < graph.variables().size(); ++i)
    EXPECT_TRUE(
        same_bits(initial_value(copy->variables()[i], 7), initial_value(graph.variables()[i], 7)));
}

TEST_F(GraphCodec, SendsGradientsLikeAnyOtherNode) {
  Graph g;
  const auto table = variable(g, "table", {5, 3}, init::normal(0, 1));
  const auto labels = placeholder(g, "labels", DType::int32, {-1});
  const auto loss = reduce_mean(sparse_softmax_cross_entropy(gather(table, labels), labels));
  const auto gradient = gradients(loss, {table})[0];
  const auto copy = decode_graph(encode_graph(g));
  const std::map<std::string, Tensor> feeds{{"labels", Tensor::of<std::int32_t>({3}, {2, 0, 2})}};
  EXPECT_TRUE(same_bits(run_graph(copy->output(gradient.values.name()), feeds),
                        run_graph(gradient.values, feeds)));
}

TEST_F(GraphCodec, ReadsTextThatAPersonWrote) {
#if defined(TROUPE_CHECKS_THREADS)
  GTEST_SKIP() << "Protobuf's maps have another layout under the thread sanitizer than in the "
                  "system's library";
#endif
  const auto g = graph_from_text(R"(
    format_version: 1
    nodes { name: "x" op: "placeholder"
      attributes { key: "dtype" value { dtype: "float32" } }
      attributes { key: "shape" value { shape { extents: [-1, 2] } } } }
    nodes { name: "y" op: "transpose" inputs: "x"
      attributes { key: "axes" value { integers { values: [1, 0] } } } }
  )");
  const auto y = run_graph(g->output("y"), {{"x", Tensor::of<float>({1, 2}, {1, 2})}});
  EXPECT_EQ(y.shape(), (Shape{2, 1}));
}

TEST_F(GraphCodec, NamesTheLineOfTextThatIsWrong) {
  EXPECT_EQ(message_of([&] { graph_from_text("format_version: 1\nnodes { nmae: \"x\" }"); }),
            "line 2, column 13: Message type \"troupe.proto.Node\" has no field named \"nmae\".");
}

TEST_F(GraphCodec, RefusesBytesThatAreNoGraph) {
  EXPECT_EQ(message_of([&] { decode_graph("hello"); }), "these 5 bytes are not a graph");
  EXPECT_EQ(message_of([&] { decode_graph(""); }),
            "the graph has format 0, but this version of Troupe reads format 1");
  message.set_format_version(9);
  EXPECT_EQ(complaint(), "the graph has format 9, but this version of Troupe reads format 1");
}

TEST_F(GraphCodec, NamesTheNodeWhoseOpIsUnknownHere) {
  node("tower/identity").set_op("identify");
  try {
    decode_graph(message.SerializeAsString());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.what(), HasSubstr("node 'tower/identity' (identify): no op is called "
                                        "'identify'; there are: identity"));
  }
}

TEST_F(GraphCodec, RefusesDevicesAndNeighboursThatAreNone) {
  node("tower/transpose").add_colocated_with("nobody");
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): it is colocated with 'nobody', but no node in "
            "front of it is called that");
  node("tower/transpose").clear_colocated_with();
  node("tower/transpose").set_device("/cpu:x");
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): the device number in '/cpu:x' must be a number "
            "from 0, or *, but is 'x'");
}

TEST_F(GraphCodec, NamesTheNodeThatReadsWhatIsNotThere) {
  node("tower/transpose").set_inputs(0, "tower/split");
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): its input 'tower/split' does not stand in front "
            "of it: the graph has no node 'tower/split'");
  node("tower/transpose").set_inputs(0, "x:1");
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): its input 'x:1' does not stand in front of it: "
            "node 'x' (placeholder) has 1 outputs, but output 1 was asked for");
  node("tower/transpose").set_inputs(0, "x");
  node("tower/transpose").add_control_inputs("nobody");
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): it runs after 'nobody', but no node in front of "
            "it is called that");
}

TEST_F(GraphCodec, NamesTheNodeWhoseAttributesDoNotFit) {
  auto& attributes = *node("tower/transpose").mutable_attributes();
  attributes["axes"].mutable_integers()->add_values(7);
  EXPECT_EQ(
      complaint(),
      "node 'tower/transpose' (transpose): axes lists 1 axes, but the input has shape [?, 4]");
  attributes["axes"].clear_kind();
  EXPECT_EQ(complaint(),
            "node 'tower/transpose' (transpose): attribute 'axes': it has no value, or one of a "
            "kind that this version does not know");
  attributes.erase("axes");
  EXPECT_EQ(complaint(), "node 'tower/transpose' (transpose): attribute 'axes' is missing");
}

TEST_F(GraphCodec, NamesTheConstantWhoseBytesAreCutShort) {
  (*node("tower/constant").mutable_attributes())["value"].mutable_tensor()->clear_strings();
  EXPECT_EQ(complaint(),
            "node 'tower/constant' (constant): attribute 'value': a tensor string [2] has 2 "
            "values, but 0 strings are given");
}

TEST_F(GraphCodec, RefusesTwoNodesOfOneNameAndNodesOfNone) {
  node("tower/transpose").set_name("x");
  EXPECT_EQ(complaint(), "node 'x' (transpose): another node has the same name");
  node("x").clear_name();
  EXPECT_EQ(complaint(), "node '' (placeholder): it has no name");
}

TEST_F(GraphCodec, SurvivesBytesThatWereTamperedWith) {
  const google::protobuf::LogSilencer silence;  // it reports strings that are not UTF-8
  const auto good = encode_graph(graph);
  RandomStream random(42);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bad = good;
    for (auto changes = 1 + random.below(4); changes > 0; --changes)
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    if (random.below(8) == 0) bad.resize(random.below(bad.size()));
    try {
      decode_graph(bad);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace troupe::test

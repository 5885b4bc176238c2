#include "troupe/messages/graph_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <new>

#include "troupe/messages/proto/graph.pb.h"
#include "troupe/messages/tensor_codec.h"
#include "troupe/ops/device_spec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

constexpr std::uint32_t kFormat = 1;

// More than any model has; a few bytes that unstack a large shape could ask for billions.
constexpr std::size_t kMostOutputs = 1'000'000;

// Writing

/// "node" or "node:2"; an index is also needed where the name itself looks like one.
std::string reference_to(const Output& output) {
  const auto& name = output.node().name;
  if (output.index() == 0 && name.find(':') == std::string::npos) return name;
  return text(name, ':', output.index());
}

class AttributeWriter {
 public:
  AttributeWriter(proto::Attribute& to, TensorForm form) : to_(to), form_(form) {}

  void operator()(bool value) { to_.set_boolean(value); }
  void operator()(std::int64_t value) { to_.set_integer(value); }
  void operator()(double value) { to_.set_number(value); }
  void operator()(const std::string& value) { to_.set_text(value); }
  void operator()(DType value) { to_.set_dtype(std::string(to_string(value))); }
  void operator()(const Shape& value) {
    add(*to_.mutable_shape()->mutable_extents(), value.extents());
  }
  void operator()(const std::vector<std::int64_t>& values) {
    add(*to_.mutable_integers()->mutable_values(), values);
  }
  void operator()(const std::vector<double>& values) {
    add(*to_.mutable_numbers()->mutable_values(), values);
  }
  void operator()(const std::vector<std::string>& values) {
    for (const auto& value : values) to_.mutable_texts()->add_values(value);
    to_.mutable_texts();  // an empty list is one too
  }
  void operator()(const Tensor& value) { encode_tensor(value, *to_.mutable_tensor(), form_); }

 private:
  template <class Field, class Values>
  static void add(Field& field, const Values& values) {
    field.Add(values.begin(), values.end());
  }

  proto::Attribute& to_;
  TensorForm form_;
};

proto::Graph to_proto(const Graph& graph, TensorForm form) {
  proto::Graph to;
  to.set_format_version(kFormat);
  for (const auto& node : graph.nodes()) {
    auto& written = *to.add_nodes();
    written.set_name(node.name);
    written.set_op(std::string(node.op->name));
    for (const auto& input : node.inputs) written.add_inputs(reference_to(input));
    for (const auto* before : node.control_inputs) written.add_control_inputs(before->name);
    for (const auto& [name, value] : node.attributes.all())
      std::visit(AttributeWriter((*written.mutable_attributes())[name], form), value);
    written.set_device(node.device);
    for (const auto* beside : node.colocated_with) written.add_colocated_with(beside->name);
  }
  for (const auto& output : graph.updates()) to.add_updates(reference_to(output));
  for (const auto& output : graph.regularizers()) to.add_regularizers(reference_to(output));
  return to;
}

// Reading

template <class T, class Field>
std::vector<T> list_of(const Field& field) {
  return {field.begin(), field.end()};
}

Attribute attribute_from(const proto::Attribute& from) {
  switch (from.kind_case()) {
    case proto::Attribute::kBoolean:
      return from.boolean();
    case proto::Attribute::kInteger:
      return std::int64_t{from.integer()};
    case proto::Attribute::kNumber:
      return from.number();
    case proto::Attribute::kText:
      return from.text();
    case proto::Attribute::kDtype:
      return parse_dtype(from.dtype());
    case proto::Attribute::kShape:
      return Shape(list_of<std::int64_t>(from.shape().extents()));
    case proto::Attribute::kIntegers:
      return list_of<std::int64_t>(from.integers().values());
    case proto::Attribute::kNumbers:
      return list_of<double>(from.numbers().values());
    case proto::Attribute::kTexts:
      return list_of<std::string>(from.texts().values());
    case proto::Attribute::kTensor:
      return decode_tensor(from.tensor());
    case proto::Attribute::KIND_NOT_SET:
      break;
  }
  fail(Code::invalid_argument, "it has no value, or one of a kind that this version does not know");
}

Attributes attributes_from(const proto::Node& node) {
  Attributes attributes;
  for (const auto& [name, value] : node.attributes()) {
    try {
      attributes.set(name, attribute_from(value));
    } catch (const Error& error) {
      throw error.within(text("attribute '", name, "'"));
    }
  }
  return attributes;
}

Output input_from(Graph& graph, const std::string& reference) {
  try {
    return graph.output(reference);
  } catch (const Error& error) {
    fail(Code::invalid_argument, "its input '", reference,
         "' does not stand in front of it: ", error.what());
  }
}

void add_node(Graph& graph, const proto::Node& from) {
  if (from.name().empty()) fail(Code::invalid_argument, "it has no name");
  if (graph.find(from.name()) != nullptr)
    fail(Code::invalid_argument, "another node has the same name");
  OutputList inputs;
  for (const auto& input : from.inputs()) inputs.push_back(input_from(graph, input));
  const auto find = [&](const std::string& name, std::string_view relation) {
    auto* node = graph.find(name);
    if (node == nullptr)
      fail(Code::invalid_argument, "it ", relation, " '", name,
           "', but no node in front of it is called that");
    return node;
  };
  std::vector<Node*> before;
  for (const auto& name : from.control_inputs()) before.push_back(find(name, "runs after"));
  std::vector<const Node*> beside;
  for (const auto& name : from.colocated_with()) beside.push_back(find(name, "is colocated with"));
  auto device = to_string(DeviceSpec::parse(from.device()));
  auto& node = graph.add(from.op(), std::move(inputs), attributes_from(from), from.name());
  node.control_inputs = std::move(before);
  node.colocated_with = std::move(beside);
  node.device = std::move(device);
}

/// The error with the node in front, unless it names the node already.
Error naming(const proto::Node& node, const Error& error) {
  const auto named = text("node '", node.name(), "'");
  if (std::string_view(error.what()).rfind(named, 0) == 0) return error;
  return error.within(text(named, " (", node.op(), ")"));
}

GraphPtr from_proto(const proto::Graph& from) {
  if (from.format_version() == 0 || from.format_version() > kFormat)
    fail(Code::invalid_argument, "the graph has format ", from.format_version(),
         ", but this version of Troupe reads format ", kFormat);
  auto graph = std::make_shared<Graph>();
  std::size_t outputs = 0;
  for (const auto& node : from.nodes()) {
    try {
      add_node(*graph, node);
    } catch (const Error& error) {
      throw naming(node, error);
    } catch (const std::bad_alloc&) {
      throw naming(node, Error(Code::resource_exhausted, "it needs more memory than there is"));
    } catch (const std::exception& error) {
      throw naming(node, Error(Code::invalid_argument, error.what()));
    }
    outputs += graph->nodes().back().outputs.size();
    if (outputs > kMostOutputs)
      fail(Code::resource_exhausted, "the graph has more than ", kMostOutputs, " values");
  }
  try {
    for (const auto& name : from.updates()) graph->add_update(graph->output(name));
    for (const auto& name : from.regularizers()) graph->add_regularizer(graph->output(name));
  } catch (const Error& error) {
    throw Error(Code::invalid_argument, text("updates and regularizers: ", error.what()));
  }
  return graph;
}

/// Keeps the first complaint of the text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text_.empty()) text_ = text("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& message() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string encode_graph(const Graph& graph) {
  const auto message = to_proto(graph, TensorForm::bytes);
  if (message.ByteSizeLong() > std::numeric_limits<std::int32_t>::max())
    fail(Code::resource_exhausted, "the graph has ", message.ByteSizeLong(),
         " bytes, but can be sent only below 2 GiB; make large constants variables");
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return bytes;
}

GraphPtr decode_graph(std::string_view bytes) {
  proto::Graph message;
  if (bytes.size() > std::numeric_limits<std::int32_t>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(Code::data_loss, "these ", bytes.size(), " bytes are not a graph");
  return from_proto(message);
}

std::string graph_to_text(const Graph& graph) {
  std::string written;
  google::protobuf::TextFormat::PrintToString(to_proto(graph, TensorForm::readable), &written);
  return written;
}

GraphPtr graph_from_text(std::string_view text) {
  proto::Graph message;
  FirstError first;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  if (!parser.ParseFromString(std::string(text), &message))
    fail(Code::invalid_argument, first.message());
  return from_proto(message);
}

}  // namespace troupe

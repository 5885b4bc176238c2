#include "troupe/actors/topology/model_file.h"

#include <algorithm>
#include <array>
#include <set>

#include "troupe/actors/pipeline/component_options.h"
#include "troupe/actors/topology/file_words.h"
#include "troupe/actors/topology/model_catalog.h"
#include "troupe/messages/proto/topology.pb.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/optim/call_text.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using Apply = std::function<Output(Output, bool)>;
using Pair = std::array<std::int64_t, 2>;
constexpr std::int64_t kMost = std::int64_t{1} << 31;

nn::Activation activation(const std::string& given) {
  if (given.empty()) return {};
  const auto call = parse_call(given);
  const auto plain = [&](Output (*function)(Output)) -> nn::Activation {
    bind(call, {});
    return function;
  };
  if (call.name == "leaky_relu") {
    const CallParameter alpha{"alpha", 0.2, 0, 1};
    return [a = bind(call, {&alpha, 1})[0]](Output x) { return leaky_relu(x, a); };
  }
  using Function = Output (*)(Output);
  return plain(meaning_of<Function>(call.name, "activation",
                                    {{"relu", relu},
                                     {"relu6", relu6},
                                     {"leaky_relu", nullptr},
                                     {"elu", elu},
                                     {"tanh", tanh},
                                     {"sigmoid", sigmoid},
                                     {"softplus", softplus},
                                     {"softsign", softsign},
                                     {"softmax", softmax}}));
}

/// "zeros", "constant(0.1)", "truncated_normal(0, 0.05)".
Initializer initializer(const std::string& given) {
  constexpr double kLarge = 1e30;
  const auto call = parse_call(given);
  const auto values = [&](const char* first, const char* second) {
    const std::array<CallParameter, 2> parameters{
        CallParameter{first, kRequired, -kLarge, kLarge},
        CallParameter{second, kRequired, -kLarge, kLarge}};
    return bind(call, {parameters.data(), *second == '\0' ? std::size_t{1} : std::size_t{2}});
  };
  if (call.name == "constant") return init::constant(values("value", "")[0]);
  if (call.name == "uniform" || call.name == "normal" || call.name == "truncated_normal") {
    const bool uniform = call.name == "uniform";
    const auto v = values(uniform ? "low" : "mean", uniform ? "high" : "stddev");
    if (uniform ? v[0] > v[1] : v[1] < 0)
      fail(Code::invalid_argument, call.name, ": ",
           uniform ? "low is above high" : "stddev is below 0");
    return uniform                 ? init::uniform(v[0], v[1])
           : call.name == "normal" ? init::normal(v[0], v[1])
                                   : init::truncated_normal(v[0], v[1]);
  }
  using Make = Initializer (*)();
  const auto make = meaning_of<Make>(call.name, "initializer",
                                     {{"zeros", init::zeros},
                                      {"ones", init::ones},
                                      {"xavier_uniform", init::xavier_uniform},
                                      {"xavier_normal", init::xavier_normal},
                                      {"he_uniform", init::he_uniform},
                                      {"he_normal", init::he_normal},
                                      {"constant", nullptr},
                                      {"uniform", nullptr},
                                      {"normal", nullptr},
                                      {"truncated_normal", nullptr}});
  bind(call, {});
  return make();
}

Padding padding_of(const std::string& given) {
  if (given.empty()) return Padding::valid;
  return meaning_of<Padding>(given, "padding",
                             {{"valid", Padding::valid}, {"same", Padding::same}});
}

/// Reads the layers of a model.
class Layers {
 public:
  explicit Layers(FileProblems& problems) : problems_(problems) {}

  std::optional<FileLayer> read(const Located<proto::Layer>& layer) {
    FileLayer made;
    made.name = layer->name();
    made.place = layer.place();
    Apply apply;
    const bool good = problems_.attempt(layer.place(), [&] {
      if (made.name.find('/') != std::string::npos)
        fail(Code::invalid_argument, layer.place("name"), ": a layer's name has no '/'");
      if (!made.name.empty() && !names_.insert(made.name).second)
        fail(Code::already_exists, layer.place("name"), ": there is a layer called '", made.name,
             "' already");
      apply = make(layer, made);
    });
    if (!good) return std::nullopt;
    made.apply = [apply, place = made.place, name = made.name.empty() ? made.kind : made.name](
                     Output x, bool training) {
      return at_place(place, [&] {
        try {
          return apply(x, training);
        } catch (const Error& error) {
          throw error.within(text("layer '", name, "'"));
        }
      });
    };
    return made;
  }

 private:
  Apply make(const Located<proto::Layer>& layer, FileLayer& made) {
    const auto& name = made.name;
    switch (layer->kind_case()) {
      case proto::Layer::kDense:
        made.kind = "dense";
        return dense(layer.inside("dense", layer->dense()), name);
      case proto::Layer::kConv2D:
        made.kind = "conv2d";
        return convolution(layer.inside("conv2d", layer->conv2d()), name, false);
      case proto::Layer::kDepthwiseConv2D:
        made.kind = "depthwise_conv2d";
        return convolution(layer.inside("depthwise_conv2d", layer->depthwise_conv2d()), name, true);
      case proto::Layer::kMaxPool:
        made.kind = "max_pool";
        return pool(layer.inside("max_pool", layer->max_pool()), true);
      case proto::Layer::kAvgPool:
        made.kind = "avg_pool";
        return pool(layer.inside("avg_pool", layer->avg_pool()), false);
      case proto::Layer::kBatchNorm:
        made.kind = "batch_norm";
        return batch_norm(layer.inside("batch_norm", layer->batch_norm()), name);
      case proto::Layer::kDropout: {
        made.kind = "dropout";
        const auto dropout = layer.inside("dropout", layer->dropout());
        const auto rate = dropout->rate();
        if (!(rate >= 0 && rate < 1))
          fail(Code::invalid_argument, dropout.place("rate"), ": rate is ", rate,
               "; it is at least 0 and below 1");
        return [rate, name = name.empty() ? "dropout" : name](Output x, bool training) {
          return nn::dropout(x, rate, training, name);
        };
      }
      case proto::Layer::kFlatten:
        made.kind = "flatten";
        return [](Output x, bool) { return flatten(x); };
      case proto::Layer::kActivation: {
        made.kind = "activation";
        const auto function =
            at_place(layer.place("activation"), [&] { return activation(layer->activation()); });
        if (!function)
          fail(Code::invalid_argument, layer.place("activation"), ": say which activation");
        return [function](Output x, bool) { return function(x); };
      }
      case proto::Layer::KIND_NOT_SET:
        break;
    }
    fail(Code::invalid_argument, layer.place(),
         ": a layer is one of dense, conv2d, depthwise_conv2d, max_pool, avg_pool, batch_norm, ",
         "dropout, flatten, activation: layer { dense { units: 10 } }");
  }

  /// Two numbers, or one that stands for both.
  template <class Message, class Values>
  Pair pair(const Located<Message>& message, const char* field, const Values& values,
            std::optional<Pair> fallback) {
    if (values.empty() && fallback) return *fallback;
    if (values.empty() || values.size() > 2)
      fail(Code::invalid_argument, message.place(field), ": ", field,
           " has a height and a width, such as ", field, ": [2, 2], but ", values.size(),
           values.size() == 1 ? " value" : " values");
    Pair made{values[0], values[values.size() - 1]};
    for (const auto value : made) in_range(message, field, value, std::int64_t{1}, kMost);
    return made;
  }

  /// Sets what dense layers and convolutions have in common.
  template <class Message, class Options>
  void set_common(const Located<Message>& layer, const std::string& name, Options& o) {
    o.name = name;
    o.activation =
        at_place(layer.place("activation"), [&] { return activation(layer->activation()); });
    if (!layer->kernel_initializer().empty())
      o.kernel_initializer = at_place(layer.place("kernel_initializer"),
                                      [&] { return initializer(layer->kernel_initializer()); });
    if (!layer->bias_initializer().empty())
      o.bias_initializer = at_place(layer.place("bias_initializer"),
                                    [&] { return initializer(layer->bias_initializer()); });
    if (layer->has_use_bias()) o.use_bias = layer->use_bias();
    constexpr double kStrongest = 1e6;
    o.l2 = in_range(layer, "l2", layer->l2(), 0.0, kStrongest);
  }

  Apply dense(const Located<proto::Dense>& layer, const std::string& name) {
    nn::DenseOptions o;
    set_common(layer, name, o);
    const auto units = in_range(layer, "units", layer->units(), std::int64_t{1}, kMost);
    return [=](Output x, bool) { return nn::dense(x, units, o); };
  }

  Apply convolution(const Located<proto::Conv2d>& layer, const std::string& name, bool depthwise) {
    nn::Conv2dOptions o;
    set_common(layer, name, o);
    const auto kernel = pair(layer, "kernel", layer->kernel(), {});
    o.strides = pair(layer, "strides", layer->strides(), o.strides);
    o.dilations = pair(layer, "dilations", layer->dilations(), o.dilations);
    o.padding = at_place(layer.place("padding"), [&] { return padding_of(layer->padding()); });
    if (depthwise) {
      if (layer->filters() != 0)
        fail(Code::invalid_argument, layer.place("filters"),
             ": depthwise_conv2d has a multiplier, not filters");
      const auto multiplier =
          layer->has_multiplier()
              ? in_range(layer, "multiplier", layer->multiplier(), std::int64_t{1}, kMost)
              : 1;
      return [=](Output x, bool) { return nn::depthwise_conv2d(x, kernel, o, multiplier); };
    }
    if (layer->has_multiplier())
      fail(Code::invalid_argument, layer.place("multiplier"),
           ": conv2d has filters; a multiplier is of depthwise_conv2d");
    const auto filters = in_range(layer, "filters", layer->filters(), std::int64_t{1}, kMost);
    return [=](Output x, bool) { return nn::conv2d(x, filters, kernel, o); };
  }

  Apply pool(const Located<proto::Pool>& layer, bool greatest) {
    PoolingOptions o;
    o.window = pair(layer, "window", layer->window(), o.window);
    o.strides = pair(layer, "strides", layer->strides(), o.strides);
    o.padding = at_place(layer.place("padding"), [&] { return padding_of(layer->padding()); });
    return [=](Output x, bool) { return greatest ? max_pool(x, o) : avg_pool(x, o); };
  }

  Apply batch_norm(const Located<proto::BatchNorm>& layer, const std::string& name) {
    nn::BatchNormOptions o;
    o.name = name;
    if (layer->has_momentum())
      o.momentum = in_range(layer, "momentum", layer->momentum(), 0.0, 1.0);
    if (layer->has_epsilon()) o.epsilon = in_range(layer, "epsilon", layer->epsilon(), 0.0, 1.0);
    if (layer->has_scale()) o.scale = layer->scale();
    if (layer->has_center()) o.center = layer->center();
    return [=](Output x, bool training) { return nn::batch_norm(x, training, o); };
  }

  FileProblems& problems_;
  std::set<std::string> names_;
};

FileModel::Measure measure(const std::string& given, bool is_loss) {
  using Of = Output (*)(Output, Output);
  const auto call = parse_call(given);
  if (!is_loss && call.name == "top_k_accuracy") {
    constexpr double kMostClasses = 1e9;
    const CallParameter k{"k", kRequired, 1, kMostClasses, false, false, true};
    const auto value = static_cast<std::int64_t>(bind(call, {&k, 1})[0]);
    return {text("top_", value, "_accuracy"), Combine::mean, [value](Output logits, Output labels) {
              return nn::top_k_accuracy(logits, labels, value);
            }};
  }
  std::vector<std::pair<std::string, Of>> words{
      {"cross_entropy", nn::cross_entropy},
      {"mean_squared_error", nn::mean_squared_error},
      {"root_mean_squared_error", nn::root_mean_squared_error}};
  if (!is_loss) words.push_back({"accuracy", nn::accuracy});
  if (!is_loss) words.push_back({"top_k_accuracy", nullptr});
  const auto of = meaning_of<Of>(call.name, is_loss ? "loss" : "metric", words);
  bind(call, {});
  const bool root = call.name == "root_mean_squared_error";
  return {is_loss                             ? call.name
          : root                              ? "rmse"
          : call.name == "mean_squared_error" ? "mse"
                                              : call.name,
          root ? Combine::root_mean_square : Combine::mean, of};
}

TensorSpec with_rows(const TensorSpec& example) {
  return {example.dtype, example.shape.with_first(Shape::kUnknown)};
}

}  // namespace

Output FileModel::apply(Output x, bool training, std::size_t begin, std::size_t end) const {
  for (auto i = begin; i < end; ++i) x = layers[i].apply(x, training);
  return x;
}

ModelFunction FileModel::function(const TensorSpec& input, const TensorSpec& labels,
                                  const std::vector<std::size_t>& ends) const {
  if (program) return program;
  return
      [model = *this, input = with_rows(input), labels = with_rows(labels), ends](bool training) {
        Model m;
        m.graph = std::make_shared<Graph>();
        const auto x = placeholder(*m.graph, "input", input.dtype, input.shape);
        const auto y = placeholder(*m.graph, "labels", labels.dtype, labels.shape);
        auto made = x;
        std::size_t begin = 0;
        for (std::size_t stage = 0; stage < ends.size(); begin = ends[stage++]) {
          const NameScope scope(*m.graph, text("stage_", stage));
          made = model.apply(made, training, begin, ends[stage]);
        }
        made = model.apply(made, training, begin, model.layers.size());
        m.inputs = {x, y};
        m.loss = nn::total_loss(model.loss.of(made, y));
        // The root of a mean over all rows, unless weight decay is added to it.
        if (m.graph->regularizers().empty()) m.loss_combine = model.loss.combine;
        for (const auto& metric : model.metrics)
          m.metrics.push_back({metric.name, metric.of(made, y), metric.combine});
        m.predictions = model.softmax ? troupe::softmax(made) : made;
        return m;
      };
}

std::optional<FileModel> read_model(const Located<proto::Model>& model,
                                    const std::string& directory, FileProblems& problems) {
  FileModel made;
  bool good = true;
  if (model->has_program()) {
    if (!model->layer().empty() || !model->loss().empty() || !model->metric().empty() ||
        !model->predictions().empty()) {
      problems.add(Code::invalid_argument,
                   text(model.place("program"), ": a model is a program, or layers with loss, ",
                        "metric and predictions, but not both"));
      return std::nullopt;
    }
    const auto program = model.inside("program", model->program());
    good = problems.attempt(program.place(), [&] {
      made.program = model_named(program->name(), options_of(program, directory));
    });
    return good ? std::optional(made) : std::nullopt;
  }
  if (model->layer().empty()) {
    problems.add(
        Code::invalid_argument,
        text(model.place(), ": a model has layers and a loss, or a program { name: ... }"));
    good = false;
  }
  Layers layers(problems);
  for (int i = 0; i < model->layer_size(); ++i) {
    auto layer = layers.read(model.inside("layer", model->layer(i), i));
    if (layer)
      made.layers.push_back(*std::move(layer));
    else
      good = false;
  }
  good &= problems.attempt(model.place("loss"), [&] {
    if (model->loss().empty())
      fail(Code::invalid_argument, "a model has a loss: cross_entropy, mean_squared_error or ",
           "root_mean_squared_error");
    made.loss = measure(model->loss(), true);
  });
  for (int i = 0; i < model->metric_size(); ++i)
    good &= problems.attempt(model.place("metric", i),
                             [&] { made.metrics.push_back(measure(model->metric(i), false)); });
  good &= problems.attempt(model.place("predictions"), [&] {
    made.softmax = model->predictions().empty()
                       ? model->loss() == "cross_entropy"
                       : meaning_of<bool>(model->predictions(), "form of predictions",
                                          {{"softmax", true}, {"logits", false}});
  });
  return good ? std::optional(made) : std::nullopt;
}

}  // namespace troupe

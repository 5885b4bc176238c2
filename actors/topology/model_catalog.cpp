#include "troupe/actors/topology/model_catalog.h"

#include "troupe/actors/named_catalog.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/nn/models.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

constexpr std::int64_t kMost = 1'000'000;

/// A model of inputs of this shape to the logits of classes.
ModelFunction classifier(const Shape& input, std::function<Output(Output, bool)> layers) {
  return [input, layers = std::move(layers)](bool training) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "input", DType::float32, input);
    const auto labels = placeholder(*m.graph, "labels", DType::int64, {-1});
    const auto logits = layers(x, training);
    m.inputs = {x, labels};
    m.loss = nn::total_loss(nn::cross_entropy(logits, labels));
    m.metrics = {{"accuracy", nn::accuracy(logits, labels)}};
    m.predictions = softmax(logits);
    return m;
  };
}

double rate(const OptionMap& options) {
  const auto rate = options.number("dropout_rate", 0.5);
  if (!(rate >= 0 && rate < 1)) options.refuse("dropout_rate", "must be at least 0 and below 1");
  return rate;
}

ModelFunction mlp(const OptionMap& options) {
  const auto features = options.integer("features", 784, 1, kMost);
  const auto hidden = options.integer("hidden", 2048, 1, kMost);
  const auto classes = options.integer("classes", 10, 2, kMost);
  return classifier({-1, features}, [=](Output x, bool) { return nn::mlp(x, hidden, classes); });
}

ModelFunction lenet(const OptionMap& options) {
  return classifier({-1, 28, 28, 1}, [dropped = rate(options)](Output x, bool training) {
    return nn::lenet(x, training, dropped);
  });
}

ModelFunction cifar10_cnn(const OptionMap& options) {
  const auto size = options.integer("size", 24, 8, kMost);
  return classifier({-1, size, size, 3}, [](Output x, bool) { return nn::cifar10_cnn(x); });
}

ModelFunction headline_cnn(const OptionMap& options) {
  return [dropped = rate(options)](bool training) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto features = placeholder(*m.graph, "features", DType::float32, {-1, 20, 195, 1});
    const auto labels = placeholder(*m.graph, "labels", DType::float32, {-1, 15});
    const auto outputs = nn::headline_cnn(features, training, dropped);
    const auto rmse = nn::root_mean_squared_error(outputs, labels);
    m.inputs = {features, labels};
    m.loss = nn::total_loss(rmse);
    m.metrics = {{"rmse", rmse, Combine::root_mean_square}};
    m.predictions = outputs;
    return m;
  };
}

NamedCatalog<ModelFormat>& models() {
  static NamedCatalog<ModelFormat> catalog(
      "model",
      {{"cifar10_cnn", "images of size x size x 3 to 10 classes: TensorFlow's CIFAR-10 tutorial",
        cifar10_cnn},
       {"headline_cnn", "20 x 195 numbers to 15 numbers: the headline program", headline_cnn},
       {"lenet", "images of 28 x 28 to 10 classes: two convolutions, 1024 units", lenet},
       {"mlp", "features to classes: two layers of hidden units", mlp}});
  return catalog;
}

}  // namespace

void register_model(const std::string& name, ModelMaker make, const std::string& summary) {
  models().add({name, summary, std::move(make)});
}

ModelFunction model_named(const std::string& name, OptionMap options) {
  const auto format = models().find(name);
  options.set_owner(text("model '", name, "'"));
  auto model = format.make(options);
  options.expect_all_known();
  return model;
}

std::vector<ModelFormat> model_formats() { return models().all(); }

}  // namespace troupe

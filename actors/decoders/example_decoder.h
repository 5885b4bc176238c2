#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "troupe/actors/decoders/example_feature.h"
#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/ops/shape.h"

namespace troupe {

/// A feature of a tf.train.Example that becomes a tensor.
struct ExampleFeature {
  std::string name;
  DType dtype = DType::float32;  ///< float32, int64 or string, as the feature's list; see raw
  /// Of one example. The first extent may be -1: as many rows as there are values for, none
  /// when the feature is missing.
  Shape shape{};
  /// What an example without the feature gets; otherwise that is an error.
  std::optional<Tensor> missing{};
  /// The feature is one string of bytes that holds the elements, little-endian; any numeric
  /// dtype. This is what `tf.io.decode_raw` is for.
  bool raw = false;
};

struct ExampleDecoderOptions {
  std::vector<ExampleFeature> features;
  /// Of the feature lists of a tf.train.SequenceExample, one tensor [steps, shape] each; then
  /// `features` are those of its context. Shapes must be known; steps cannot be raw.
  std::vector<ExampleFeature> steps{};
};

/// Records that are tf.train.Example or SequenceExample messages. Features that are not
/// named are passed over; a feature that stands there twice counts with its last value.
///
/// decode throws, with place and feature, data_loss for bytes that are no such message, and
/// invalid_argument otherwise:
///
///   train.tfrecord:17: feature 'label' is missing (ExampleFeature::missing gives a default)
///   train.tfrecord:17: feature 'label' is a list of floats, but int64 is wanted
///   train.tfrecord:17: feature 'image' has 783 values, but shape [28, 28] needs 784
class ExampleDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument for features without a name, named twice, with a dtype or
  /// shape that cannot be, or with a default that does not fit.
  explicit ExampleDecoder(ExampleDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  struct Record {
    const RecordRun& run;
    std::size_t index;
  };
  /// The features of one map in a message, found by their names.
  class FeatureMap {
   public:
    explicit FeatureMap(const std::vector<ExampleFeature>& features);
    FeatureMap(const FeatureMap&) = delete;
    FeatureMap& operator=(const FeatureMap&) = delete;
    void clear();
    /// Takes the entries of such a map; false when it is damaged.
    bool parse(std::string_view message);
    const std::optional<std::string_view>& operator[](std::size_t i) const { return found_[i]; }

   private:
    bool parse_entry(std::string_view message);
    std::size_t find(std::string_view name);

    const std::vector<ExampleFeature>& features_;
    std::unordered_map<std::string_view, std::size_t> index_;
    std::vector<std::optional<std::string_view>> found_;
    // Writers keep the order of features: which one came behind each, and first of all
    // (behind the one past the last), in the message before.
    std::vector<std::size_t> successor_;
    std::size_t last_ = 0;
  };

  static void check(const std::vector<ExampleFeature>& features, bool steps);
  [[noreturn]] static void damaged(const Record& record, std::string_view what);
  Tensor decode_feature(const Record& record, const ExampleFeature& feature,
                        const std::optional<std::string_view>& message);
  Tensor decode_steps(const Record& record, const ExampleFeature& feature,
                      const std::optional<std::string_view>& message);

  ExampleDecoderOptions options_;
  FeatureMap features_;
  FeatureMap steps_;
  std::string joined_;
};

}  // namespace troupe

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// Makes tf.train.Example messages, for a TFRecordWriter.
///
///   ExampleBuilder example;
///   example.floats("x", values).ints("label", {{7}}).bytes("image", {{png}});
///   writer.write(example.message());
class ExampleBuilder {
 public:
  ExampleBuilder& floats(std::string_view name, std::span<const float> values);
  ExampleBuilder& ints(std::string_view name, std::span<const std::int64_t> values);
  ExampleBuilder& bytes(std::string_view name, std::span<const std::string> values);

  /// The message; the builder is empty afterwards.
  std::string message();

 private:
  void add(std::string_view name, int kind, std::string_view list);

  std::string entries_;
};

}  // namespace troupe

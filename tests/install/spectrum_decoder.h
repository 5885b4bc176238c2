#pragma once

#include <troupe/actors/decoders/record_decoder.h>

#include <cstdint>
#include <vector>

/// Spectra as {values, class}: float32 [16] from 0 to `scale`, and an int64 scalar.
class SpectrumDecoder : public troupe::RecordDecoder {
 public:
  explicit SpectrumDecoder(double scale) : scale_(static_cast<float>(scale)) {}

  std::vector<troupe::QueueComponent> components() const override {
    return {{"values", {troupe::DType::float32, {16}}}, {"class", {troupe::DType::int64, {}}}};
  }
  void decode(const troupe::RecordRun& run, std::size_t i, troupe::Element& element) override {
    const auto* bytes = reinterpret_cast<const unsigned char*>(run.begin(i));
    if (bytes[0] > 1)
      troupe::fail(troupe::Code::invalid_argument, run.place(i), ": class ", int{bytes[0]},
                   " is neither 0 nor 1");
    troupe::Tensor values(troupe::DType::float32, {16});
    for (int k = 0; k < 16; ++k)
      values.write<float>()[k] = scale_ * static_cast<float>(bytes[1 + k]) / 255;
    element.push_back(values);
    element.push_back(troupe::Tensor::scalar<std::int64_t>(bytes[0]));
  }

 private:
  float scale_;
};

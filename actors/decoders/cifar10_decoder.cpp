#include "troupe/actors/decoders/cifar10_decoder.h"

#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// From colour by colour to pixel by pixel.
template <class T>
void interleave(const std::uint8_t* planes, T* to) {
  constexpr auto kPixels = Cifar10Decoder::kSide * Cifar10Decoder::kSide;
  for (std::int64_t p = 0; p < kPixels; ++p)
    for (std::int64_t c = 0; c < Cifar10Decoder::kChannels; ++c)
      *to++ = static_cast<T>(planes[c * kPixels + p]);
}

}  // namespace

Cifar10Decoder::Cifar10Decoder(DType dtype) : dtype_(dtype) {
  if (dtype != DType::float32 && dtype != DType::uint8)
    fail(Code::invalid_argument, "CIFAR-10 images are decoded to float32 or uint8, not to ", dtype);
}

std::vector<QueueComponent> Cifar10Decoder::components() const {
  return {{"image", {dtype_, {kSide, kSide, kChannels}}}, {"label", {DType::int64, {}}}};
}

void Cifar10Decoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  const auto bytes = static_cast<std::size_t>(run.end(i) - run.begin(i));
  if (bytes != kRecordBytes)
    fail(Code::data_loss, run.place(i), ": a CIFAR-10 record has ", kRecordBytes,
         " bytes, but this has ", bytes);
  const auto* record = reinterpret_cast<const std::uint8_t*>(run.begin(i));
  if (record[0] >= kClasses)
    fail(Code::data_loss, run.place(i), ": the label is ", static_cast<int>(record[0]),
         ", but there are classes 0 to ", kClasses - 1);
  auto image = Tensor::uninitialized(dtype_, {kSide, kSide, kChannels});
  if (dtype_ == DType::float32)
    interleave(record + 1, image.write<float>().data());
  else
    interleave(record + 1, image.write<std::uint8_t>().data());
  element.push_back(std::move(image));
  element.push_back(Tensor::scalar<std::int64_t>(record[0]));
}

}  // namespace troupe

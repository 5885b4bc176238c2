#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/decoders/record_decoder.h"
#include "troupe/actors/images/jpeg_reader.h"
#include "troupe/ops/shape.h"

namespace troupe {

struct ImageDecoderOptions {
  DType dtype = DType::uint8;             ///< uint8: 0 to 255; float32: 0 to 1
  std::int64_t height = Shape::kUnknown;  ///< that every image must have; unknown for any
  std::int64_t width = Shape::kUnknown;
  std::int64_t channels = 3;                        ///< 1 (grey), 3 (RGB), 4 (RGBA), or 0 for
                                                    ///< what each file has
  std::int64_t max_pixels = std::int64_t{1} << 26;  ///< of one image
  JpegOptions jpeg{};
  std::string name{};  ///< of the component, for messages
};

/// Records that are JPEG or PNG files, told apart by their first bytes, as tensors
/// [height, width, channels].
///
/// decode throws
///
///   cats/1.jpg: not a JPEG or PNG image: it begins with the bytes 47 49 46 38
///   cats/2.jpg: damaged JPEG: Premature end of JPEG file
///   cats/3.png: the image is [28, 32, 3], but [32, 32, 3] is wanted (ImageDecoderOptions)
///
/// with data_loss, data_loss and invalid_argument, and resource_exhausted for an image
/// above max_pixels.
class ImageDecoder : public RecordDecoder {
 public:
  /// Throws invalid_argument for another dtype, other channels or an extent below 1.
  explicit ImageDecoder(ImageDecoderOptions options);

  std::vector<QueueComponent> components() const override;
  void decode(const RecordRun& run, std::size_t i, Element& element) override;

 private:
  ImageReader& reader_for(std::span<const std::uint8_t> file) const;
  Tensor read(std::span<const std::uint8_t> file);

  ImageDecoderOptions options_;
  Shape shape_;
  std::unique_ptr<ImageReader> jpeg_;
  std::unique_ptr<ImageReader> png_;
  std::vector<std::uint8_t> bytes_;  // of an image on its way to float32
};

}  // namespace troupe

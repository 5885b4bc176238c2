#include "troupe/actors/decoders/image_decoder.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "troupe/actors/images/png_reader.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// "47 49 46 38": how a file that is no image begins.
std::string first_bytes(std::span<const std::uint8_t> file) {
  std::ostringstream out;
  out << std::hex << std::uppercase << std::setfill('0');
  for (const auto byte : file.first(std::min<std::size_t>(4, file.size())))
    out << (out.tellp() > 0 ? " " : "") << std::setw(2) << static_cast<int>(byte);
  return out.str();
}

}  // namespace

ImageDecoder::ImageDecoder(ImageDecoderOptions options) : options_(std::move(options)) {
  const auto& o = options_;
  if (o.dtype != DType::uint8 && o.dtype != DType::float32)
    fail(Code::invalid_argument, "images are decoded to uint8 or float32, not to ", o.dtype);
  if (o.channels != 0 && o.channels != 1 && o.channels != 3 && o.channels != 4)
    fail(Code::invalid_argument, "images are decoded to 1, 3 or 4 channels, or 0 for those of the ",
         "file, but ", o.channels, " were asked for");
  for (const auto extent : {o.height, o.width})
    if (extent < 1 && extent != Shape::kUnknown)
      fail(Code::invalid_argument, "an image has a height and a width of at least 1, not ", extent);
  shape_ = Shape{o.height, o.width, o.channels > 0 ? o.channels : Shape::kUnknown};
  const ImageReading reading{o.channels, o.max_pixels};
  jpeg_ = jpeg_reader(reading, o.jpeg);
  png_ = png_reader(reading);
}

std::vector<QueueComponent> ImageDecoder::components() const {
  return {{options_.name, {options_.dtype, shape_}}};
}

ImageReader& ImageDecoder::reader_for(std::span<const std::uint8_t> file) const {
  if (is_jpeg(file)) return *jpeg_;
  if (is_png(file)) return *png_;
  if (file.empty()) fail(Code::data_loss, "the file is empty");
  fail(Code::data_loss, "not a JPEG or PNG image: it begins with the bytes ", first_bytes(file));
}

Tensor ImageDecoder::read(std::span<const std::uint8_t> file) {
  auto& reader = reader_for(file);
  const auto size = reader.open(file);
  const Shape shape{size.height, size.width, size.channels};
  if (!compatible(shape, shape_))
    fail(Code::invalid_argument, "the image is ", shape, ", but ", shape_,
         " is wanted (ImageDecoderOptions)");
  auto image = Tensor::uninitialized(options_.dtype, shape);
  if (options_.dtype == DType::uint8) {
    reader.read(image.write<std::uint8_t>().data());
    return image;
  }
  bytes_.resize(static_cast<std::size_t>(size.values()));
  reader.read(bytes_.data());
  std::ranges::transform(bytes_, image.write<float>().begin(), [](std::uint8_t value) {
    return static_cast<float>(value) * (1 / 255.0f);
  });
  return image;
}

void ImageDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  const std::span file(reinterpret_cast<const std::uint8_t*>(run.begin(i)),
                       static_cast<std::size_t>(run.end(i) - run.begin(i)));
  try {
    element.push_back(read(file));
  } catch (const Error& error) {
    throw error.within(run.place(i));
  }
}

}  // namespace troupe

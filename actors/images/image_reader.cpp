#include "troupe/actors/images/image_reader.h"

#include "troupe/ops/error.h"

namespace troupe {

void check_pixels(std::uint64_t width, std::uint64_t height, const ImageReading& reading) {
  // Extents in image files have at most 32 bits.
  if (width * height <= static_cast<std::uint64_t>(reading.max_pixels)) return;
  fail(Code::resource_exhausted, "the image has ", height, " x ", width,
       " pixels (height x width), but at most ", reading.max_pixels,
       " are read (ImageDecoderOptions::max_pixels)");
}

void rgb_to_grey(const std::uint8_t* rgb, std::uint8_t* grey, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    grey[i] = static_cast<std::uint8_t>(
        (19595u * rgb[3 * i] + 38470u * rgb[3 * i + 1] + 7471u * rgb[3 * i + 2] + 32768u) >> 16);
}

}  // namespace troupe

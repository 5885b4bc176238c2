#pragma once

#include "troupe/actors/images/image_reader.h"

namespace troupe {

/// PNG by libpng, of every colour type and depth, interlaced or not. 16 bits are
/// rounded to 8; transparency is dropped where no fourth channel is asked for;
/// gamma and colour profiles are not applied. With channels = 0, grey with
/// transparency has four channels.
std::unique_ptr<ImageReader> png_reader(const ImageReading& reading);

/// Whether bytes begin as a PNG file does.
bool is_png(std::span<const std::uint8_t> file);

}  // namespace troupe

#pragma once

#include "troupe/actors/images/image_reader.h"

namespace troupe {

struct JpegOptions {
  /// The quicker of libjpeg's two integer transforms. Values differ by a few units.
  bool fast_dct = false;
  /// Colour between two samples is interpolated; without it, it is repeated.
  bool fancy_upsampling = true;
  /// 1, 2, 4 or 8: only that part of the height and of the width is decoded, much
  /// quicker than to decode all and resize.
  int denominator = 1;
  /// What is missing of a damaged file is grey, instead of an error.
  bool allow_damaged = false;
};

/// JPEG by libjpeg-turbo: baseline and progressive; grey, RGB, CMYK. Marks of the
/// camera (EXIF orientation, colour profiles) are not applied.
/// Throws invalid_argument for other channels or another denominator.
std::unique_ptr<ImageReader> jpeg_reader(const ImageReading& reading,
                                         const JpegOptions& options = {});

/// Whether bytes begin as a JPEG file does.
bool is_jpeg(std::span<const std::uint8_t> file);

}  // namespace troupe

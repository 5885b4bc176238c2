#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

/// The shape of an image: [height, width, channels], row by row, one byte a value.
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;

  std::int64_t values() const { return height * width * channels; }
};

/// What is read of an image file, whatever its format.
struct ImageReading {
  std::int64_t channels = 3;  ///< 1 (grey), 3 (RGB), 4 (RGBA), or 0 for what the file has
  /// A file that promises more pixels is refused before memory is taken for them.
  std::int64_t max_pixels = std::int64_t{1} << 26;
};

/// Decodes image files in memory, one after the other: open(), then read().
///
/// Both throw data_loss for bytes that are not what the format demands, and open()
/// resource_exhausted above ImageReading::max_pixels, in words that do not name
/// the file. After an error the next file may be opened.
class ImageReader {
 public:
  virtual ~ImageReader() = default;

  /// Reads the header. The bytes must stay where they are until read() is through.
  virtual ImageSize open(std::span<const std::uint8_t> file) = 0;
  /// Writes ImageSize::values() bytes.
  virtual void read(std::uint8_t* pixels) = 0;
};

/// Throws resource_exhausted when the image has more pixels than are allowed.
void check_pixels(std::uint64_t width, std::uint64_t height, const ImageReading& reading);

/// Grey as 0.299 R + 0.587 G + 0.114 B, rounded, of `count` pixels of three bytes.
void rgb_to_grey(const std::uint8_t* rgb, std::uint8_t* grey, std::int64_t count);

}  // namespace troupe

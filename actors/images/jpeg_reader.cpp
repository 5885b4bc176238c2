#include "troupe/actors/images/jpeg_reader.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>
#include <vector>

#include <jpeglib.h>

#include <jerror.h>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

// A progressive file may repeat its scans to keep a reader busy; real ones have about ten.
constexpr int kMostScans = 200;
constexpr JDIMENSION kRowsAtOnce = 16;

/// What libjpeg knows of one file, and where its errors go.
struct Decompressor {
  jpeg_decompress_struct image{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf failed{};
  std::array<char, JMSG_LENGTH_MAX> words{};
  bool allow_damaged = false;
};

Decompressor& owner(j_common_ptr image) { return *static_cast<Decompressor*>(image->client_data); }

[[noreturn]] void on_error(j_common_ptr image) {
  auto& d = owner(image);
  d.errors.format_message(image, d.words.data());
  std::longjmp(d.failed, 1);
}

/// Most warnings are about what does not matter; these mean that pixels are missing.
void on_message(j_common_ptr image, int level) {
  if (level >= 0 || owner(image).allow_damaged) return;
  switch (image->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      on_error(image);
    default:
      break;
  }
}

void on_progress(j_common_ptr image) {
  auto& d = owner(image);
  if (d.image.input_scan_number <= kMostScans) return;
  std::snprintf(d.words.data(), d.words.size(), "more than %d scans", kMostScans);
  std::longjmp(d.failed, 1);
}

/// Whether `work` came to its end. libjpeg leaves it by longjmp when it fails, so
/// nothing that has a destructor may live in it.
template <class Work>
bool guarded(Decompressor& d, const Work& work) {
  if (setjmp(d.failed) != 0) return false;
  work();
  return true;
}

/// Two inks of 255 that let all light through make 255.
std::uint8_t product(std::uint8_t ink, std::uint8_t black) {
  return static_cast<std::uint8_t>((ink * black + 127) / 255);
}

class JpegReader : public ImageReader {
 public:
  JpegReader(const ImageReading& reading, const JpegOptions& options)
      : reading_(reading), options_(options) {
    if (options.denominator != 1 && options.denominator != 2 && options.denominator != 4 &&
        options.denominator != 8)
      fail(Code::invalid_argument, "JpegOptions::denominator is 1, 2, 4 or 8, not ",
           options.denominator);
    auto& image = d_.image;
    image.err = jpeg_std_error(&d_.errors);
    image.client_data = &d_;  // survives jpeg_create_decompress
    d_.errors.error_exit = on_error;
    d_.errors.emit_message = on_message;
    d_.progress.progress_monitor = on_progress;
    d_.allow_damaged = options.allow_damaged;
    run([&] { jpeg_create_decompress(&image); });
    image.progress = &d_.progress;
  }
  ~JpegReader() override { jpeg_destroy_decompress(&d_.image); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  ImageSize open(std::span<const std::uint8_t> file) override {
    auto& image = d_.image;
    jpeg_abort_decompress(&image);  // what is left of another file
    run([&] {
      jpeg_mem_src(&image, file.data(), static_cast<unsigned long>(file.size()));
      jpeg_read_header(&image, TRUE);
    });
    check_pixels(image.image_width, image.image_height, reading_);
    inks_ = image.jpeg_color_space == JCS_CMYK || image.jpeg_color_space == JCS_YCCK;
    const auto grey = image.jpeg_color_space == JCS_GRAYSCALE;
    channels_ = reading_.channels > 0 ? reading_.channels : grey ? 1 : 3;
    image.out_color_space = inks_            ? JCS_CMYK
                            : channels_ == 1 ? JCS_GRAYSCALE
                            : channels_ == 3 ? JCS_RGB
                                             : JCS_EXT_RGBA;
    image.dct_method = options_.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    image.do_fancy_upsampling = options_.fancy_upsampling ? TRUE : FALSE;
    image.scale_num = 1;
    image.scale_denom = static_cast<unsigned>(options_.denominator);
    run([&] { jpeg_calc_output_dimensions(&image); });
    return {image.output_height, image.output_width, channels_};
  }

  void read(std::uint8_t* pixels) override {
    run([&] { jpeg_start_decompress(&d_.image); });
    if (inks_)
      read_inks(pixels);
    else
      run([&] { read_rows(pixels); });
    run([&] { jpeg_finish_decompress(&d_.image); });
  }

 private:
  template <class Work>
  void run(const Work& work) {
    if (guarded(d_, work)) return;
    const std::string words = d_.words.data();
    jpeg_abort_decompress(&d_.image);
    fail(Code::data_loss, "damaged JPEG: ", words);
  }

  void read_rows(std::uint8_t* pixels) {
    auto& image = d_.image;
    const auto stride = std::size_t{image.output_width} * static_cast<std::size_t>(channels_);
    while (image.output_scanline < image.output_height) {
      std::array<JSAMPROW, kRowsAtOnce> rows;
      for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = pixels + (image.output_scanline + i) * stride;
      jpeg_read_scanlines(&image, rows.data(),
                          std::min(kRowsAtOnce, image.output_height - image.output_scanline));
    }
  }

  /// Four inks to light, as TensorFlow does: their product with black. Adobe's
  /// files, which are nearly all, have the inks inverted.
  void read_inks(std::uint8_t* pixels) {
    auto& image = d_.image;
    const std::size_t width = image.output_width;
    std::vector<std::uint8_t> row(4 * width);
    std::vector<std::uint8_t> rgb(3 * width);
    const std::uint8_t inverted = image.saw_Adobe_marker != FALSE ? 0 : 255;
    for (; image.output_scanline < image.output_height; pixels += channels_ * image.output_width) {
      run([&] {
        JSAMPROW to = row.data();
        jpeg_read_scanlines(&image, &to, 1);
      });
      for (std::size_t x = 0; x < width; ++x)
        for (std::size_t c = 0; c < 3; ++c)
          rgb[3 * x + c] = product(row[4 * x + c] ^ inverted, row[4 * x + 3] ^ inverted);
      put_row(rgb, pixels);
    }
  }

  void put_row(const std::vector<std::uint8_t>& rgb, std::uint8_t* to) const {
    const auto width = rgb.size() / 3;
    if (channels_ == 1) return rgb_to_grey(rgb.data(), to, static_cast<std::int64_t>(width));
    if (channels_ == 3) {
      std::copy(rgb.begin(), rgb.end(), to);
      return;
    }
    for (std::size_t x = 0; x < width; ++x) {
      std::copy_n(rgb.begin() + static_cast<std::ptrdiff_t>(3 * x), 3, to + 4 * x);
      to[4 * x + 3] = 255;
    }
  }

  ImageReading reading_;
  JpegOptions options_;
  Decompressor d_;
  std::int64_t channels_ = 3;
  bool inks_ = false;  // CMYK
};

}  // namespace

std::unique_ptr<ImageReader> jpeg_reader(const ImageReading& reading, const JpegOptions& options) {
  return std::make_unique<JpegReader>(reading, options);
}

bool is_jpeg(std::span<const std::uint8_t> file) {
  return file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF;
}

}  // namespace troupe

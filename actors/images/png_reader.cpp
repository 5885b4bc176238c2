#include "troupe/actors/images/png_reader.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include <png.h>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::size_t kSignature = 8;
// Of one chunk that is no pixels: a colour profile, a text.
constexpr png_alloc_size_t kMostChunkBytes = png_alloc_size_t{1} << 20;

struct Input {
  std::span<const std::uint8_t> rest;
  std::array<char, 128> words{};
};

[[noreturn]] void on_error(png_structp png, png_const_charp words) {
  auto& input = *static_cast<Input*>(png_get_error_ptr(png));
  std::strncpy(input.words.data(), words, input.words.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // what it reads is right all the same

void give_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto& input = *static_cast<Input*>(png_get_io_ptr(png));
  if (count > input.rest.size()) png_error(png, "the data ends early");
  std::memcpy(to, input.rest.data(), count);
  input.rest = input.rest.subspan(count);
}

/// libpng's two structures, which are good for one file.
struct Decoder {
  explicit Decoder(Input& input) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, on_error, on_warning);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info != nullptr) return;
    png_destroy_read_struct(&png, nullptr, nullptr);
    fail(Code::resource_exhausted, "no memory to read a PNG file");
  }
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
};

/// Whether `work` came to its end. libpng leaves it by longjmp when it fails, so
/// nothing that has a destructor may live in it.
template <class Work>
bool guarded(png_structp png, const Work& work) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  work();
  return true;
}

class PngReader : public ImageReader {
 public:
  explicit PngReader(const ImageReading& reading) : reading_(reading) {}

  ImageSize open(std::span<const std::uint8_t> file) override {
    input_ = {file, {}};
    decoder_ = std::make_unique<Decoder>(input_);
    const auto png = decoder_->png;
    const auto info = decoder_->info;
    run([&] {
      png_set_chunk_malloc_max(png, kMostChunkBytes);
      png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the limit is that of pixels
      png_set_read_fn(png, &input_, give_bytes);
      png_read_info(png, info);
    });
    width_ = png_get_image_width(png, info);
    height_ = png_get_image_height(png, info);
    check_pixels(width_, height_, reading_);
    const bool coloured = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
    const bool transparent = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                             png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    channels_ = reading_.channels > 0 ? reading_.channels : transparent ? 4 : coloured ? 3 : 1;
    to_grey_ = coloured && channels_ == 1;
    run([&] {
      png_set_expand(png);  // palettes, fewer than 8 bits, transparent colours
      png_set_scale_16(png);
      if (channels_ < 4) png_set_strip_alpha(png);
      if (channels_ == 4) png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
      if (channels_ > 1) png_set_gray_to_rgb(png);
      passes_ = png_set_interlace_handling(png);
      png_read_update_info(png, info);
    });
    const auto stride = static_cast<std::uint64_t>(to_grey_ ? 3 : channels_) * width_;
    if (png_get_rowbytes(png, info) != stride)
      fail(Code::internal, "libpng gives rows of ", png_get_rowbytes(png, info),
           " bytes instead of ", stride);
    return {height_, width_, channels_};
  }

  void read(std::uint8_t* pixels) override {
    const auto count = static_cast<std::int64_t>(std::uint64_t{width_} * height_);
    if (to_grey_) rgb_.resize(static_cast<std::size_t>(3 * count));
    auto* to = to_grey_ ? rgb_.data() : pixels;
    const auto stride = std::size_t{width_} * static_cast<std::size_t>(to_grey_ ? 3 : channels_);
    const auto png = decoder_->png;
    run([&] {
      for (int pass = 0; pass < passes_; ++pass)
        for (std::size_t y = 0; y < height_; ++y) png_read_row(png, to + y * stride, nullptr);
      png_read_end(png, nullptr);
    });
    decoder_.reset();
    if (to_grey_) rgb_to_grey(to, pixels, count);
  }

 private:
  template <class Work>
  void run(const Work& work) {
    if (guarded(decoder_->png, work)) return;
    decoder_.reset();
    fail(Code::data_loss, "damaged PNG: ", input_.words.data());
  }

  ImageReading reading_;
  Input input_;
  std::unique_ptr<Decoder> decoder_;
  std::vector<std::uint8_t> rgb_;
  png_uint_32 width_ = 0;
  png_uint_32 height_ = 0;
  std::int64_t channels_ = 3;
  bool to_grey_ = false;
  int passes_ = 1;
};

}  // namespace

std::unique_ptr<ImageReader> png_reader(const ImageReading& reading) {
  return std::make_unique<PngReader>(reading);
}

bool is_png(std::span<const std::uint8_t> file) {
  return file.size() >= kSignature && png_sig_cmp(file.data(), 0, kSignature) == 0;
}

}  // namespace troupe

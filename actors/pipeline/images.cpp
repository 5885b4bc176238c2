#include "troupe/actors/pipeline/images.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "troupe/actors/decoders/cifar10_decoder.h"
#include "troupe/actors/decoders/distort_decoder.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/readers/fixed_length_source.h"

namespace troupe {
namespace {

Records labelled_files(LabelledFiles files, LabelledFileOptions options) {
  options.files = std::make_shared<const LabelledFiles>(std::move(files));
  const auto count = static_cast<std::int64_t>(options.files->files.size());
  const auto& policy = options.policy;
  const bool leaves_out = policy.leaves_out() || policy.empty != FileAction::fail;
  return {[options] { return std::make_unique<LabelledFileSource>(options); },
          options.files->description, leaves_out ? 0 : count};
}

}  // namespace

Records read_image_folder(const std::string& directory, LabelledFileOptions options) {
  return labelled_files(files_by_folder(directory), std::move(options));
}

std::vector<std::string> image_classes(const std::string& directory) {
  return files_by_folder(directory).classes;
}

Records read_image_list(const std::string& list, char separator, const std::string& root,
                        LabelledFileOptions options) {
  return labelled_files(files_by_list(list, separator, root), std::move(options));
}

DecoderFactory images(const ImageDecoderOptions& options) {
  return [options] { return std::make_shared<ImageDecoder>(options); };
}

DecoderFactory image_labels() {
  NumberDecoderOptions options;
  options.dtype = DType::int64;
  options.name = "label";
  return [options] { return std::make_shared<NumberDecoder>(options); };
}

DecoderFactory distort(DecoderFactory decoder, std::vector<ImageStep> steps, std::uint64_t seed) {
  return [decoder = std::move(decoder), steps = std::move(steps), seed] {
    return std::make_shared<DistortDecoder>(decoder(), steps, seed);
  };
}

Records read_cifar10(const std::vector<std::string>& files) {
  FixedLengthOptions options;
  options.files = files;
  options.record_bytes = Cifar10Decoder::kRecordBytes;
  const FixedLengthSource probe(options);  // complains at once about what is not there
  std::uint64_t bytes = 0;
  for (const auto& file : expand_files(files)) bytes += std::filesystem::file_size(file);
  return {[options] { return std::make_unique<FixedLengthSource>(options); }, probe.describe(),
          static_cast<std::int64_t>(bytes / Cifar10Decoder::kRecordBytes)};
}

DecoderFactory cifar10(DType dtype) {
  return [dtype] { return std::make_shared<Cifar10Decoder>(dtype); };
}

std::vector<ImageStep> cifar10_steps(bool training) {
  if (!training) return {image::central_crop(24, 24), image::standardize()};
  return {image::random_crop(24, 24), image::random_flip_left_right(), image::random_brightness(63),
          image::random_contrast(0.2, 1.8), image::standardize()};
}

}  // namespace troupe

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/decoders/image_decoder.h"
#include "troupe/actors/images/image_steps.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/labelled_file_source.h"

namespace troupe {

// Images as a pipeline. Records of folders and lists are two streams, the bytes of a
// file and its label, so they need two decoders:
//
//   read_image_folder("train")
//       .repeat(10, seed)
//       .decode({distort(images(), {image::resize(224, 224), image::standardize()}, seed),
//                image_labels()})
//       .shuffle({.capacity = 2000}).batch(64, Remainder::drop)

/// JPEG and PNG files below a directory that has one folder for each class; see
/// files_by_folder(). They come class by class: repeat(epochs, seed) mixes them. What is
/// not as it should be goes the way of the options' policy; their list of files is not used.
Records read_image_folder(const std::string& directory, LabelledFileOptions options = {});
/// The names of those classes, in the order of their numbers.
std::vector<std::string> image_classes(const std::string& directory);

/// The files that a text file lists, "path label" a line; see files_by_list().
Records read_image_list(const std::string& list, char separator = ' ', const std::string& root = "",
                        LabelledFileOptions options = {});

/// JPEG and PNG files to tensors [height, width, channels].
DecoderFactory images(const ImageDecoderOptions& options = {});
/// Class numbers to int64 scalars. Labels that are several numbers: numbers(shape).
DecoderFactory image_labels();

/// What another decoder gives, with the image changed step by step. What is left to
/// chance depends on the seed, the record and the epoch; see DistortDecoder.
DecoderFactory distort(DecoderFactory decoder, std::vector<ImageStep> steps, std::uint64_t seed);

/// Records of CIFAR-10's binary version: paths or patterns ("data/data_batch_*.bin").
Records read_cifar10(const std::vector<std::string>& files);
/// Those records to {image [32, 32, 3], label (int64)}; float32 from 0 to 255, or uint8.
DecoderFactory cifar10(DType dtype = DType::float32);
/// What the CIFAR-10 tutorial does with images before a network sees 24 x 24 pixels of
/// them: in training all its distortions, otherwise the middle only.
std::vector<ImageStep> cifar10_steps(bool training);

}  // namespace troupe

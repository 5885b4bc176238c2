#pragma once

#include <functional>
#include <string>
#include <vector>

#include "troupe/actors/pipeline/option_map.h"
#include "troupe/actors/pipeline/pipeline.h"

namespace troupe {

// Readers and decoders by name, for pipeline files and for programs that choose at
// run time. Those of Troupe are listed in builtin_formats.cpp; a program adds its own
// with register_reader() and register_decoder(). Nothing registers itself.

/// Makes records from options. They may come from a RecordSource, or from an actor of
/// the user's own (Records::from_actor).
using ReaderMaker = std::function<Records(const OptionMap& options)>;

/// Makes decoders from their options and those of the reader whose records they
/// decode: what a record looks like may stand in the reader's files.
using DecoderMaker =
    std::function<DecoderFactory(const OptionMap& options, const OptionMap& reader)>;

struct ReaderFormat {
  std::string name;     ///< "text"
  std::string summary;  ///< "lines of text files"
  ReaderMaker make;
};
struct DecoderFormat {
  std::string name;
  std::string summary;
  DecoderMaker make;
};

/// Adds a reader of the user's own; call it before pipelines that use it are made.
/// Throws already_exists when the name is taken.
void register_reader(const std::string& name, ReaderMaker make, const std::string& summary = {});
void register_decoder(const std::string& name, DecoderMaker make, const std::string& summary = {});

/// Records of the reader of that name. Throws not_found with the names that there
/// are, and invalid_argument for an option that it does not know:
///
///   read_records("text", {{"files", "train-*.txt"}})
Records read_records(const std::string& reader, OptionMap options = {});

/// Decoders of that name; the same errors.
DecoderFactory decoder_of(const std::string& decoder, OptionMap options = {},
                          const OptionMap& reader = {});

/// All that there are, by name.
std::vector<ReaderFormat> reader_formats();
std::vector<DecoderFormat> decoder_formats();

}  // namespace troupe

#include "troupe/actors/pipeline/catalog.h"

#include "troupe/actors/named_catalog.h"
#include "troupe/actors/pipeline/builtin_formats.h"

namespace troupe {
namespace {

NamedCatalog<ReaderFormat>& readers() {
  static NamedCatalog<ReaderFormat> catalog("reader", builtin_readers());
  return catalog;
}

NamedCatalog<DecoderFormat>& decoders() {
  static NamedCatalog<DecoderFormat> catalog("decoder", builtin_decoders());
  return catalog;
}

}  // namespace

void register_reader(const std::string& name, ReaderMaker make, const std::string& summary) {
  readers().add({name, summary, std::move(make)});
}

void register_decoder(const std::string& name, DecoderMaker make, const std::string& summary) {
  decoders().add({name, summary, std::move(make)});
}

Records read_records(const std::string& reader, OptionMap options) {
  const auto format = readers().find(reader);
  options.set_owner(text("reader '", reader, "'"));
  auto records = format.make(options);
  options.expect_all_known();
  return records;
}

DecoderFactory decoder_of(const std::string& decoder, OptionMap options, const OptionMap& reader) {
  const auto format = decoders().find(decoder);
  options.set_owner(text("decoder '", decoder, "'"));
  auto factory = format.make(options, reader);
  options.expect_all_known();
  return factory;
}

std::vector<ReaderFormat> reader_formats() { return readers().all(); }
std::vector<DecoderFormat> decoder_formats() { return decoders().all(); }

}  // namespace troupe

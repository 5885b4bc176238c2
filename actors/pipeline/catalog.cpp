#include "troupe/actors/pipeline/catalog.h"

#include <map>
#include <mutex>
#include <string_view>

#include "troupe/actors/pipeline/builtin_formats.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

/// Formats of one kind by name; any thread may call it.
template <class Format>
class Catalog {
 public:
  Catalog(std::string_view kind, std::vector<Format> builtin) : kind_(kind) {
    for (auto& format : builtin) add(std::move(format));
  }

  void add(Format format) {
    if (format.name.empty() || !format.make)
      fail(Code::invalid_argument, "a ", kind_, " is registered with a name and a function");
    const std::lock_guard guard(mutex_);
    const auto name = format.name;
    if (!formats_.emplace(name, std::move(format)).second)
      fail(Code::already_exists, "a ", kind_, " called '", name, "' is already registered");
  }

  Format find(const std::string& name) const {
    const std::lock_guard guard(mutex_);
    const auto found = formats_.find(name);
    if (found != formats_.end()) return found->second;
    std::string known;
    for (const auto& [other, format] : formats_) known += (known.empty() ? "" : ", ") + other;
    fail(Code::not_found, "no ", kind_, " is called '", name, "'; there are: ", known);
  }

  std::vector<Format> all() const {
    const std::lock_guard guard(mutex_);
    std::vector<Format> formats;
    for (const auto& [name, format] : formats_) formats.push_back(format);
    return formats;
  }

 private:
  std::string_view kind_;
  mutable std::mutex mutex_;
  std::map<std::string, Format> formats_;
};

Catalog<ReaderFormat>& readers() {
  static Catalog<ReaderFormat> catalog("reader", builtin_readers());
  return catalog;
}

Catalog<DecoderFormat>& decoders() {
  static Catalog<DecoderFormat> catalog("decoder", builtin_decoders());
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

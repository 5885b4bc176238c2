#include <troupe/actors/pipeline/batch_iterator.h>
#include <troupe/actors/pipeline/catalog.h>
#include <troupe/actors/pipeline/pipeline_file.h>
#include <troupe/actors/topology/troupe.h>

#include <fstream>
#include <iostream>

#include "spectrum_decoder.h"
#include "spectrum_source.h"
#include "ticker.h"

using namespace troupe;

void register_formats() {
  register_reader("spectra", [](const OptionMap& options) -> Records {
    const auto files = options.files("files");
    const SpectrumSource probe(files);  // complains at once about files that are not there
    return {[files] { return std::make_unique<SpectrumSource>(files); }, probe.describe(),
            static_cast<std::int64_t>(probe.file_count())};
  });
  register_decoder("spectrum", [](const OptionMap& options, const OptionMap&) -> DecoderFactory {
    const auto scale = options.number("scale", 1);
    return [scale] { return std::make_shared<SpectrumDecoder>(scale); };
  });
  register_reader("ticker", [](const OptionMap& options) {
    const auto count = options.integer("count", 1, 256);
    return Records::from_actor(
        [count](Troupe& troupe, const std::string& name, const ReaderOptions& reading) {
          return troupe.spawn(name, ticker, count, reading);
        },
        "ticks", count);
  });
}

void print(const Batches& batches) {
  BatchIterator iterator(batches);
  while (const auto batch = iterator.next())
    std::cout << batch->components[0].shape() << "  classes " << batch->components[1] << '\n';
}

int main() {
  for (char i = 0; i < 10; ++i)
    std::ofstream("spectrum-" + std::to_string(i) + ".bin") << char(i % 2) << std::string(16, i);
  register_formats();

  // In the builder ...
  print(read_records("spectra", {{"files", "spectrum-*.bin"}})
            .repeat(2)
            .decode({decoder_of("spectrum", {{"scale", "2"}})})
            .shuffle({.capacity = 10, .min_after_dequeue = 5})
            .batch(8, Remainder::drop));

  // ... and in a pipeline file.
  std::ofstream("spectra.pbtxt") << R"(
    stream {
      reader { name: "spectra" option { name: "files" value: "spectrum-*.bin" } }
      decoder { name: "spectrum" }
    }
    fifo { capacity: 100 }
    batch { rows: 4 remainder: KEEP }
  )";
  print(read_pipeline("spectra.pbtxt"));
}

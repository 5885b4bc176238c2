#include <gtest/gtest.h>
#include <troupe/testing/reader_contract.h>

#include <fstream>

#include "spectrum_source.h"
#include "ticker.h"

/// `count` spectra, the last of which has lost its end if it is `torn`.
troupe::SourceFactory spectra(const std::string& name, int count, bool torn) {
  std::vector<std::string> files;
  for (int i = 0; i < count; ++i) {
    files.push_back(name + std::to_string(i));
    std::ofstream(files.back()) << std::string(torn && i + 1 == count ? 9 : 17, char('a' + i));
  }
  return [files] { return std::make_unique<SpectrumSource>(files); };
}

TROUPE_READER_CONTRACT(Spectra, troupe::contract::reader_of(spectra("whole-", 12, false),
                                                            spectra("torn-", 3, true)));

troupe::contract::ReaderSubject ticks() {
  troupe::contract::ReaderSubject subject;
  subject.spawn = [](caf::actor_system& system, const troupe::ReaderOptions& options) {
    return troupe::Reader(system.spawn(ticker, std::int64_t{20}, options));
  };
  return subject;
}

TROUPE_READER_CONTRACT(Ticker, ticks());

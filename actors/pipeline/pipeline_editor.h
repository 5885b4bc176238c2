#pragma once

#include <string>
#include <vector>

#include "troupe/actors/readers/reader.h"
#include "troupe/messages/data_state.h"

namespace troupe {

class Troupe;

/// A keeper that also changes who reads and who decodes. `kind` is "reader" or "decoder".
///   (join, kind)        -> name    one more; failed_precondition when that is not possible
///   (leave, kind, name) -> name    one less: that one, or the newest where the name is empty;
///                                  not_found, or failed_precondition for the last one
///   (status, kind)      -> how many there are that are not about to leave
///   (start) -> 0                   once it has been stopped; the failure of a decoder that came
///                                  later. So whoever starts decoders may take it for one
///   (stop)  -> ok                  decoders that came later are stopped, and nobody comes
using PipelineEditor = Decoder::extend_with<PipelineKeeper>::extend_with<PieceDealer>::extend<
    caf::replies_to<join_atom, std::string>::with<std::string>,
    caf::replies_to<leave_atom, std::string, std::string>::with<std::string>,
    caf::replies_to<status_atom, std::string>::with<std::int64_t>>;

/// The readers and decoders of a pipeline that runs, as others may change them; from any thread.
///
/// Readers of the same records share them by pieces: one file of one epoch each, or a whole epoch
/// where the files must be read together. A reader that comes gets the next piece that nobody has
/// begun; one that leaves hands back what it has not handed out. So each record still comes once,
/// but in another order, and a pipeline that keeps the order of its records refuses other readers.
/// It may have other decoders, as they do not change it. Those are shared out among the readers.
class PipelineEdits {
 public:
  /// Throws failed_precondition when there is no editor. The troupe outlives this.
  PipelineEdits(Troupe& troupe, PipelineEditor editor);

  /// One more; returns its name. Throws failed_precondition when there is nothing for it to read.
  std::string add_reader() const { return join("reader"); }
  /// One less, the newest unless it is named; returns its name. Throws not_found, and
  /// failed_precondition for the last one of its records.
  std::string remove_reader(const std::string& name = "") const { return leave("reader", name); }
  /// Adds or removes until there are so many; returns the names of those that come or go.
  std::vector<std::string> set_readers(int count) const { return set("reader", count); }

  /// The same for decoders, of which each reader has one at least.
  std::string add_decoder() const { return join("decoder"); }
  std::string remove_decoder() const { return leave("decoder", ""); }
  std::vector<std::string> set_decoders(int count) const { return set("decoder", count); }

  int readers() const { return count("reader"); }
  int decoders() const { return count("decoder"); }

 private:
  std::string join(const std::string& kind) const;
  std::string leave(const std::string& kind, const std::string& name) const;
  std::vector<std::string> set(const std::string& kind, int count) const;
  int count(const std::string& kind) const;

  Troupe& troupe_;
  PipelineEditor editor_;
};

}  // namespace troupe

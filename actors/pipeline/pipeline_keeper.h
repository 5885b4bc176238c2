#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/pipeline/piece_list.h"
#include "troupe/actors/pipeline/pipeline_editor.h"
#include "troupe/messages/data_state.h"

namespace troupe {

/// One way into the queue, for whoever keeps a pipeline.
struct KeptLane {
  std::string description;
  bool positioned = false;  ///< the reader is a SharingReader: it can say where it goes on
  std::string name;         ///< of the reader
  Reader reader;            ///< none for a feed, which is filled by hand
  std::vector<std::pair<std::string, LeavingDecoder>> decoders;

  std::string fixed;  ///< why nobody else can read these records; empty when others can
  /// Another source of the same records.
  std::function<std::unique_ptr<RecordSource>()> open;
  /// Spawns a reader to which pieces are dealt out.
  std::function<SharingReader(const std::string& name, const caf::actor& dealer,
                              std::uint32_t number)>
      spawn_reader;
  /// Spawns a decoder of that reader's records, which the queue then expects.
  std::function<LeavingDecoder(const std::string& name, const Reader& reader, std::uint32_t number)>
      spawn_decoder;
};

struct KeeperOptions {
  SavableQueue queue;
  std::vector<KeptLane> lanes;
  std::string prefix;                             ///< of the names of those that come later
  std::function<void(const caf::actor&)> forget;  ///< that one has left
};

/// What a keeper knows and does.
class PipelineKeeperState {
 public:
  static constexpr const char* name = "troupe.keeper";

  explicit PipelineKeeperState(PipelineEditor::pointer self) : self_(self) {}

  void begin(KeeperOptions options);
  caf::result<PipelineSnapshot> snapshot();
  caf::result<std::string> add(const std::string& kind);
  caf::result<std::string> remove(const std::string& kind, const std::string& name);
  caf::result<std::int64_t> count(const std::string& kind) const;
  caf::result<ReadingState> take(std::uint32_t number);
  caf::result<std::uint64_t> start();
  void stop();

 private:
  using Named = caf::typed_response_promise<std::string>;
  struct Snapshot;
  using SnapshotPtr = std::shared_ptr<Snapshot>;

  enum class At : std::uint8_t { work, end, leaving, gone };
  /// The number of a reader is its place in the list: that of its blocks, too.
  struct KeptReader {
    std::string name;
    Reader handle;
    std::size_t lane = 0;
    At at = At::work;
  };
  struct KeptDecoder {
    std::string name;
    LeavingDecoder handle;
    std::uint32_t reader = 0;
    bool came_later = false;
    bool leaving = false;
  };
  struct LaneEdits {
    std::optional<PieceList> pieces;  ///< once several readers share the records
    int handing_back = 0;             ///< readers that have been asked to leave
    std::size_t decoders = 0;         ///< that were asked for; each reader has one in any case
  };
  struct Waiting {
    std::uint32_t reader = 0;
    caf::typed_response_promise<ReadingState> promise;
  };

  // Snapshots and edits are made one at a time: each ends with done().
  void enqueue(std::function<void()> job);
  void done();
  void give_up(const SnapshotPtr& snapshot, const std::string& whom, const caf::error& why);
  void ask_queue(const SnapshotPtr& snapshot);
  void ask_readers(const SnapshotPtr& snapshot);
  void finish(const SnapshotPtr& snapshot);

  void try_lanes(std::vector<std::size_t> lanes, Named promise);
  void add_reader(std::size_t lane, Named promise);
  void remove_reader(std::uint32_t number, Named promise);
  std::uint32_t reader_to_remove(const std::string& name) const;
  std::size_t lane_for_decoder(bool add) const;
  void balance(std::size_t lane);
  void add_decoder(std::uint32_t reader);
  void retire(KeptDecoder& decoder);
  void forget_decoder(const std::string& name);
  void serve();
  std::vector<std::uint32_t> working(std::size_t lane) const;
  std::size_t decoders_of(std::uint32_t reader) const;
  void expect_change() const;

  PipelineEditor::pointer self_;
  KeeperOptions options_;
  std::vector<KeptReader> readers_;
  std::vector<LaneEdits> edits_;  ///< by lane
  std::vector<KeptDecoder> decoders_;
  std::size_t next_decoder_ = 0;
  std::string retired_;  ///< the last decoder that was asked to leave
  std::deque<std::function<void()>> jobs_;
  bool at_job_ = false;
  bool dealing_ = true;
  bool stopped_ = false;
  std::deque<Waiting> waiting_;  ///< for a piece
  caf::typed_response_promise<std::uint64_t> started_;
};

/// Takes snapshots of a pipeline that goes on meanwhile: it has the readers remember what they
/// hand out, asks the queue what it has inside and which blocks it has taken, and then the
/// readers for those that are missing. So the moment of the snapshot is the one at which the
/// queue answers, and nobody is held up, but a reader that needs another piece just then.
///
/// It deals out pieces to readers that share records, and lets readers and decoders come and go.
PipelineEditor::behavior_type pipeline_keeper(
    PipelineEditor::stateful_pointer<PipelineKeeperState> self, KeeperOptions options);

}  // namespace troupe

#include "troupe/actors/ensemble/ensemble_resume.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "troupe/actors/checkpoint/atomic_file.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/actors/training/resume_point.h"

namespace troupe {
namespace {

std::string path_of_first_batch(const std::string& directory) { return directory + "/first-batch"; }

/// What note_first_batch() has put down; none where there is nothing.
std::optional<std::uint64_t> noted_first_batch(const std::string& directory) {
  const auto path = path_of_first_batch(directory);
  std::ifstream file(path);
  std::string words;
  if (!std::getline(file, words)) return std::nullopt;
  std::uint64_t number = 0;
  const auto* end = words.data() + words.size();
  const auto [stop, error] = std::from_chars(words.data(), end, number);
  if (error != std::errc() || stop != end)
    fail(Code::data_loss, path, " names no batch, but '", words, "': remove it to begin with the ",
         "first batch that no other member has had");
  return number;
}

bool has_checkpoint(const CheckpointOptions& o) {
  return !o.resume_from.empty() ||
         (!o.directory.empty() && CheckpointDirectory(o.directory).latest());
}

bool resumes(const CheckpointOptions& o) { return o.resume || !o.resume_from.empty(); }

/// Where one member stands.
struct Standing {
  bool resumed = false;
  bool done = false;  ///< it has made all its steps, and waits for no batch
  std::optional<DataState> data;
  std::optional<std::uint64_t> noted;  ///< without a checkpoint
  /// The number of the first batch that it has not had; for one that has data.
  std::uint64_t next() const { return std::max(data->first_batch, data->pipeline.queue.batches); }
};

Standing standing_of(const StartingMember& member, const Batches& data) {
  auto& o = *member.options;
  Standing standing;
  if (!resumes(o.checkpoints)) {
    const auto& directory = o.checkpoints.directory;
    if (!directory.empty() && !has_checkpoint(o.checkpoints))
      standing.noted = noted_first_batch(directory);
    return standing;
  }
  const auto checkpoint = checkpoint_to_resume(o.checkpoints);
  standing.resumed = true;
  standing.done = o.max_steps > 0 && static_cast<std::uint64_t>(checkpoint->step()) >= o.max_steps;
  if (!o.checkpoints.data_from_start) standing.data = read_data(*checkpoint);
  if (standing.data) data.check_fits(standing.data->pipeline);
  return standing;
}

/// Members count the batches of one stream.
void expect_one_stream(const std::vector<StartingMember>& members,
                       const std::vector<Standing>& standings, std::int64_t rows) {
  const Standing* first = nullptr;
  std::string name;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (!standings[i].data) continue;
    if (!first) {
      first = &standings[i];
      name = members[i].name;
      continue;
    }
    const auto &a = *first->data, &b = *standings[i].data;
    if (a.seed != b.seed)
      fail(Code::failed_precondition, "members '", name, "' and '", members[i].name,
           "' were not trained on one stream of batches: theirs have the seeds ", a.seed, " and ",
           b.seed, ". Resume the one, and give the other its weights alone (data_from_start)");
    if ((a.rows != rows || b.rows != rows) && first->next() != standings[i].next())
      fail(Code::failed_precondition, "members '", name, "' and '", members[i].name,
           "' stand at different batches, ", first->next(), " and ", standings[i].next(), ", of ",
           a.rows == b.rows ? a.rows : std::max(a.rows, b.rows), " rows: their places cannot be ",
           "found in batches of ", rows, " rows");
  }
}

/// The pipeline of the member that has come farthest, but not beyond that batch; none for the
/// beginning of the data.
std::shared_ptr<const PipelineSnapshot> pipeline_before(std::vector<Standing>& standings,
                                                        std::uint64_t number) {
  Standing* best = nullptr;
  for (auto& one : standings) {
    if (!one.data || one.data->pipeline.queue.batches > number) continue;
    if (!best || one.data->pipeline.queue.batches > best->data->pipeline.queue.batches) best = &one;
  }
  if (!best) return nullptr;
  return std::make_shared<const PipelineSnapshot>(std::move(best->data->pipeline));
}

}  // namespace

EnsembleStart ensemble_start(const std::vector<StartingMember>& members, const Batches& data,
                             std::uint64_t seed, bool lenient) {
  EnsembleStart start;
  start.seed = seed;
  start.first_batches.resize(members.size());
  start.notes.resize(members.size());
  const bool goes_on = std::any_of(members.begin(), members.end(), [](const auto& member) {
    return resumes(member.options->checkpoints) && has_checkpoint(member.options->checkpoints);
  });
  std::vector<Standing> standings;
  for (const auto& member : members) {
    auto& o = member.options->checkpoints;
    if (lenient && goes_on && !has_checkpoint(o)) o.resume = false;
    try {
      standings.push_back(standing_of(member, data));
    } catch (const Error& error) {
      throw error.within(text("member '", member.name, "'"));
    }
  }
  if (!goes_on) return start;
  expect_one_stream(members, standings, data.rows());

  std::uint64_t newest = 0;
  for (const auto& one : standings)
    if (one.data) newest = std::max(newest, one.next());
  auto first = newest;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    const auto& one = standings[i];
    if (one.data) {
      start.seed = one.data->seed;
      if (!one.done) first = std::min(first, one.next());
      continue;
    }
    const auto begins = std::min(newest, one.resumed ? newest : one.noted.value_or(newest));
    start.first_batches[i] = begins;
    first = std::min(first, begins);
    if (!one.resumed)
      start.notes[i] = text("it has no checkpoint: it begins anew, with batch ", begins,
                            one.noted ? ", as before" : ", the first that nobody has had");
  }
  start.from = pipeline_before(standings, first);
  if (start.from) start.begins = start.from->queue.batches;
  return start;
}

void note_first_batch(const std::string& directory, std::uint64_t number) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail(Code::unavailable, "cannot create ", directory, ": ", error.message());
  AtomicFile file(path_of_first_batch(directory));
  file.write(text(number, "\n"));
  file.commit();
  sync_directory(directory);
}

}  // namespace troupe

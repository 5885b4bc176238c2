#include "troupe/actors/training/summary_actor.h"

#include <caf/typed_event_based_actor.hpp>

#include "troupe/actors/summary/event_writer.h"
#include "troupe/messages/answer.h"

namespace troupe {
namespace {

/// Writes the values of a report by name; the writer is made at the first use, so
/// that a run without evaluations leaves no empty file.
void write(std::shared_ptr<EventWriter>& writer, const std::string& directory,
           const std::vector<std::string>& names, std::uint64_t step,
           const std::vector<double>& values) {
  if (!writer) writer = std::make_shared<EventWriter>(directory);
  for (std::size_t i = 0; i < values.size() && i < names.size(); ++i)
    writer->scalar(names[i], static_cast<std::int64_t>(step), values[i]);
}

}  // namespace

SummaryWriter::behavior_type summary_writer(SummaryWriter::stateful_pointer<SummaryState> self,
                                            SummaryOptions options) {
  // A disk that refuses is the end of the actor, with the reason.
  const auto guarded = [self](auto work) {
    try {
      work();
    } catch (...) {
      self->quit(current_fault());
    }
  };
  return {
      [=](report_atom, const StepReport& report) {
        guarded([&] {
          auto& s = self->state;
          write(s.training, options.directory + "/train", options.training_names, report.step,
                report.values);
          const auto step = static_cast<std::int64_t>(report.step);
          s.training->scalar("learning_rate", step, report.learning_rate);
          s.training->scalar("examples", step, static_cast<double>(report.examples));
          s.training->scalar("staleness", step, static_cast<double>(report.staleness));
        });
      },
      [=](report_atom, const EvaluationResult& result) {
        guarded([&] {
          write(self->state.evaluation, options.directory + "/test", options.evaluation_names,
                result.version, result.values);
        });
      },
      [self](stop_atom) {
        return answer([&] {
          for (const auto& writer : {self->state.training, self->state.evaluation})
            if (writer) writer->flush();
          return caf::ok_atom_v;
        });
      },
  };
}

}  // namespace troupe

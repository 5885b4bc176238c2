#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "commands.h"
#include "progress_line.h"
#include "say.h"
#include "troupe/actors/pipeline/catalog.h"
#include "troupe/actors/pipeline/pipeline_file.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/messages/protocol.h"
#include "troupe/ops/error.h"
#include "troupe/ops/printable.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

struct Arguments {
  std::string file;
  std::int64_t batches = 10;
  std::uint64_t seed = 1;
  ThreadBudget threads;
  bool plan = false;
};

/// "float32 [100, 28, 28, 1]  0 to 1, mean 0.286".
std::string summary(const Tensor& values) {
  auto line = text(values.dtype(), ' ', values.shape());
  if (values.size() == 0) return line;
  if (values.dtype() == DType::string) {
    constexpr std::size_t kShown = 40;
    const auto& first = values.read<std::string>()[0];
    return line + fmt::format("  \"{}{}\", ...", printable(first.substr(0, kShown)),
                              first.size() > kShown ? "..." : "");
  }
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double sum = 0;
  std::int64_t finite = 0;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const auto value = values.at(i);
    if (!std::isfinite(value)) continue;
    ++finite;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (finite > 0)
    line += fmt::format("  {:.6g} to {:.6g}, mean {:.6g}", least, most,
                        sum / static_cast<double>(finite));
  if (finite < values.size()) line += fmt::format(", {} not finite", values.size() - finite);
  return line;
}

/// "busy 63 %, waits 30 % for input, 7 % for output" of all actors of a stage together.
template <class Handles>
void print_stage(Troupe& troupe, const char* name, const Handles& actors) {
  constexpr std::chrono::seconds kPatience{10};
  StageStatus sum;
  for (const auto& [title, actor] : actors) {
    const auto status = troupe.ask<StageStatus>(actor, kPatience, status_atom_v);
    sum.records += status.records;
    sum.bytes += status.bytes;
    sum.busy += status.busy;
    sum.waiting_for_input += status.waiting_for_input;
    sum.waiting_for_output += status.waiting_for_output;
  }
  const auto total = sum.busy + sum.waiting_for_input + sum.waiting_for_output;
  if (total.count() == 0) return;
  const auto percent = [&](std::chrono::nanoseconds part) {
    return 100.0 * static_cast<double>(part.count()) / static_cast<double>(total.count());
  };
  say("{} {}{}: {} records, {} bytes; busy {:.0f} %, waiting {:.0f} % for input, {:.0f} % for "
      "output\n",
      actors.size(), name, actors.size() == 1 ? "" : "s", with_commas(sum.records),
      with_commas(sum.bytes), percent(sum.busy), percent(sum.waiting_for_input),
      percent(sum.waiting_for_output));
}

void print_plan(const Batches& batches) {
  say("{}{}\n", batches.describe(),
      batches.remainder() == Remainder::keep ? ", the rest is kept" : ", the rest is dropped");
  int number = 0;
  for (const auto& component : batches.components())
    say("  component {}: {}\n", number++, text(component));
  if (batches.epoch_examples() > 0)
    say("  {} examples in one pass\n",
        with_commas(static_cast<std::uint64_t>(batches.epoch_examples())));
  say("  data in flight take at most {} MiB\n", batches.memory_bound(1) >> 20);
}

int run(const Arguments& a) {
  const auto batches = read_pipeline(a.file);
  print_plan(batches);
  if (a.plan || a.batches == 0) return kExitOk;

  Troupe troupe(a.threads);
  const auto running = batches.spawn(troupe, "", a.seed);
  for (const auto& [name, decoder] : running.decoders) troupe.tell(decoder, start_atom_v);
  DequeueRequest request;
  request.count = batches.rows();
  request.up_to = batches.remainder() == Remainder::keep;

  const auto start = std::chrono::steady_clock::now();
  std::int64_t examples = 0;
  std::int64_t count = 0;
  std::optional<Error> end;
  std::chrono::duration<double> waited{0};
  caf::scoped_actor self{troupe.system()};
  while (count < a.batches && !end) {
    const auto asked = std::chrono::steady_clock::now();
    self->request(running.queue, caf::infinite, dequeue_atom_v, request)
        .receive(
            [&](const Batch& batch) {
              waited += std::chrono::steady_clock::now() - asked;
              say("batch {}\n", batch.sequence);
              for (const auto& component : batch.components) say("  {}\n", summary(component));
              examples += batch.rows();
              ++count;
            },
            [&](const caf::error& error) { end = to_error(error); });
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (end && end->code() != Code::out_of_range) throw *end;
  say("{} batch{}, {} examples in {:.3f} s, of which {:.3f} s waiting for them", count,
      count == 1 ? "" : "es", with_commas(static_cast<std::uint64_t>(examples)), elapsed.count(),
      waited.count());
  if (waited.count() > 0)
    say(": {} examples/s",
        with_commas(static_cast<std::uint64_t>(static_cast<double>(examples) / waited.count())));
  say("{}\n", end ? "; the data have ended" : "");
  if (end && std::string_view(end->what()).find("left out") != std::string_view::npos)
    say("{}\n", end->what());
  print_stage(troupe, "reader", running.readers);
  print_stage(troupe, "decoder", running.decoders);
  return kExitOk;
}

std::string list_of_formats() {
  std::string lines = "readers:\n";
  for (const auto& format : reader_formats())
    lines += fmt::format("  {:<16} {}\n", format.name, format.summary);
  lines += "decoders:\n";
  for (const auto& format : decoder_formats())
    lines += fmt::format("  {:<16} {}\n", format.name, format.summary);
  return lines + "their options: docs/reference/pipeline-files.md";
}

}  // namespace

void add_data(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("data", "Check a pipeline file and look at its batches");
  const auto a = std::make_shared<Arguments>();
  command->add_option("file", a->file, "A pipeline in Protobuf's text format (.pbtxt)")->required();
  command->add_option("--batches", a->batches, "So many batches are read and summed up; 0: none")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--seed", a->seed, "Of the shuffling")->check(is_seed)->capture_default_str();
  command->add_option("--inter-op", a->threads.inter_op, "Threads for actors, 0 for all CPUs")
      ->check(at_least(0));
  command->add_flag("--plan", a->plan, "Check the file and show what would run");
  command->footer(list_of_formats());
  command->callback([a, &exit_code] {
    try {
      exit_code = run(*a);
    } catch (const Error& error) {
      // What a pipeline file says is no option of the command.
      complain("troupe: {}: {}", to_string(error.code()), in_plain_words(error.what(), false));
      exit_code = kExitFailed;
    }
  });
}

}  // namespace troupe::cli

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "commands.h"
#include "progress_line.h"
#include "say.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/actors/checkpoint/data_file.h"
#include "troupe/devices/placer.h"
#include "troupe/messages/graph_codec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"
#include "usage_error.h"

namespace troupe::cli {
namespace {

std::string as_text(const Shape& shape) { return text(shape); }

bool ends_with(const std::string& path, const char* ending) {
  return std::filesystem::path(path).extension() == ending;
}

GraphPtr read_graph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(Code::not_found, "cannot read ", path);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return ends_with(path, ".pbtxt") ? graph_from_text(bytes.str()) : decode_graph(bytes.str());
}

void inspect_placement(const std::string& path, const std::vector<std::string>& devices,
                       const PlacementOptions& options) {
  const auto graph = read_graph(path);
  const auto placement = place(*graph, devices, options);
  fmt::print("{}", describe(placement, *graph, true));
  std::vector<std::size_t> nodes(placement.devices.size());
  for (const auto& node : graph->nodes()) ++nodes[placement.device_of(node)];
  for (std::size_t i = 0; i < nodes.size(); ++i)
    fmt::print("{} of {} nodes on {}\n", nodes[i], graph->nodes().size(), placement.devices[i]);
}

void inspect_graph(const std::string& path) {
  const auto graph = read_graph(path);
  std::int64_t values = 0;
  for (const auto& node : graph->nodes()) {
    std::string inputs;
    for (const auto& input : node.inputs) inputs += text(inputs.empty() ? "" : ", ", input.name());
    std::string outputs;
    for (const auto& spec : node.outputs) outputs += text(outputs.empty() ? "" : "; ", spec);
    say("{:<32} {}({}) -> {}\n", node.name, node.op->name, inputs, outputs);
  }
  for (const auto& variable : graph->variables()) values += variable.spec().shape.volume();
  say("{} nodes, {} variables with {} values\n", graph->nodes().size(), graph->variables().size(),
      with_commas(static_cast<std::uint64_t>(values)));
}

void inspect_checkpoint(const std::string& path, bool verify) {
  const auto checkpoint = Checkpoint::open(path);
  const auto& manifest = checkpoint.manifest();
  say("{}: step {}\n", checkpoint.name(), checkpoint.step());
  for (const auto& [key, value] : manifest.state)
    if (key != "data" && value.size() < 100) say("  {}: {}\n", key, value);
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  for (const auto& file : manifest.files) {
    say("  {} ({} bytes)\n", file.name, with_commas(file.bytes));
    bytes += file.bytes;
    for (const auto& tensor : file.tensors) {
      say("    {:<40} {:<8} {:<18} {:<16} crc32c {:08x}\n", tensor.name, to_string(tensor.dtype),
          as_text(tensor.shape), to_string(tensor.kind), tensor.crc32c);
      if (tensor.kind == TensorKind::variable)
        values += static_cast<std::uint64_t>(tensor.shape.volume());
    }
  }
  say("{} weights, {} bytes in {} files\n", with_commas(values), with_commas(bytes),
      manifest.files.size());
  if (!verify) return;
  checkpoint.verify();
  if (const auto data = read_data(checkpoint))
    say("data: {} records trained on, {} elements in the queue, {} batches on their way, batch {} "
        "comes next\n",
        with_commas(static_cast<std::uint64_t>(data->trained)),
        with_commas(data->pipeline.queue.inside.elements.size() +
                    data->pipeline.queue.arriving.size() + data->pipeline.queue.leaving.size()),
        data->outstanding.size(),
        with_commas(std::max(data->first_batch, data->pipeline.queue.batches)));
  say("every checksum is right\n");
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("inspect", "Show what is in a checkpoint or a graph");
  const auto path = std::make_shared<std::string>();
  const auto verify = std::make_shared<bool>(false);
  command
      ->add_option("path", *path,
                   "A directory, a checkpoint (run/x/ckpt-300), or a graph (.pb, .pbtxt)")
      ->required();
  command->add_flag("--verify", *verify, "Read everything and check all checksums");
  const auto placement = std::make_shared<bool>(false);
  const auto devices = std::make_shared<std::vector<std::string>>();
  const auto soft = std::make_shared<bool>(false);
  auto* places =
      command->add_flag("--placement", *placement, "Of a graph: the device of each node, and why");
  command
      ->add_option("--device", *devices,
                   "A device to place it on, the local ones first: /cpu:0, "
                   "/job:ps/task:1/cpu:0 (/cpu:0)")
      ->needs(places);
  command
      ->add_flag("--soft-placement", *soft,
                 "Take another device where the one that is asked for is not there")
      ->needs(places);
  command->callback([=, &exit_code] {
    const bool is_graph = ends_with(*path, ".pb") || ends_with(*path, ".pbtxt");
    if (*placement && !is_graph)
      throw UsageError("--placement is for graphs (.pb, .pbtxt), but " + *path + " is none");
    if (*placement)
      inspect_placement(*path, devices->empty() ? cpu_devices(1) : *devices, {.soft = *soft});
    else if (is_graph)
      inspect_graph(*path);
    else
      inspect_checkpoint(*path, *verify);
    exit_code = kExitOk;
  });
}

}  // namespace troupe::cli

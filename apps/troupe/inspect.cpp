#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "commands.h"
#include "progress_line.h"
#include "troupe/actors/checkpoint/checkpoint.h"
#include "troupe/messages/graph_codec.h"
#include "troupe/ops/error.h"
#include "troupe/ops/op.h"

namespace troupe::cli {
namespace {

std::string as_text(const Shape& shape) { return text(shape); }

bool ends_with(const std::string& path, const char* ending) {
  return std::filesystem::path(path).extension() == ending;
}

void inspect_graph(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(Code::not_found, "cannot read ", path);
  std::stringstream bytes;
  bytes << file.rdbuf();
  const auto graph =
      ends_with(path, ".pbtxt") ? graph_from_text(bytes.str()) : decode_graph(bytes.str());
  std::int64_t values = 0;
  for (const auto& node : graph->nodes()) {
    std::string inputs;
    for (const auto& input : node.inputs) inputs += text(inputs.empty() ? "" : ", ", input.name());
    std::string outputs;
    for (const auto& spec : node.outputs) outputs += text(outputs.empty() ? "" : "; ", spec);
    fmt::print("{:<32} {}({}) -> {}\n", node.name, node.op->name, inputs, outputs);
  }
  for (const auto& variable : graph->variables()) values += variable.spec().shape.volume();
  fmt::print("{} nodes, {} variables with {} values\n", graph->nodes().size(),
             graph->variables().size(), with_commas(static_cast<std::uint64_t>(values)));
}

void inspect_checkpoint(const std::string& path, bool verify) {
  const auto checkpoint = Checkpoint::open(path);
  const auto& manifest = checkpoint.manifest();
  fmt::print("{}: step {}\n", checkpoint.name(), checkpoint.step());
  for (const auto& [key, value] : manifest.state)
    if (value.size() < 100) fmt::print("  {}: {}\n", key, value);
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  for (const auto& file : manifest.files) {
    fmt::print("  {} ({} bytes)\n", file.name, with_commas(file.bytes));
    bytes += file.bytes;
    for (const auto& tensor : file.tensors) {
      fmt::print("    {:<40} {:<8} {:<18} {:<16} crc32c {:08x}\n", tensor.name,
                 to_string(tensor.dtype), as_text(tensor.shape), to_string(tensor.kind),
                 tensor.crc32c);
      if (tensor.kind == TensorKind::variable)
        values += static_cast<std::uint64_t>(tensor.shape.volume());
    }
  }
  fmt::print("{} weights, {} bytes in {} files\n", with_commas(values), with_commas(bytes),
             manifest.files.size());
  if (!verify) return;
  checkpoint.verify();
  fmt::print("every checksum is right\n");
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
  command->callback([path, verify, &exit_code] {
    if (ends_with(*path, ".pb") || ends_with(*path, ".pbtxt"))
      inspect_graph(*path);
    else
      inspect_checkpoint(*path, *verify);
    exit_code = kExitOk;
  });
}

}  // namespace troupe::cli

#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "cifar10_data.h"
#include "commands.h"
#include "headline_data.h"
#include "say.h"

namespace troupe::cli {

namespace {

void add_headline(CLI::App& command, int& exit_code) {
  auto* headline = command.add_subcommand(
      "headline", "Text files of 20 x 195 numbers a line, and of 15 labels a line");
  const auto data = std::make_shared<HeadlineData>();
  headline->add_option("--samples", data->samples, "Training lines (about 35 KB each)")
      ->check(at_least(1))
      ->capture_default_str();
  headline->add_option("--test-samples", data->test_samples, "Test lines")
      ->check(at_least(1))
      ->capture_default_str();
  headline->add_option("--directory,-d", data->directory, "Where to write")->capture_default_str();
  headline->add_option("--seed", data->seed, "Of the random numbers")
      ->check(is_seed)
      ->capture_default_str();
  headline->callback([data, &exit_code] {
    const auto bytes = write_headline_data(*data);
    const auto& d = data->directory;
    say("wrote {0}/features.txt, labels.txt, test_features.txt, test_labels.txt: {1:.1f} MB\n"
        "next: troupe train headline --features {0}/features.txt --labels {0}/labels.txt "
        "--test-features {0}/test_features.txt --test-labels {0}/test_labels.txt\n",
        d, static_cast<double>(bytes) / 1e6);
    exit_code = kExitOk;
  });
}

void add_cifar10(CLI::App& command, int& exit_code) {
  auto* cifar10 = command.add_subcommand(
      "cifar10", "data_batch_1.bin to data_batch_5.bin and test_batch.bin: gratings in 10 classes");
  const auto data = std::make_shared<Cifar10Data>();
  cifar10->add_option("--samples", data->samples, "Training images (3 KB each)")
      ->check(at_least(5))
      ->capture_default_str();
  cifar10->add_option("--test-samples", data->test_samples, "Test images")
      ->check(at_least(1))
      ->capture_default_str();
  cifar10->add_option("--directory,-d", data->directory, "Where to write")->capture_default_str();
  cifar10->add_option("--seed", data->seed, "Of the random numbers")
      ->check(is_seed)
      ->capture_default_str();
  cifar10->callback([data, &exit_code] {
    const auto bytes = write_cifar10_data(*data);
    say("wrote {0}/data_batch_1.bin to data_batch_5.bin, test_batch.bin: {1:.1f} MB\n"
        "next: troupe train cifar10 --data {0}\n",
        data->directory, static_cast<double>(bytes) / 1e6);
    exit_code = kExitOk;
  });
}

}  // namespace

void add_make_data(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("make-data", "Write synthetic data that a program can learn");
  command->require_subcommand(1);
  add_headline(*command, exit_code);
  add_cifar10(*command, exit_code);
}

}  // namespace troupe::cli

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "say.h"
#include "topology_arguments.h"
#include "topology_run.h"
#include "troupe/actors/system_error.h"
#include "troupe/actors/topology/topology_plan.h"

extern char** environ;

namespace troupe::cli {
namespace {

struct GraphArguments {
  bool model = false;  ///< the model's graph instead of the actors
  std::string out;     ///< a file; empty or "-" for stdout
};

std::string ending_of(const std::string& path) {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(dot + 1);
}

void write(const std::string& path, const std::string& words) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << words << std::flush;
  if (!file) system_error("write", path);
}

/// Has Graphviz draw the picture.
void draw(const std::string& dot, const std::string& path, const std::string& format) {
  const auto source = path + ".dot.tmp";
  write(source, dot);
  const std::string kind = "-T" + format;
  const char* const arguments[] = {"dot",        kind.c_str(),   "-o",
                                   path.c_str(), source.c_str(), nullptr};
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, "dot", nullptr, nullptr, const_cast<char* const*>(arguments), environ);
  int status = 0;
  if (failed == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  std::remove(source.c_str());
  // A shell says 127 when there is no such command, and so does posix_spawn of some systems.
  if (failed == ENOENT || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    fail(Code::not_found, "a picture needs the command dot of Graphviz, which is not installed: ",
         "apt-get install graphviz, or write its language instead: -o ",
         path.substr(0, path.size() - format.size()), "dot");
  if (failed != 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail(Code::unavailable, "dot could not draw ", path);
}

struct Picture {
  std::string title;
  std::string dot;
};

std::vector<Picture> pictures_of(const TopologyFile& file, bool of_models) {
  std::vector<Picture> pictures;
  if (!of_models) {
    for (const auto& plan : plans_of(file)) pictures.push_back({plan.title, to_dot(plan)});
  } else if (file.ensemble) {
    for (const auto& member : file.ensemble->members) {
      const auto title = "model of member " + member.name;
      pictures.push_back({title, to_dot(member.model(true), title)});
    }
  } else {
    const auto title = "model of " + file.name;
    pictures.push_back({title, to_dot(file.model(true), title)});
  }
  return pictures;
}

int graph(const TopologyFile& file, const GraphArguments& a) {
  const auto pictures = pictures_of(file, a.model);
  const auto ending = ending_of(a.out);
  const bool drawn = ending == "svg" || ending == "png" || ending == "pdf";
  if (!a.out.empty() && a.out != "-" && !drawn && ending != "dot")
    fail(Code::invalid_argument, "-o ", a.out,
         ": a picture ends in .svg, .png or .pdf, Graphviz's language in .dot");
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const auto& dot = pictures[i].dot;
    if (a.out.empty() || a.out == "-") {
      say("{}", dot);
      continue;
    }
    auto path = a.out;
    if (pictures.size() > 1)
      path.insert(path.size() - (ending.empty() ? 0 : ending.size() + 1),
                  fmt::format("-{}", i + 1));
    if (drawn)
      draw(dot, path, ending);
    else
      write(path, dot);
    say("wrote {}: {}\n", path, pictures[i].title);
  }
  return kExitOk;
}

}  // namespace

void add_graph(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("graph", "Draw a topology: who gives what to whom");
  const auto topology = std::make_shared<TopologyArguments>();
  const auto a = std::make_shared<GraphArguments>();
  add_topology_options(*command, *topology);
  command->add_option("--out,-o", a->out,
                      "A file: .dot for Graphviz's language; .svg, .png, .pdf for a picture, "
                      "which needs Graphviz [DOT on the standard output]");
  command->add_flag("--model", a->model, "The model's graph of ops, instead of the actors");
  command->callback([topology, a, &exit_code] {
    exit_code = with_topology(*topology, [&](TopologyFile& file) {
      complete(file, {});
      return graph(file, *a);
    });
  });
}

}  // namespace troupe::cli

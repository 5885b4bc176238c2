#include "troupe/actors/explain/bottleneck.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "troupe/actors/explain/steady_window.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr double kSome = 0.2;   ///< of the time: worth looking into
constexpr double kMuch = 0.5;   ///< of the time: most of it
constexpr double kAll = 0.9;    ///< of the time, or of the CPUs: nothing left
constexpr double kNone = 0.05;  ///< of the time, or of a CPU

std::string percent(double share) {
  return text(std::lround(100 * std::clamp(share, 0.0, 1.0)), " %");
}

std::string one_digit(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", number);
  return buffer;
}

/// Several actors that do the same.
struct Group {
  std::vector<std::size_t> nodes;
  double busy = 0;  ///< all together
  double mean_busy = 0;
  double waiting_in = 0;   ///< the mean
  double waiting_out = 0;  ///< the mean
  double records = 0;      ///< all together
  double bytes = 0;
};

class Walk {
 public:
  Walk(const Topology& topology, const RunSettings& settings, const Activity& activity)
      : topology_(topology), settings_(settings), activity_(activity) {}

  Finding find() {
    const double wanted = activity_.cpu + activity_.ready;
    finding_.cpus_busy = activity_.cpu >= kAll * settings_.cpus;
    // Threads of one program also stand in each other's way, which is nobody else's fault.
    finding_.cpus_taken = !finding_.cpus_busy && activity_.ready >= kMuch &&
                          wanted >= kAll * settings_.cpus && activity_.others >= kSome;
    const auto replicas = group(topology_.all(Role::replica));
    if (activity_.seconds <= 0 || replicas.nodes.empty()) return finding_;
    if (const auto* queue = filling_queue(replicas)) {
      still_filling(*queue);
    } else if (replicas.waiting_in >= kSome && replicas.waiting_in >= replicas.waiting_out) {
      limited_by_data(replicas);
    } else if (replicas.waiting_out >= kSome && replicas.waiting_out > replicas.mean_busy / 2) {
      limited_by_updates(replicas);
    } else if (replicas.mean_busy >= kSome) {
      limited_by_compute(replicas);
    } else {
      nobody_works();
    }
    remark_on_the_rest();
    return std::move(finding_);
  }

 private:
  using Nodes = std::vector<std::size_t>;

  const NodeActivity& at(std::size_t node) const { return activity_.nodes[node]; }

  Group group(const Nodes& nodes) const {
    Group g;
    for (const auto node : nodes) {
      if (node >= activity_.nodes.size() || !at(node).known) continue;
      g.nodes.push_back(node);
      g.busy += at(node).busy;
      g.waiting_in += at(node).waiting_in;
      g.waiting_out += at(node).waiting_out;
      g.records += at(node).records;
      g.bytes += at(node).bytes;
    }
    const auto count = static_cast<double>(std::max<std::size_t>(1, g.nodes.size()));
    g.mean_busy = g.busy / count;
    g.waiting_in /= count;
    g.waiting_out /= count;
    return g;
  }

  Nodes all_before(const Nodes& nodes) const {
    Nodes found;
    for (const auto node : nodes)
      for (const auto other : topology_.before(node))
        if (std::find(found.begin(), found.end(), other) == found.end()) found.push_back(other);
    return found;
  }

  std::string name(std::size_t node) const {
    const auto& n = topology_.nodes[node];
    return n.role == Role::queue ? text("queue '", n.name, "'") : n.name;
  }
  /// "both decoders", "replica 0", "the 4 decoders".
  std::string names(const Group& g) const {
    if (g.nodes.size() == 1) return name(g.nodes[0]);
    return text(g.nodes.size() == 2 ? "both " : text("the ", g.nodes.size(), " "),
                to_string(topology_.nodes[g.nodes[0]].role), "s");
  }

  std::string cpu_words() const {
    return text(one_digit(activity_.cpu), " of ", settings_.cpus,
                settings_.cpus == 1 ? " CPU busy" : " CPUs busy");
  }
  double spare_cpus() const { return std::max(0.0, settings_.cpus - activity_.cpu); }
  /// How much of their time the workers of the actors were on a CPU or ready for one.
  double worker_use() const {
    double use = 0;
    for (const auto& thread : activity_.threads)
      if (thread.name == "caf.multiplexer") use += thread.cpu + thread.ready;
    return use / std::max(1, settings_.inter_op);
  }

  void set(Limit limit, const std::string& actor, double busy, std::string evidence) {
    finding_.limit = limit;
    finding_.actor = actor;
    finding_.busy = std::clamp(busy, 0.0, 1.0);
    finding_.evidence = std::move(evidence);
  }
  void advise(Knob knob, std::string value, std::string why) {
    finding_.advice.push_back({knob, std::move(value), std::move(why)});
  }
  void remark(std::string words) { finding_.remarks.push_back(std::move(words)); }

  /// What there is to do where all CPUs are busy; true if they are.
  bool advise_on_cpus(const std::string& what) {
    if (finding_.cpus_busy) {
      advise(Knob::none, "",
             text(settings_.cpus == 1 ? "the CPU is" : text("all ", settings_.cpus, " CPUs are"),
                  " busy: more CPUs, or ", what));
      return true;
    }
    if (!finding_.cpus_taken) return false;
    advise(Knob::none, "",
           text("other programs have the CPUs: threads of this one stood ready ",
                one_digit(activity_.ready), " CPUs' worth of the time and used ",
                one_digit(activity_.cpu), ", others ", one_digit(activity_.others)));
    return true;
  }

  // ---- the queue and what is before it -------------------------------------------------------

  /// The queues that replicas get their data from, through whatever is between.
  Nodes queues_before(const Group& replicas) const {
    Nodes queues;
    auto at = replicas.nodes;
    for (std::size_t hops = 0; hops < topology_.nodes.size() && !at.empty(); ++hops) {
      at = all_before(at);
      for (const auto node : at)
        if (topology_.nodes[node].role == Role::queue) queues.push_back(node);
      std::erase_if(at,
                    [&](std::size_t node) { return topology_.nodes[node].role == Role::queue; });
    }
    return queues;
  }

  const std::size_t* filling_queue(const Group& replicas) {
    queues_ = queues_before(replicas);
    const auto found = std::find_if(queues_.begin(), queues_.end(), [&](std::size_t node) {
      const auto& q = at(node);
      return q.known && !q.closed && q.floor > 0 && q.records == 0 && q.size <= q.floor &&
             q.growth > 0;
    });
    return found == queues_.end() ? nullptr : &*found;
  }

  void still_filling(std::size_t node) {
    const auto& q = at(node);
    const double rate = static_cast<double>(q.growth) / activity_.seconds;
    set(Limit::filling, name(node), 0,
        text(name(node), " has ", q.size, " of the ", q.floor,
             " elements that must be in it before the first may leave, and gets ",
             std::lround(rate), " a second: ",
             std::lround(static_cast<double>(q.floor - q.size) / std::max(1e-9, rate)),
             " s to go"));
    advise(Knob::min_after_dequeue, text(std::max<std::int64_t>(1, q.floor / 10)),
           "a lower floor: training begins sooner and the shuffle is coarser");
  }

  void limited_by_data(const Group& replicas) {
    const auto waited =
        text(names(replicas), " waited for data ", percent(replicas.waiting_in), " of the time");
    for (const auto node : queues_) {
      if (!at(node).known) continue;
      const auto& q = at(node);
      const auto ahead = q.capacity - q.floor;
      if (is_too_small(q)) return queue_too_small(node, waited);
      if (q.waiting_in < kSome && q.size - q.floor >= settings_.batch && ahead > 0)
        return batches_too_slow(node, waited);
    }
    // A queue in the replicas' way may have others before it: the last stage counts that
    // does not wait itself.
    const auto front = queues_.empty() ? Nodes{} : queues_;
    stage_before(front, waited);
  }

  /// Both sides wait, by turns. Where there is no CPU to run them at the same time,
  /// more room would not help.
  bool is_too_small(const NodeActivity& q) const {
    return q.waiting_in >= kSome && q.waiting_out >= kSome &&
           (q.capacity > 0 || q.capacity_bytes > 0) && !finding_.cpus_busy && !finding_.cpus_taken;
  }

  void queue_too_small(std::size_t node, const std::string& waited) {
    const auto& q = at(node);
    const auto batch = std::max<std::int64_t>(1, settings_.batch);
    if (static_cast<double>(q.bytes_inside) >= kMuch * static_cast<double>(q.capacity_bytes) &&
        q.capacity_bytes > 0) {
      set(Limit::queue, name(node), 0,
          text(name(node), " holds at most ", q.capacity_bytes, " bytes, now ", q.size,
               " elements: dequeues waited ", percent(q.waiting_in), " and enqueues ",
               percent(q.waiting_out), " of the time, by turns; ", waited));
      return advise(Knob::capacity_bytes, text(4 * q.capacity_bytes),
                    "room for more elements of this size, or smaller batches");
    }
    set(Limit::queue, name(node), 0,
        text(name(node), " holds ", q.capacity,
             q.floor > 0 ? text(", of which ", q.floor, " stay (min_after_dequeue)") : "",
             ": dequeues waited ", percent(q.waiting_in), " and enqueues ", percent(q.waiting_out),
             " of the time, by turns; ", waited));
    advise(Knob::capacity, text(q.floor + 4 * batch),
           text("room for 4 batches of ", batch, q.floor > 0 ? " above the floor" : ""));
    if (q.floor > 4 * batch)
      advise(Knob::min_after_dequeue, text(std::max<std::int64_t>(1, q.capacity - 4 * batch)),
             "a lower floor leaves more of the queue to work with");
  }

  void batches_too_slow(std::size_t node, const std::string& waited) {
    const auto& q = at(node);
    set(Limit::batching, name(node), 0,
        text(waited, ", though ", name(node), " has ", q.size,
             " elements: putting them together to batches of ", settings_.batch,
             " takes the time; ", cpu_words()));
    if (advise_on_cpus("smaller examples")) return;
    if (settings_.inter_op < settings_.cpus)
      advise(Knob::inter_op, text(settings_.cpus),
             text(settings_.inter_op, " threads run all actors, and there are ", settings_.cpus,
                  " CPUs"));
    else
      advise(Knob::batch, text(std::max<std::int64_t>(1, settings_.batch / 2)),
             "smaller batches are copied while others are computed");
  }

  /// The stages whose output goes to these queues, and those before them.
  void stage_before(const Nodes& queues, const std::string& waited) {
    auto stage = group(all_before(queues));
    std::string empty;
    if (!queues.empty() && at(queues[0]).known)
      empty = text(name(queues[0]), " had too little ", percent(at(queues[0]).waiting_in),
                   " of the time; ");
    for (std::size_t hops = 0; hops < topology_.nodes.size(); ++hops) {
      const auto sources = group(all_before(stage.nodes));
      if (sources.nodes.empty() || stage.waiting_in < kSome || sources.waiting_out > kMuch) break;
      // Actors that take turns on few threads seem to wait, yet are what is in the way.
      if (use_of(stage) >= kAll && sources.mean_busy < kAll) break;
      empty += text(names(stage), " waited for input ", percent(stage.waiting_in), "; ");
      stage = sources;
    }
    if (stage.nodes.empty()) return set(Limit::unknown, "", 0, waited);
    const auto role = topology_.nodes[stage.nodes[0]].role;
    if (role == Role::queue) return queue_before(stage, waited);
    if (stage.mean_busy < kNone && activity_.cpu < kSome && !all_before(stage.nodes).empty())
      return nobody_works();
    if (role == Role::reader)
      reader_limits(stage, empty + waited);
    else if (stage.waiting_in > stage.mean_busy && all_before(stage.nodes).empty())
      feed_limits(stage, empty + waited);
    else
      decoders_limit(stage, empty + waited);
  }

  /// A queue between two stages of the data path: go on before it.
  void queue_before(const Group& queue, const std::string& waited) {
    for (const auto node : queue.nodes)
      if (is_too_small(at(node))) return queue_too_small(node, waited);
    if (++queues_passed_ > topology_.nodes.size()) return;
    stage_before(queue.nodes, waited);
  }

  /// Busy time as a share of the threads that this stage could have at most.
  double use_of(const Group& stage) const {
    const auto most = std::min<double>(static_cast<double>(stage.nodes.size()),
                                       std::min(settings_.inter_op, settings_.cpus));
    return stage.busy / std::max(1.0, most);
  }

  void decoders_limit(const Group& decoders, const std::string& evidence) {
    const auto count = static_cast<int>(decoders.nodes.size());
    set(Limit::decoders, "decoders", decoders.mean_busy,
        text(names(decoders), count == 1 ? " was" : " were", " busy ", percent(decoders.mean_busy),
             " of the time",
             use_of(decoders) < kAll && decoders.waiting_in >= kSome
                 ? " and waited for a thread to run on, with input at hand"
                 : "",
             "; ", evidence, "; ", cpu_words()));
    if (advise_on_cpus("data that are cheaper to decode (numbers as bytes instead of text)"))
      return;
    if (count < settings_.inter_op || decoders.mean_busy >= kAll) {
      if (settings_.inter_op < settings_.cpus)
        advise(Knob::inter_op, text(settings_.cpus),
               text("actors run on ", settings_.inter_op,
                    settings_.inter_op == 1 ? " thread" : " threads", ", and there are ",
                    settings_.cpus, " CPUs"));
      advise(Knob::decoders, text(std::max(2 * settings_.cpus, count + 1)),
             text("a decoder uses one CPU at a time, and ", one_digit(spare_cpus()), " of ",
                  settings_.cpus, " are idle"));
      return;
    }
    if (worker_use() >= kAll && settings_.inter_op < settings_.cpus) {
      advise(Knob::inter_op, text(settings_.cpus),
             text("the ", settings_.inter_op, " threads that actors run on are busy, and ",
                  one_digit(spare_cpus()), " of ", settings_.cpus, " CPUs are idle"));
      return;
    }
    advise(Knob::decoders, text(count + settings_.cpus),
           text(one_digit(spare_cpus()), " of ", settings_.cpus, " CPUs are idle"));
  }

  void feed_limits(const Group& feeds, const std::string& evidence) {
    set(Limit::feed, names(feeds), feeds.mean_busy,
        text(names(feeds), " waited for what the program gives it ", percent(feeds.waiting_in),
             " of the time; ", evidence, "; ", cpu_words()));
    advise(Knob::none, "", "give it more at a time, or from more threads");
  }

  void reader_limits(const Group& readers, const std::string& evidence) {
    const auto rate =
        readers.bytes > 0 ? text(one_digit(readers.bytes / 1e6), " MB and ") : std::string();
    double silent = 0;
    for (const auto node : readers.nodes) silent = std::max(silent, at(node).silent);
    set(Limit::reader, "reader", readers.mean_busy,
        text(names(readers), " was busy ", percent(readers.mean_busy), " of the time and gave ",
             rate, std::lround(readers.records), " records a second",
             silent > 1 ? text(", and has been in one read for ", one_digit(silent), " s") : "",
             "; ", evidence, "; ", cpu_words()));
    const double on_cpu = thread_cpu(readers);
    if (on_cpu < 0)
      advise(Knob::none, "", "faster storage, or files that are quicker to read");
    else if (on_cpu < kMuch * readers.busy)
      advise(Knob::none, "",
             text("it waited for the file ", percent(readers.mean_busy - on_cpu),
                  " of the time: faster storage, or smaller files (a binary format, .gz)"));
    else if (!advise_on_cpus("files that are quicker to cut into records"))
      advise(Knob::none, "",
             text("its one thread is busy cutting records: a simpler format, files that are not "
                  "compressed, or two jobs with half of the files each"));
  }

  /// Share of the time that these actors' own threads were on a CPU; -1 if not known.
  double thread_cpu(const Group& actors) const {
    constexpr std::size_t kMost = 15;
    double cpu = -1;
    for (const auto node : actors.nodes)
      for (const auto& thread : activity_.threads)
        if (thread.name == topology_.nodes[node].name.substr(0, kMost))
          cpu = std::max(0.0, cpu) + thread.cpu;
    return cpu;
  }

  // ---- replicas and what is behind them ------------------------------------------------------

  double kernels() const { return group(topology_.all(Role::device)).busy; }
  double evaluation_kernels() const { return group(topology_.all(Role::evaluator)).busy; }

  void limited_by_compute(const Group& replicas) {
    if (evaluation_kernels() >= kMuch * kernels() && kernels() > kSome) return evaluation_limits();
    const auto count = static_cast<int>(replicas.nodes.size());
    set(Limit::replicas, "replicas", replicas.mean_busy,
        text(names(replicas), " computed ", percent(replicas.mean_busy),
             " of the time and waited for data ", percent(replicas.waiting_in), ", for parameters ",
             percent(replicas.waiting_out), "; ", cpu_words()));
    if (advise_on_cpus("a smaller model")) return;
    if (settings_.intra_op < settings_.cpus)
      advise(Knob::intra_op, text(settings_.cpus),
             text("ops use at most ", settings_.intra_op, " of ", settings_.cpus, " CPUs"));
    if (settings_.inter_op < settings_.cpus)
      advise(Knob::inter_op, text(settings_.cpus),
             text("actors run on ", settings_.inter_op, " of ", settings_.cpus, " CPUs"));
    if (count < settings_.cpus)
      advise(Knob::replicas, text(std::min(settings_.cpus, 2 * count)),
             text(one_digit(spare_cpus()), " of ", settings_.cpus,
                  " CPUs are idle: parts of a step that cannot be shared out leave them so"));
    if (settings_.batch > 0)
      advise(Knob::batch, text(2 * settings_.batch), "larger ops keep more CPUs busy");
  }

  void evaluation_limits() {
    set(Limit::evaluation, "evaluator", 0,
        text("evaluation took ", percent(evaluation_kernels() / kernels()), " of the arithmetic; ",
             cpu_words()));
    advise(Knob::evaluate_every, text(std::max<std::uint64_t>(10, 10 * settings_.evaluate_every)),
           settings_.evaluate_every > 0
               ? text("the test set is looked at after every ",
                      settings_.evaluate_every == 1 ? "" : text(settings_.evaluate_every, ". "),
                      settings_.evaluate_every == 1 ? "step" : "step")
               : std::string("less of it"));
  }

  void limited_by_updates(const Group& replicas) {
    const auto shards = group(topology_.all(Role::shard));
    const auto writers = group(topology_.all(Role::checkpointer));
    double busiest = 0;
    std::size_t which = 0;
    for (const auto node : shards.nodes)
      if (at(node).busy >= busiest) {
        busiest = at(node).busy;
        which = node;
      }
    const auto waited =
        text(names(replicas), " waited for parameters ", percent(replicas.waiting_out),
             " of the time and computed ", percent(replicas.mean_busy));
    if (!shards.nodes.empty() && busiest >= kMuch * replicas.waiting_out)
      return shards_limit(shards, which, waited);
    const bool synchronous = settings_.synchronous && replicas.nodes.size() > 1;
    // Replicas wait for each other also while all of them wait for the disk.
    if (writers.mean_busy >= (synchronous ? kAll : kMuch))
      return checkpoints_limit(writers, waited);
    if (synchronous) return slowest_limits(replicas, waited);
    set(Limit::shards, "shards", shards.mean_busy, text(waited, "; ", cpu_words()));
    if (advise_on_cpus("a larger batch, so that there are fewer updates")) return;
    if (settings_.inter_op < settings_.cpus)
      advise(Knob::inter_op, text(settings_.cpus),
             text("shards share ", settings_.inter_op, " threads with all other actors"));
    else if (settings_.batch > 0)
      advise(Knob::batch, text(2 * settings_.batch), "fewer updates for as many examples");
  }

  void shards_limit(const Group& shards, std::size_t busiest, const std::string& waited) {
    const auto count = static_cast<int>(shards.nodes.size());
    set(Limit::shards, count == 1 ? name(busiest) : "shards", at(busiest).busy,
        text(name(busiest), " updated ", percent(at(busiest).busy), " of the time; ", waited, "; ",
             cpu_words()));
    if (count > 1 && at(busiest).busy > 2 * shards.mean_busy)
      remark(text(name(busiest), " has much more to do than the others (",
                  percent(at(busiest).busy), " against ", percent(shards.mean_busy),
                  " on average)"));
    if (advise_on_cpus("a larger batch, so that there are fewer updates")) return;
    if (count < settings_.cpus && !settings_.all_reduce)
      advise(Knob::shards, text(std::min(settings_.cpus, 2 * count)),
             "a shard updates on one CPU at a time");
    if (settings_.batch > 0)
      advise(Knob::batch, text(2 * settings_.batch), "fewer updates for as many examples");
  }

  void slowest_limits(const Group& replicas, const std::string& waited) {
    const auto slowest = *std::min_element(
        replicas.nodes.begin(), replicas.nodes.end(),
        [&](std::size_t a, std::size_t b) { return at(a).waiting_out < at(b).waiting_out; });
    set(Limit::waiting, name(slowest), at(slowest).busy,
        text(waited, ": each waits for the slowest of a step, most often ", name(slowest), "; ",
             cpu_words()));
    if (settings_.all_reduce)
      advise(Knob::none, "",
             "in an all-reduce all replicas wait for each other: replicas of one speed, or shards "
             "instead of it, which can do without (policy async)");
    else
      advise(Knob::asynchronous, "", "replicas then do not wait for each other");
    if (settings_.inter_op < static_cast<int>(replicas.nodes.size()) &&
        settings_.inter_op < settings_.cpus)
      advise(Knob::inter_op, text(settings_.cpus),
             text(settings_.inter_op, " threads run ", replicas.nodes.size(), " replicas"));
  }

  void checkpoints_limit(const Group& writers, const std::string& waited) {
    set(Limit::checkpoints, "checkpointer", writers.mean_busy,
        text("checkpoints were written ", percent(writers.mean_busy), " of the time; ", waited));
    advise(Knob::checkpoint_every,
           text(std::max<std::uint64_t>(10, 10 * settings_.checkpoint_every)),
           "fewer of them, or a faster disk");
  }

  // ---- the rest ------------------------------------------------------------------------------

  void nobody_works() {
    set(Limit::nothing, "", 0, text("nobody works: every actor waits, and ", cpu_words()));
    advise(Knob::none, "", "look for who waits for whom");
  }

  /// Who has the CPUs when they are all busy. Busy time is by the clock, so these are
  /// parts of a whole, not times.
  void remark_on_cpus() {
    const auto path = data_path(topology_);
    const auto of = [&](Role role) {
      Nodes nodes;
      for (const auto node : path)
        if (topology_.nodes[node].role == role) nodes.push_back(node);
      return group(nodes).busy;
    };
    const double decoding = of(Role::decoder);
    const double reading = of(Role::reader);
    const double updating = group(topology_.all(Role::shard)).busy;
    const double all = kernels() + decoding + reading + updating;
    if (all < kSome) return;
    remark(text("of their time, ", percent(kernels() / all), " went into arithmetic, ",
                percent(decoding / all), " into decoding, ", percent(reading / all),
                " into reading, ", percent(updating / all), " into updates"));
  }

  void remark_on_the_rest() {
    const auto writers = group(topology_.all(Role::checkpointer));
    if (finding_.limit != Limit::checkpoints && writers.mean_busy >= kAll)
      remark(text("checkpoints are written ", percent(writers.mean_busy),
                  " of the time: with more of them, training would wait for the disk"));
    if (finding_.cpus_busy) remark_on_cpus();
    const double evaluation = evaluation_kernels();
    if (finding_.limit != Limit::evaluation && kernels() > kSome && evaluation >= kSome * kernels())
      remark(text("evaluation took ", percent(evaluation / kernels()), " of the arithmetic"));
  }

  const Topology& topology_;
  const RunSettings& settings_;
  const Activity& activity_;
  Nodes queues_;
  std::size_t queues_passed_ = 0;
  Finding finding_;
};

}  // namespace

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::unknown:
      break;
    case Limit::reader:
      return "reader";
    case Limit::feed:
      return "feed";
    case Limit::decoders:
      return "decoders";
    case Limit::batching:
      return "batching";
    case Limit::queue:
      return "queue";
    case Limit::filling:
      return "filling";
    case Limit::replicas:
      return "replicas";
    case Limit::shards:
      return "shards";
    case Limit::waiting:
      return "waiting";
    case Limit::evaluation:
      return "evaluation";
    case Limit::checkpoints:
      return "checkpoints";
    case Limit::nothing:
      return "nothing";
  }
  return "unknown";
}

Finding find_bottleneck(const Topology& topology, const RunSettings& settings,
                        const Activity& activity) {
  return Walk(topology, settings, activity).find();
}

}  // namespace troupe

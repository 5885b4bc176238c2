#include "troupe/queues/shared_queues.h"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <utility>

#include "troupe/queues/barrier.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/padding_fifo_queue.h"
#include "troupe/queues/priority_queue.h"
#include "troupe/queues/staging_area.h"

namespace troupe {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

std::string words(const SharedName& name) {
  return name.container.empty() ? text("'", name.name, "'")
                                : text("'", name.name, "' of container '", name.container, "'");
}

std::string words(const std::optional<ElementPadding>& padding) {
  if (!padding) return "none";
  auto values = text("of at most ", padding->most_bytes, " bytes with (");
  const auto* comma = "";
  for (const auto value : padding->values) values += text(std::exchange(comma, ", "), value);
  for (const auto& value : padding->exact) values += text(std::exchange(comma, ", "), value);
  return values + ")";
}

void add_components(Attributes& attributes, const std::vector<QueueComponent>& components) {
  std::string dtypes;
  std::string shapes;
  for (const auto& component : components) {
    const auto* comma = dtypes.empty() ? "" : ", ";
    dtypes += text(comma, component.spec.dtype);
    shapes += text(comma, component.spec.shape);
  }
  attributes.emplace_back("component dtypes", "(" + dtypes + ")");
  attributes.emplace_back("component shapes", "(" + shapes + ")");
}

Attributes attributes_of(const char* kind, const QueueOptions& options) {
  Attributes attributes{{"kind", kind},
                        {"capacity", text(options.capacity)},
                        {"capacity_bytes", text(options.capacity_bytes)},
                        {"producers", text(options.producers)},
                        {"padding", words(options.padding)},
                        {"only_when_full", options.only_when_full ? "true" : "false"},
                        {"producer_patience", text(options.producer_patience.count(), " ms")}};
  add_components(attributes, options.components);
  return attributes;
}

void check_equal(const SharedName& name, const Attributes& there, const Attributes& asked) {
  // The kind comes first, so the attributes that are compared are of the same names.
  for (std::size_t i = 0; i < there.size(); ++i)
    if (there[i] != asked[i])
      fail(Code::invalid_argument, "shared queue ", words(name), " has ", there[i].first, ' ',
           there[i].second, ", but ", asked[i].first, ' ', asked[i].second, " was asked for");
}

void end(const caf::actor& actor) { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }

}  // namespace

SharedQueues::~SharedQueues() {
  for (const auto& [key, entry] : entries_) end(entry.actor);
}

template <class Handle, class Options, class Behavior>
Handle SharedQueues::find_or_spawn(const SharedName& name, Attributes attributes, Options options,
                                   Behavior behavior) {
  if (name.name.empty() || name.name[0] == '_')
    fail(Code::invalid_argument, "a shared queue cannot be called '", name.name,
         "': a name is not empty and does not begin with '_'");
  const std::scoped_lock lock(mutex_);
  auto& entry = entries_[{name.container, name.name}];
  if (entry.actor) {
    check_equal(name, entry.attributes, attributes);
  } else {
    options.name = name.name;
    entry = {std::move(attributes),
             caf::actor_cast<caf::actor>(system_.spawn(behavior, std::move(options)))};
  }
  return caf::actor_cast<Handle>(entry.actor);
}

Queue SharedQueues::fifo_queue(const SharedName& name, const QueueOptions& options) {
  return find_or_spawn<Queue>(name, attributes_of("FIFOQueue", options), options,
                              troupe::fifo_queue);
}

Queue SharedQueues::random_shuffle_queue(const SharedName& name,
                                         const RandomShuffleQueueOptions& options) {
  auto attributes = attributes_of("RandomShuffleQueue", options);
  attributes.emplace_back("min_after_dequeue", text(options.min_after_dequeue));
  attributes.emplace_back("seed", text(options.seed));
  return find_or_spawn<Queue>(name, std::move(attributes), options, troupe::random_shuffle_queue);
}

Queue SharedQueues::padding_fifo_queue(const SharedName& name, const QueueOptions& options) {
  return find_or_spawn<Queue>(name, attributes_of("PaddingFIFOQueue", options), options,
                              troupe::padding_fifo_queue);
}

Queue SharedQueues::priority_queue(const SharedName& name, const QueueOptions& options) {
  return find_or_spawn<Queue>(name, attributes_of("PriorityQueue", options), options,
                              troupe::priority_queue);
}

StagingArea SharedQueues::staging_area(const SharedName& name, const QueueOptions& options) {
  return find_or_spawn<StagingArea>(name, attributes_of("StagingArea", options), options,
                                    troupe::staging_area);
}

Barrier SharedQueues::barrier(const SharedName& name, const BarrierOptions& options) {
  Attributes attributes{{"kind", "Barrier"}, {"capacity", text(options.capacity)}};
  add_components(attributes, options.components);
  return find_or_spawn<Barrier>(name, std::move(attributes), options, troupe::barrier);
}

std::vector<SharedQueues::Listed> SharedQueues::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Listed> listed;
  for (const auto& [key, entry] : entries_) {
    auto description = entry.attributes[0].second;
    for (std::size_t i = 1; i < entry.attributes.size(); ++i)
      description += text(", ", entry.attributes[i].first, ' ', entry.attributes[i].second);
    listed.push_back({{key.second, key.first}, std::move(description), entry.actor});
  }
  return listed;
}

void SharedQueues::remove(const SharedName& name) {
  const std::scoped_lock lock(mutex_);
  const auto place = entries_.find({name.container, name.name});
  if (place == entries_.end()) {
    std::string names;
    for (const auto& [key, entry] : entries_)
      names += text(names.empty() ? "" : "; ", words({key.second, key.first}));
    fail(Code::not_found, "there is no shared queue ", words(name), "; there is ",
         names.empty() ? "none" : names);
  }
  end(place->second.actor);
  entries_.erase(place);
}

std::size_t SharedQueues::reset(const std::string& container) {
  const std::scoped_lock lock(mutex_);
  return std::erase_if(entries_, [&](const auto& item) {
    if (item.first.first != container) return false;
    end(item.second.actor);
    return true;
  });
}

}  // namespace troupe

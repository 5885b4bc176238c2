#include "troupe/actors/pipeline/input_producers.h"

#include <utility>

#include "troupe/actors/readers/file_list.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

template <class Make, class What>
InputProducer start(Troupe& troupe, const std::string& name, std::int64_t capacity, Make make,
                    What what, const ProducerOptions& options) {
  QueueOptions queueing;
  queueing.name = name;
  queueing.capacity = capacity;
  InputProducer running;
  running.queue = troupe.spawn(name, fifo_queue, queueing);
  running.producer =
      troupe.spawn(name + " producer", make, running.queue, std::move(what), options);
  troupe.tell(running.queue, expect_atom_v, name + " producer",
              caf::actor_cast<caf::actor>(running.producer));
  troupe.tell(running.producer, start_atom_v);
  return running;
}

}  // namespace

InputProducer string_input_producer(Troupe& troupe, const std::string& name,
                                    const std::vector<std::string>& files,
                                    const ProducerOptions& options, std::int64_t capacity) {
  return start(troupe, name, capacity, file_name_producer, expand_files(files), options);
}

InputProducer range_input_producer(Troupe& troupe, const std::string& name, std::int64_t limit,
                                   const ProducerOptions& options, std::int64_t capacity) {
  return start(troupe, name, capacity, range_producer, limit, options);
}

InputProducer slice_input_producer(Troupe& troupe, const std::string& name, TensorList tensors,
                                   const ProducerOptions& options, std::int64_t capacity) {
  return start(troupe, name, capacity, slice_producer, std::move(tensors), options);
}

}  // namespace troupe

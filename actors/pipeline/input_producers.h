#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/readers/input_producer.h"
#include "troupe/messages/protocol.h"

namespace troupe {

class Troupe;

// Queues that fill themselves, in one line, for users who know them from TensorFlow.
// Nothing has to be started: the producer runs as long as the queue takes elements. To go on
// where another one was, ask its producer for a (snapshot) and give the position of that to
// ProducerOptions::position.

struct InputProducer {
  Queue queue;
  Producer producer;
};

/// A FIFO queue of the names of files, as file_name_producer() gives them out; `name` is
/// the queue's. Throws the errors of expand_files at once.
InputProducer string_input_producer(Troupe& troupe, const std::string& name,
                                    const std::vector<std::string>& files,
                                    const ProducerOptions& options = {},
                                    std::int64_t capacity = 32);

/// A FIFO queue of 0 to limit - 1, int64.
InputProducer range_input_producer(Troupe& troupe, const std::string& name, std::int64_t limit,
                                   const ProducerOptions& options = {}, std::int64_t capacity = 32);

/// A FIFO queue of the rows of tensors.
InputProducer slice_input_producer(Troupe& troupe, const std::string& name, TensorList tensors,
                                   const ProducerOptions& options = {}, std::int64_t capacity = 32);

}  // namespace troupe

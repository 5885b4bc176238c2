#include "troupe/actors/checkpoint/data_state_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "troupe/messages/proto/data_state.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::uint32_t kVersion = 1;

// ---- packing ---------------------------------------------------------------------------------

/// The values of all tensors one after the other.
Tensor joined_values(const std::vector<Element>& elements, std::size_t c, const Shape& shape) {
  auto all = Tensor::uninitialized(elements[0][c].dtype(), shape);
  auto* to = reinterpret_cast<char*>(all.mutable_data());
  for (const auto& element : elements) {
    const auto bytes = element[c].byte_size();
    if (bytes > 0) std::memcpy(to, element[c].data(), bytes);
    to += bytes;
  }
  return all;
}

Tensor joined_strings(const std::vector<Element>& elements, std::size_t c,
                      proto::ElementList::Column& column) {
  std::string bytes;
  for (const auto& element : elements)
    for (const auto& value : element[c].read<std::string>()) {
      column.add_lengths(value.size());
      bytes += value;
    }
  auto all = Tensor::uninitialized(DType::uint8, Shape{static_cast<std::int64_t>(bytes.size())});
  if (!bytes.empty()) std::memcpy(all.mutable_data(), bytes.data(), bytes.size());
  return all;
}

void pack_list(const std::vector<Element>& elements, const std::string& name,
               proto::ElementList& to, std::vector<NamedTensor>& tensors) {
  to.set_count(elements.size());
  if (elements.empty()) return;
  for (std::size_t c = 0; c < elements[0].size(); ++c) {
    auto& column = *to.add_columns();
    const auto& first = elements[0][c];
    column.set_dtype(std::string(to_string(first.dtype())));
    const bool same = std::ranges::all_of(
        elements, [&](const Element& element) { return element[c].shape() == first.shape(); });
    std::int64_t values = 0;
    for (const auto& element : elements) values += element[c].size();
    auto shape = Shape{values};
    if (same) {
      for (const auto extent : first.shape().extents()) column.add_shape(extent);
      shape = first.shape().with_first(static_cast<std::int64_t>(elements.size()));
    } else {
      for (const auto& element : elements) {
        column.add_shapes(element[c].shape().rank());
        for (const auto extent : element[c].shape().extents()) column.add_shapes(extent);
      }
    }
    tensors.push_back({text(name, '/', c), first.dtype() == DType::string
                                               ? joined_strings(elements, c, column)
                                               : joined_values(elements, c, shape)});
  }
}

void pack_lane(const LaneState& lane, proto::LaneState& to) {
  to.set_description(lane.description);
  to.set_positioned(lane.positioned);
  for (const auto& [position, records] : lane.reading.again) {
    auto& piece = *to.add_again();
    piece.set_position(position);
    piece.set_records(records);
  }
  to.set_position(lane.reading.position);
  to.set_elements(lane.elements);
  to.set_left_out(lane.left_out);
}

void pack_aggregation(const AggregationStatus& status, proto::AggregationState& to) {
  to.set_policy(status.policy);
  to.set_version(status.version);
  to.set_updates(status.updates);
  to.set_clipped(status.clipped);
  for (const auto& standing : status.replicas) {
    auto& r = *to.add_replicas();
    r.set_replica(standing.replica);
    r.set_takes_part(standing.takes_part);
    r.set_clock(standing.clock);
    for (const auto count : standing.staleness.counts) r.add_staleness(count);
    r.set_stale(standing.stale);
    r.set_skipped(standing.skipped);
    r.set_late(standing.late);
  }
  to.set_variables(status.variables);
  for (const auto& group : status.groups) pack_aggregation(group, *to.add_groups());
}

// ---- unpacking -------------------------------------------------------------------------------

template <class... Parts>
[[noreturn]] void complain(const Parts&... parts) {
  fail(Code::data_loss, "the state of the data: ", parts...);
}

/// The shapes of the tensors of one component, checked against each other and the count.
std::vector<Shape> shapes_of(const proto::ElementList::Column& column, std::uint64_t count,
                             const std::string& name) {
  if (column.shapes_size() == 0) {
    const Shape shape(std::vector<std::int64_t>(column.shape().begin(), column.shape().end()));
    if (!shape.known()) complain(name, " cannot have shape ", shape);
    return std::vector<Shape>(count, shape);
  }
  std::vector<Shape> shapes;
  auto at = column.shapes().begin();
  const auto left = [&] { return column.shapes().end() - at; };
  while (left() > 0) {
    const auto rank = *at++;
    if (rank < 0 || rank > Shape::kMaxRank || rank > left())
      complain(name, " has a shape of rank ", rank);
    const Shape shape(std::vector<std::int64_t>(at, at + rank));
    if (!shape.known()) complain(name, " cannot have shape ", shape);
    shapes.push_back(shape);
    at += rank;
  }
  if (shapes.size() != count)
    complain(name, " has ", shapes.size(), " shapes for ", count, " elements");
  return shapes;
}

void unpack_strings(const proto::ElementList::Column& column, const Tensor& bytes,
                    const std::vector<Shape>& shapes, const std::string& name, std::size_t c,
                    std::vector<Element>& elements) {
  std::uint64_t at = 0;
  int length = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (shapes[i].volume() > column.lengths_size() - length) complain(name, " has too few strings");
    Tensor tensor(DType::string, shapes[i]);
    for (auto& value : tensor.write<std::string>()) {
      const auto size = column.lengths(length++);
      if (size > bytes.byte_size() - at) complain(name, " has too few bytes for its strings");
      value.assign(reinterpret_cast<const char*>(bytes.data()) + at, size);
      at += size;
    }
    elements[i][c] = std::move(tensor);
  }
}

std::vector<Element> unpack_list(const proto::ElementList& from, const std::string& name,
                                 const std::function<Tensor(const std::string&)>& read) {
  std::vector<Element> elements;
  const auto width = static_cast<std::size_t>(from.columns_size());
  if (from.count() > 0 && width == 0) complain(name, " has elements without components");
  for (std::size_t c = 0; c < width; ++c) {
    const auto& column = from.columns(static_cast<int>(c));
    const auto title = text(name, '/', c);
    const auto values = read(title);
    const auto dtype = parse_dtype(column.dtype());
    // Nothing is allocated before the tensor is known to have that many.
    const bool stacked = column.shapes_size() == 0 && dtype != DType::string;
    if (stacked && (values.shape().rank() == 0 ||
                    static_cast<std::uint64_t>(values.shape()[0]) != from.count()))
      complain(title, " has shape ", values.shape(), " for ", from.count(), " elements");
    if (!stacked && column.shapes_size() == 0 &&
        from.count() > values.byte_size() + static_cast<std::uint64_t>(column.lengths_size()) + 1)
      complain(title, " has too few strings for ", from.count(), " elements");
    const auto shapes = shapes_of(column, from.count(), title);
    if (elements.empty()) elements.assign(from.count(), Element(width));
    if (dtype == DType::string) {
      if (values.dtype() != DType::uint8) complain(title, " is no string of bytes");
      unpack_strings(column, values, shapes, title, c, elements);
      continue;
    }
    if (values.dtype() != dtype) complain(title, " is ", values.dtype(), ", not ", dtype);
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const auto bytes = static_cast<std::uint64_t>(shapes[i].volume()) * size_of(dtype);
      if (bytes > values.byte_size() - at) complain(title, " has too few values");
      // Of its own: the elements leave one by one.
      auto tensor = Tensor::uninitialized(dtype, shapes[i]);
      if (bytes > 0) std::memcpy(tensor.mutable_data(), values.data() + at, bytes);
      at += bytes;
      elements[i][c] = std::move(tensor);
    }
    if (at != values.byte_size()) complain(title, " has too many values");
  }
  return elements;
}

LaneState unpack_lane(const proto::LaneState& from) {
  LaneState lane;
  lane.description = from.description();
  lane.positioned = from.positioned();
  for (const auto& piece : from.again())
    lane.reading.again.push_back({piece.position(), piece.records()});
  lane.reading.position = from.position();
  lane.elements = from.elements();
  lane.left_out = from.left_out();
  return lane;
}

AggregationStatus unpack_aggregation(const proto::AggregationState& from) {
  AggregationStatus status{from.policy(), from.version(), from.updates(), from.clipped(), {}};
  for (const auto& r : from.replicas())
    status.replicas.push_back({r.replica(),
                               r.takes_part(),
                               r.clock(),
                               {{r.staleness().begin(), r.staleness().end()}},
                               r.stale(),
                               r.skipped(),
                               r.late()});
  status.variables = from.variables();
  for (const auto& group : from.groups()) status.groups.push_back(unpack_aggregation(group));
  return status;
}

}  // namespace

PackedDataState pack(const DataState& state) {
  PackedDataState packed;
  proto::DataState to;
  to.set_format_version(kVersion);
  to.set_step(static_cast<std::int64_t>(state.version));
  to.set_seed(state.seed);
  to.set_rows(state.rows);
  to.set_replicas(state.replicas);
  to.set_split(state.split);
  to.set_trained(state.trained);
  to.set_first_batch(state.first_batch);
  const auto& from = state.pipeline.queue;
  auto& queue = *to.mutable_queue();
  queue.set_kind(from.kind);
  pack_list(from.inside.elements, "inside", *queue.mutable_inside(), packed.tensors);
  queue.mutable_numbers()->Assign(from.inside.numbers.begin(), from.inside.numbers.end());
  pack_list(from.arriving, "arriving", *queue.mutable_arriving(), packed.tensors);
  pack_list(from.leaving, "leaving", *queue.mutable_leaving(), packed.tensors);
  queue.set_enqueued(from.enqueued);
  queue.set_dequeued(from.dequeued);
  queue.set_batches(from.batches);
  queue.set_last_reader(from.last_reader);
  for (const auto& lane : state.pipeline.lanes) pack_lane(lane, *to.add_lanes());
  std::vector<Element> outstanding;
  for (const auto& [replica, batch] : state.outstanding) {
    outstanding.push_back(batch.components);
    to.add_owners(replica);
    to.add_sequences(batch.sequence);
  }
  pack_list(outstanding, "outstanding", *to.mutable_outstanding(), packed.tensors);
  pack_aggregation(state.aggregation, *to.mutable_aggregation());
  packed.state = to.SerializeAsString();
  return packed;
}

DataState unpack(std::string_view bytes, const std::function<Tensor(const std::string&)>& read) {
  proto::DataState from;
  if (!from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    complain("it cannot be parsed");
  if (from.format_version() > kVersion)
    fail(Code::unimplemented, "the state of the data has format version ", from.format_version(),
         ", but this Troupe reads up to ", kVersion, ": use the Troupe that wrote it");
  DataState state;
  state.version = static_cast<Version>(from.step());
  state.seed = from.seed();
  state.rows = from.rows();
  state.replicas = from.replicas();
  state.split = from.split();
  state.trained = from.trained();
  state.first_batch = from.first_batch();
  auto& queue = state.pipeline.queue;
  queue.kind = from.queue().kind();
  queue.inside.elements = unpack_list(from.queue().inside(), "inside", read);
  queue.inside.numbers = {from.queue().numbers().begin(), from.queue().numbers().end()};
  queue.arriving = unpack_list(from.queue().arriving(), "arriving", read);
  queue.leaving = unpack_list(from.queue().leaving(), "leaving", read);
  queue.enqueued = from.queue().enqueued();
  queue.dequeued = from.queue().dequeued();
  queue.batches = from.queue().batches();
  queue.last_reader = from.queue().last_reader();
  for (const auto& lane : from.lanes()) {
    state.pipeline.lanes.push_back(unpack_lane(lane));
    queue.receipts.push_back({0, {}, lane.elements(), lane.left_out()});
  }
  auto batches = unpack_list(from.outstanding(), "outstanding", read);
  if (from.owners_size() != std::ssize(batches) || from.sequences_size() != std::ssize(batches))
    complain(batches.size(), " batches are outstanding, but ", from.owners_size(), " owners and ",
             from.sequences_size(), " numbers are given");
  for (std::size_t i = 0; i < batches.size(); ++i)
    state.outstanding.push_back({from.owners(static_cast<int>(i)),
                                 {from.sequences(static_cast<int>(i)), std::move(batches[i])}});
  for (const auto& [replica, batch] : state.outstanding)
    for (const auto& component : batch.components)
      if (component.shape().rank() == 0 || component.shape()[0] != batch.rows())
        complain("the components of a batch have ", component.shape(), " and ", batch.rows(),
                 " rows");
  state.aggregation = unpack_aggregation(from.aggregation());
  return state;
}

}  // namespace troupe

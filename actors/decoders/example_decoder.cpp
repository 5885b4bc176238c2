#include "troupe/actors/decoders/example_decoder.h"

#include <cstring>
#include <utility>

#include "troupe/actors/decoders/wire_reader.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using Kind = WireFeature::Kind;

// Field numbers of tf.train.Example, SequenceExample, Features, FeatureLists, their entries
// and FeatureList (TensorFlow, core/example/example.proto and feature.proto).
constexpr std::uint64_t kFeatures = 1;  // or the context
constexpr std::uint64_t kFeatureLists = 2;
constexpr std::uint64_t kMapEntry = 1;
constexpr std::uint64_t kEntryKey = 1;
constexpr std::uint64_t kEntryValue = 2;
constexpr std::uint64_t kStep = 1;

bool is_message(const WireField& field, std::uint64_t number) {
  return field.number == number && field.type == WireField::bytes_type;
}

Kind kind_of(const ExampleFeature& feature) {
  if (feature.raw || feature.dtype == DType::string) return Kind::bytes;
  return feature.dtype == DType::float32 ? Kind::floats : Kind::ints;
}

bool variable(const ExampleFeature& feature) {
  return feature.shape.rank() > 0 && feature.shape[0] == Shape::kUnknown;
}

/// The shape of what `count` values become.
std::optional<Shape> shape_of(const ExampleFeature& feature, std::int64_t count) {
  if (!variable(feature)) {
    if (feature.shape.volume() != count) return std::nullopt;
    return feature.shape;
  }
  auto shape = feature.shape;
  shape.set(0, 1);
  const auto row = shape.volume();
  if (row == 0 ? count != 0 : count % row != 0) return std::nullopt;
  shape.set(0, row == 0 ? 0 : count / row);
  return shape;
}

bool read_values(const WireFeature& feature, Tensor& tensor, std::int64_t begin,
                 std::int64_t count) {
  const auto first = static_cast<std::size_t>(begin);
  const auto size = static_cast<std::size_t>(count);
  switch (feature.kind) {
    case Kind::floats:
      return read_floats(feature.list, tensor.write<float>().subspan(first, size));
    case Kind::ints:
      return read_ints(feature.list, tensor.write<std::int64_t>().subspan(first, size));
    case Kind::bytes:
      return read_strings(feature.list, tensor.write<std::string>().subspan(first, size));
    case Kind::none:
      break;
  }
  return count == 0;
}

Tensor tensor_for(const ExampleFeature& feature, const Shape& shape) {
  return feature.dtype == DType::string ? Tensor(feature.dtype, shape)
                                        : Tensor::uninitialized(feature.dtype, shape);
}

/// The only string of a list; nothing when there are none or several.
std::optional<std::string_view> only_string(std::string_view list) {
  WireReader reader(list);
  WireField field;
  std::optional<std::string_view> found;
  while (reader.next(field)) {
    if (!is_message(field, 1) || found) return std::nullopt;
    found = field.bytes;
  }
  return found;
}

}  // namespace

// ---- what is wanted --------------------------------------------------------------------------

ExampleDecoder::ExampleDecoder(ExampleDecoderOptions options)
    : options_(std::move(options)), features_(options_.features), steps_(options_.steps) {
  if (options_.features.empty() && options_.steps.empty())
    fail(Code::invalid_argument, "an example decoder needs at least one feature");
  check(options_.features, false);
  check(options_.steps, true);
}

void ExampleDecoder::check(const std::vector<ExampleFeature>& features, bool steps) {
  for (const auto& f : features) {
    if (f.name.empty()) fail(Code::invalid_argument, "a feature of an example needs a name");
    for (const auto& other : features)
      if (&other != &f && other.name == f.name)
        fail(Code::invalid_argument, "feature '", f.name, "' is wanted twice");
    const bool listed =
        f.dtype == DType::float32 || f.dtype == DType::int64 || f.dtype == DType::string;
    if (f.raw ? !is_numeric(f.dtype) || steps : !listed)
      fail(Code::invalid_argument, "feature '", f.name, "' cannot be ", f.dtype,
           ": lists hold float32, int64 or string, raw bytes (not in steps) any number");
    for (int axis = 0; axis < f.shape.rank(); ++axis)
      if (f.shape[axis] == Shape::kUnknown && (axis > 0 || steps))
        fail(Code::invalid_argument, "feature '", f.name, "' of shape ", f.shape,
             ": only the first extent may be unknown, and none of a step");
    if (!f.missing) continue;
    const auto& given = f.missing->shape();
    const auto wanted = steps ? f.shape.with_first(Shape::kUnknown) : f.shape;
    if (f.missing->dtype() != f.dtype || !compatible(given, wanted))
      fail(Code::invalid_argument, "feature '", f.name, "' is ", f.dtype, ' ', wanted,
           ", but its default is ", f.missing->dtype(), ' ', given);
  }
}

std::vector<QueueComponent> ExampleDecoder::components() const {
  std::vector<QueueComponent> all;
  for (const auto& f : options_.features) all.push_back({f.name, {f.dtype, f.shape}});
  for (const auto& f : options_.steps)
    all.push_back({f.name, {f.dtype, f.shape.with_first(Shape::kUnknown)}});
  return all;
}

// ---- what is there ---------------------------------------------------------------------------

ExampleDecoder::FeatureMap::FeatureMap(const std::vector<ExampleFeature>& features)
    : features_(features),
      found_(features.size()),
      successor_(features.size() + 1),
      last_(features.size()) {
  for (std::size_t i = 0; i < features.size(); ++i) index_.emplace(features[i].name, i);
}

void ExampleDecoder::FeatureMap::clear() {
  for (auto& f : found_) f.reset();
  last_ = features_.size();
}

std::size_t ExampleDecoder::FeatureMap::find(std::string_view name) {
  const auto guess = successor_[last_];
  if (guess < features_.size() && features_[guess].name == name) return last_ = guess;
  const auto found = index_.find(name);
  if (found == index_.end()) return features_.size();
  return last_ = successor_[last_] = found->second;
}

bool ExampleDecoder::FeatureMap::parse(std::string_view message) {
  WireReader reader(message);
  WireField field;
  while (reader.next(field))
    if (is_message(field, kMapEntry) && !parse_entry(field.bytes)) return false;
  return reader.good();
}

bool ExampleDecoder::FeatureMap::parse_entry(std::string_view message) {
  WireReader reader(message);
  WireField field;
  std::string_view key, value;
  while (reader.next(field)) {
    if (is_message(field, kEntryKey)) key = field.bytes;
    if (is_message(field, kEntryValue)) value = field.bytes;
  }
  const auto i = find(key);
  if (i < found_.size()) found_[i] = value;
  return reader.good();
}

// ---- one into the other ----------------------------------------------------------------------

void ExampleDecoder::damaged(const Record& record, std::string_view what) {
  fail(Code::data_loss, record.run.place(record.index), ": ", what,
       " is damaged, or the record is no tf.train.Example");
}

Tensor ExampleDecoder::decode_feature(const Record& record, const ExampleFeature& f,
                                      const std::optional<std::string_view>& message) {
  const auto complain = [&](Code code, const auto&... parts) {
    fail(code, record.run.place(record.index), ": feature '", f.name, "' ", parts...);
  };
  WireFeature feature;
  if (message && !parse_feature(*message, feature, joined_))
    damaged(record, text("feature '", f.name, "'"));
  if (feature.kind == Kind::none) {
    if (f.missing) return *f.missing;
    if (!variable(f))
      complain(Code::invalid_argument, "is missing (ExampleFeature::missing gives a default)");
    return Tensor(f.dtype, *shape_of(f, 0));
  }
  if (feature.kind != kind_of(f))
    complain(Code::invalid_argument, "is ", to_string(feature.kind), ", but ",
             f.raw ? "raw bytes of " : "", f.dtype, " is wanted");
  if (!f.raw && !variable(f)) {  // mostly there are as many values as there should be
    auto tensor = tensor_for(f, f.shape);
    if (read_values(feature, tensor, 0, tensor.size())) return tensor;
  }
  auto count = count_values(feature);
  if (count < 0) damaged(record, text("feature '", f.name, "'"));
  std::string_view raw;
  if (f.raw) {
    const auto only = only_string(feature.list);
    if (!only)
      complain(Code::invalid_argument, "has ", count, " strings, but raw bytes are one string");
    raw = *only;
    const auto size = size_of(f.dtype);
    if (raw.size() % size != 0)
      complain(Code::invalid_argument, "has ", raw.size(), " bytes, which are no whole values of ",
               f.dtype);
    count = static_cast<std::int64_t>(raw.size() / size);
  }
  const auto shape = shape_of(f, count);
  if (!shape)
    complain(Code::invalid_argument, "has ", count, count == 1 ? " value" : " values",
             ", but shape ", f.shape, " needs ",
             variable(f) ? std::string("whole rows") : std::to_string(f.shape.volume()));
  auto tensor = tensor_for(f, *shape);
  if (f.raw) {
    if (!raw.empty()) std::memcpy(tensor.mutable_data(), raw.data(), raw.size());
  } else if (!read_values(feature, tensor, 0, count)) {
    damaged(record, text("feature '", f.name, "'"));
  }
  return tensor;
}

Tensor ExampleDecoder::decode_steps(const Record& record, const ExampleFeature& f,
                                    const std::optional<std::string_view>& message) {
  if (!message) {
    if (f.missing) return *f.missing;
    fail(Code::invalid_argument, record.run.place(record.index), ": feature list '", f.name,
         "' is missing (ExampleFeature::missing gives a default)");
  }
  const auto what = [&] { return text("feature list '", f.name, "'"); };
  const auto volume = f.shape.volume();
  // Twice: all steps are checked before there is memory for them.
  std::int64_t steps = 0;
  WireField field;
  WireFeature feature;
  WireReader counting(*message);
  while (counting.next(field)) {
    if (!is_message(field, kStep)) continue;
    if (!parse_feature(field.bytes, feature, joined_)) damaged(record, what());
    const auto count = count_values(feature);
    if (count < 0) damaged(record, what());
    if (count != volume || (count > 0 && feature.kind != kind_of(f)))
      fail(Code::invalid_argument, record.run.place(record.index), ": step ", steps, " of ", what(),
           " is ", to_string(feature.kind), " with ", count, " values, but ", f.dtype, " of shape ",
           f.shape, " is wanted");
    ++steps;
  }
  if (!counting.good()) damaged(record, what());
  Tensor tensor(f.dtype, f.shape.with_first(steps));
  WireReader reading(*message);
  for (std::int64_t step = 0; reading.next(field);) {
    if (!is_message(field, kStep)) continue;
    const bool good = parse_feature(field.bytes, feature, joined_) &&
                      read_values(feature, tensor, volume * step, volume);
    if (!good) damaged(record, what());
    ++step;
  }
  return tensor;
}

void ExampleDecoder::decode(const RecordRun& run, std::size_t i, Element& element) {
  const Record record{run, i};
  const std::string_view bytes(run.begin(i), static_cast<std::size_t>(run.end(i) - run.begin(i)));
  features_.clear();
  steps_.clear();
  WireReader reader(bytes);
  WireField field;
  bool good = true;
  while (good && reader.next(field)) {
    if (is_message(field, kFeatures)) good = features_.parse(field.bytes);
    if (is_message(field, kFeatureLists) && !options_.steps.empty())
      good = steps_.parse(field.bytes);
  }
  if (!good || !reader.good()) damaged(record, "the message");
  for (std::size_t f = 0; f < options_.features.size(); ++f)
    element.push_back(decode_feature(record, options_.features[f], features_[f]));
  for (std::size_t f = 0; f < options_.steps.size(); ++f)
    element.push_back(decode_steps(record, options_.steps[f], steps_[f]));
}

}  // namespace troupe

#include "troupe/actors/summary/event_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "troupe/actors/readers/tfrecord_format.h"
#include "troupe/actors/system_error.h"
#include "troupe/messages/proto/event.pb.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

constexpr std::int32_t kStringType = 7;  // TensorFlow's DT_STRING

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

/// Neighbouring empty buckets become one, as in TensorFlow's own files.
void encode(const Histogram& from, proto::Histogram& to) {
  to.set_min(from.min());
  to.set_max(from.max());
  to.set_num(static_cast<double>(from.count()));
  to.set_sum(from.sum());
  to.set_sum_squares(from.sum_of_squares());
  const auto& limits = Histogram::limits();
  const auto& buckets = from.buckets();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const bool swallowed = buckets[i] == 0 && i + 1 < buckets.size() && buckets[i + 1] == 0;
    if (swallowed) continue;
    to.add_bucket_limit(limits[i]);
    to.add_bucket(static_cast<double>(buckets[i]));
  }
}

proto::Summary::Value& add_value(proto::Event& event, const std::string& tag, std::int64_t step) {
  event.set_step(step);
  auto& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  return value;
}

}  // namespace

EventWriter::EventWriter(const std::string& directory, EventWriterOptions options)
    : options_(std::move(options)), flushed_(options_.now()) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail(Code::unavailable, "cannot create ", directory, ": ", error.message());

  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(flushed_.time_since_epoch()).count();
  const auto name = (std::filesystem::path(directory) /
                     troupe::text("events.out.tfevents.", seconds, ".", host_name()))
                        .string();
  path_ = name;
  for (int twin = 1; file_ < 0; ++twin) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) system_error("create", path_);
    if (file_ < 0) path_ = troupe::text(name, ".", twin);
  }

  proto::Event event;
  event.set_file_version("brain.Event:2");
  write(event);
  flush();
}

EventWriter::~EventWriter() {
  try {
    flush();
  } catch (const Error&) {
  }
  ::close(file_);
}

template <class Event>
void EventWriter::write(Event& event) {
  const auto now = options_.now();
  event.set_wall_time(std::chrono::duration<double>(now.time_since_epoch()).count());
  append_tfrecord(buffer_, event.SerializeAsString());
  if (buffer_.size() >= options_.buffer || now - flushed_ >= options_.flush_every) flush();
}

void EventWriter::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const auto written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      buffer_.erase(0, buffer_.size() - rest.size());
      system_error("write", path_);
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
  flushed_ = options_.now();
}

void EventWriter::scalar(const std::string& tag, std::int64_t step, double value) {
  proto::Event event;
  add_value(event, tag, step).set_simple_value(static_cast<float>(value));
  write(event);
}

void EventWriter::histogram(const std::string& tag, std::int64_t step, const Histogram& values) {
  proto::Event event;
  encode(values, *add_value(event, tag, step).mutable_histo());
  write(event);
}

void EventWriter::text(const std::string& tag, std::int64_t step, const std::string& text) {
  proto::Event event;
  auto& value = add_value(event, tag, step);
  value.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  auto& tensor = *value.mutable_tensor();
  tensor.set_dtype(kStringType);
  tensor.mutable_tensor_shape();
  tensor.add_string_val(text);
  write(event);
}

}  // namespace troupe

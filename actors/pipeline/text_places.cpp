#include "troupe/actors/pipeline/text_places.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "troupe/actors/readers/input_file.h"
#include "troupe/ops/spelling.h"

namespace troupe {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;
constexpr int kDeepest = 32;  // messages in messages; a schema has far fewer

std::vector<std::string> field_names(const Descriptor& descriptor) {
  std::vector<std::string> names;
  for (int i = 0; i < descriptor.field_count(); ++i) names.push_back(descriptor.field(i)->name());
  return names;
}

/// "there is no field 'replcas'; did you mean 'replicas'?", or all names where none is near.
std::string no_such_field(const std::string& name, const Descriptor* descriptor) {
  auto words = text("there is no field '", name, "'");
  if (descriptor == nullptr) return words;
  const auto names = field_names(*descriptor);
  const auto near = suggestion(name, names);
  if (!near.empty()) return words + near;
  std::string all;
  for (const auto& each : names) all += (all.empty() ? "" : ", ") + each;
  return words + "; there are: " + all;
}

std::string_view line_of(std::string_view text, int line) {
  for (; line > 0; --line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// Turns what the text parser says into problems.
class Complaints : public google::protobuf::io::ErrorCollector {
 public:
  Complaints(const std::string& path, const std::string& text, FileProblems& problems)
      : path_(path), text_(text), problems_(problems) {}

  /// The parser gives up after its first error: what follows would only confuse.
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (failed_) return;
    failed_ = true;
    add(line, column, message);
  }

  /// Of a field that is not known, and that the parser passes over.
  void AddWarning(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
    constexpr std::string_view kType = "Message type \"", kField = "\" has no field named \"";
    const auto field = message.find(kField);
    if (failed_ || field == std::string::npos || !message.starts_with(kType)) return;
    if (++unknown_ > kMostUnknown) return;
    const auto type = message.substr(kType.size(), field - kType.size());
    auto name = message.substr(field + kField.size());
    name.resize(std::min(name.find('"'), name.size()));
    // The parser has read on to the token behind the name.
    const auto before = line_of(text_, line).substr(0, static_cast<std::size_t>(column));
    const auto at = before.rfind(name);
    if (at != std::string_view::npos) column = static_cast<int>(at);
    add(line, column,
        no_such_field(
            name, google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type)));
  }

 private:
  static constexpr int kMostUnknown = 20;  // a file of something else has more than anybody reads

  void add(int line, int column, const std::string& words) {
    problems_.add(Code::invalid_argument, text(path_, ':', line + 1, ':', column + 1, ": ", words));
  }

  const std::string& path_;
  const std::string& text_;
  FileProblems& problems_;
  bool failed_ = false;
  int unknown_ = 0;
};

/// Where messages are nested deeper than any schema has them, as "3:17"; the parser would follow
/// with its stack.
std::optional<std::string> too_deep(const std::string& text) {
  int depth = 0, line = 1, column = 0;
  char quote = 0;
  bool comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++column;
    if (c == '\n') {
      ++line;
      column = 0;
      quote = 0;  // a text ends with its line
      comment = false;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      if (c == '\\') ++i, ++column;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++depth > kDeepest) return troupe::text(line, ':', column);
    } else if (c == '}' || c == '>' || c == ']') {
      --depth;
    }
  }
  return std::nullopt;
}

template <class Number>
std::optional<Number> number_from(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

FileSetting parse_file_setting(const std::string& given) {
  const auto equals = given.find('=');
  if (equals == std::string::npos || equals == 0)
    fail(Code::invalid_argument, "a setting looks like replicas=4 or aggregation.policy=async, ",
         "but is '", given, "'");
  return {given.substr(0, equals), given.substr(equals + 1)};
}

struct TextPlaces::State {
  explicit State(std::string name) : path(std::move(name)) {}

  void remember(const Message& message, const TextFormat::ParseInfoTree* tree) {
    if (tree == nullptr) return;
    trees[&message] = tree;
    const auto& reflection = *message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(message, &fields);
    for (const auto* field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
      if (!field->is_repeated()) {
        remember(reflection.GetMessage(message, field), tree->GetTreeForNested(field, -1));
        continue;
      }
      for (int i = 0; i < reflection.FieldSize(message, field); ++i)
        remember(reflection.GetRepeatedMessage(message, field, i),
                 tree->GetTreeForNested(field, i));
    }
  }

  std::string path;
  TextFormat::ParseInfoTree root;
  std::map<const Message*, const TextFormat::ParseInfoTree*> trees;
  std::map<std::pair<const Message*, const FieldDescriptor*>, std::string> set;
};

TextPlaces::TextPlaces(std::string path) : state_(std::make_unique<State>(std::move(path))) {}
TextPlaces::~TextPlaces() = default;

const std::string& TextPlaces::path() const { return state_->path; }

bool TextPlaces::parse(const std::string& text, Message& message, FileProblems& problems) {
  if (const auto place = too_deep(text)) {
    problems.add(Code::invalid_argument,
                 troupe::text(state_->path, ':', *place, ": messages are nested too deep"));
    return false;
  }
  Complaints complaints(state_->path, text, problems);
  TextFormat::Parser parser;
  parser.AllowUnknownField(true);  // to see all of them
  parser.RecordErrorsTo(&complaints);
  parser.WriteLocationsTo(&state_->root);
  const bool whole = parser.ParseFromString(text, &message);
  if (!whole && problems.none())
    problems.add(Code::invalid_argument,
                 troupe::text(state_->path, ":1:1: this is not Protobuf's text format"));
  state_->remember(message, &state_->root);
  return whole;
}

std::string TextPlaces::find(const Message& message, const char* field, int index) const {
  const auto* descriptor = message.GetDescriptor()->FindFieldByName(field);
  if (descriptor == nullptr) return {};
  const auto given = state_->set.find({&message, descriptor});
  if (given != state_->set.end()) return given->second;
  const auto tree = state_->trees.find(&message);
  if (tree == state_->trees.end()) return {};
  if (descriptor->is_repeated()) index = std::max(index, 0);  // all of them: where the first is
  const auto at = tree->second->GetLocation(descriptor, index);
  return at.line < 0 ? std::string() : text(state_->path, ':', at.line + 1, ':', at.column + 1);
}

namespace {

/// "member[1]" or "member[mlp]".
struct Step {
  std::string name;
  std::optional<std::string> index;
};

Step parse_step(const std::string& part) {
  const auto bracket = part.find('[');
  if (bracket == std::string::npos) return {part, std::nullopt};
  if (part.back() != ']')
    fail(Code::invalid_argument, "'", part, "' has a bracket that does not end");
  return {part.substr(0, bracket), part.substr(bracket + 1, part.size() - bracket - 2)};
}

std::vector<Step> parse_path(const std::string& path) {
  std::vector<Step> steps;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const auto end = std::min(path.find('.', begin), path.size());
    steps.push_back(parse_step(path.substr(begin, end - begin)));
    begin = end + 1;
  }
  return steps;
}

const FieldDescriptor& field_of(const Message& message, const std::string& name) {
  const auto& descriptor = *message.GetDescriptor();
  const auto* field = descriptor.FindFieldByName(name);
  if (field == nullptr) fail(Code::invalid_argument, no_such_field(name, &descriptor));
  if (field->is_map())
    fail(Code::invalid_argument, "field '", name, "' can only be given in the file");
  return *field;
}

/// Which value of a repeated field is meant: by number from 0, or by the name of a message.
int index_of(const Message& message, const FieldDescriptor& field, const Step& step) {
  const auto& reflection = *message.GetReflection();
  const auto count = reflection.FieldSize(message, &field);
  if (!step.index)
    fail(Code::invalid_argument, "field '", step.name, "' has ", count,
         " values: say which one, from ", step.name, "[0]");
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const auto* named = field.message_type()->FindFieldByName("name");
    if (named != nullptr && named->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      for (int i = 0; i < count; ++i) {
        const auto& each = reflection.GetRepeatedMessage(message, &field, i);
        if (each.GetReflection()->GetString(each, named) == *step.index) return i;
      }
  }
  const auto number = number_from<int>(*step.index);
  if (!number || *number < 0 || *number >= count)
    fail(Code::invalid_argument, "there is no ", step.name, '[', *step.index, "]; the file has ",
         count);
  return *number;
}

Message& inner(Message& message, const Step& step) {
  const auto& field = field_of(message, step.name);
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    fail(Code::invalid_argument, "field '", step.name, "' is a value: nothing is inside");
  if (field.is_repeated())
    return *reflection.MutableRepeatedMessage(&message, &field, index_of(message, field, step));
  if (step.index) fail(Code::invalid_argument, "field '", step.name, "' has one value");
  return *reflection.MutableMessage(&message, &field);
}

template <class Number, class Put>
void put_number(const FieldDescriptor& field, const std::string& value, const char* kind, Put put) {
  const auto number = number_from<Number>(value);
  if (!number)
    fail(Code::invalid_argument, "field '", field.name(), "' is ", kind, ", but not '", value, "'");
  put(*number);
}

/// Sets one value: of a repeated field the one at `index`.
void put(Message& message, const FieldDescriptor& field, int index, const std::string& value) {
  const auto& r = *message.GetReflection();
  const auto whole = [&](auto plain, auto repeated) {
    return [&, plain, repeated](auto number) {
      if (field.is_repeated())
        (r.*repeated)(&message, &field, index, number);
      else
        (r.*plain)(&message, &field, number);
    };
  };
  using Reflection = google::protobuf::Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return put_number<std::int64_t>(field, value, "a whole number",
                                      whole(&Reflection::SetInt64, &Reflection::SetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put_number<std::uint64_t>(
          field, value, "a whole number from 0",
          whole(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put_number<double>(field, value, "a number",
                                whole(&Reflection::SetDouble, &Reflection::SetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_BOOL:
      if (value != "true" && value != "false")
        fail(Code::invalid_argument, "field '", field.name(), "' is true or false, but not '",
             value, "'");
      return whole(&Reflection::SetBool, &Reflection::SetRepeatedBool)(value == "true");
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* meant = field.enum_type()->FindValueByName(value);
      if (meant == nullptr)
        fail(Code::invalid_argument, "field '", field.name(), "' cannot be '", value, "'");
      return r.SetEnum(&message, &field, meant);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.is_repeated()) return r.SetRepeatedString(&message, &field, index, value);
      return r.SetString(&message, &field, value);
    default:
      fail(Code::invalid_argument, "field '", field.name(),
           "' holds fields: say which one is meant, ", field.name(), ".NAME=VALUE");
  }
}

}  // namespace

void TextPlaces::set(const FileSetting& setting, Message& message, FileProblems& problems) {
  const auto place = text("--set ", setting.path, '=', setting.value);
  try {
    const auto steps = parse_path(setting.path);
    auto* within = &message;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) within = &inner(*within, steps[i]);
    const auto& field = field_of(*within, steps.back().name);
    const auto index = field.is_repeated() ? index_of(*within, field, steps.back()) : -1;
    if (!field.is_repeated() && steps.back().index)
      fail(Code::invalid_argument, "field '", field.name(), "' has one value");
    put(*within, field, index, setting.value);
    state_->set[{within, &field}] = place;
  } catch (const Error& error) {
    problems.add(error.code(), text(place, ": ", error.what()));
  }
}

std::string read_small_file(const std::string& path) {
  InputFile file(path);
  std::string text(kMaxFileBytes + 1, '\0');
  text.resize(file.read(text.data(), text.size()));
  if (text.size() > kMaxFileBytes)
    fail(Code::resource_exhausted, path, ": such a file has at most ", kMaxFileBytes, " bytes");
  return text;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace troupe

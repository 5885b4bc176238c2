#include "troupe/actors/checkpoint/safetensors.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/messages/crc32c.h"

namespace troupe {
namespace {

using test::error_of;
using test::IsError;
using testing::AllOf;
using testing::HasSubstr;

/// A file with this header and this many bytes of values.
std::string file_of(const std::string& header, std::size_t values) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(values, '\0');
}

class Safetensors : public testing::Test {
 protected:
  /// The error of opening a file with these bytes.
  Error refusal(const std::string& bytes) {
    test::write_file(path, bytes);
    return error_of([&] { SafetensorsFile file(path); });
  }
  Error refusal_of_header(const std::string& header, std::size_t values = 0) {
    return refusal(file_of(header, values));
  }

  test::TemporaryDirectory directory;
  const std::string path = directory / "weights.safetensors";
};

TEST_F(Safetensors, GivesBackWhatWasWritten) {
  const std::vector<NamedTensor> written{
      {"conv1/weights", Tensor::of<float>({2, 2}, {1, -2, 3.5f, 1e-30f})},
      {"step", Tensor::scalar<std::int64_t>(-7)},
      {"mask", Tensor::of<bool>({3}, {true, false, true})},
      {"half", Tensor::of<bfloat16>({1}, {to_bfloat16(1.5f)})},
      {"nothing", Tensor(DType::float64, {0, 3})},
      {"name with \"quotes\" and \u00fc", Tensor::of<std::uint8_t>({1}, {9})},
  };
  write_safetensors(path, written, {{"step", "7"}});

  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), (Metadata{{"step", "7"}}));
  EXPECT_EQ(file.entries().size(), written.size());
  for (const auto& one : written)
    EXPECT_TRUE(same_bits(file.read(one.name), one.value)) << one.name;
}

TEST_F(Safetensors, ReadsWhatPythonWrites) {
  const SafetensorsFile file(TROUPE_TEST_DATA "/from_python.safetensors");
  EXPECT_EQ(file.metadata(), (Metadata{{"made by", "Python"}}));
  for (const auto* name : {"f64", "f32", "bf16", "f16", "i8", "i16", "i32", "i64", "u8", "bool"}) {
    const auto values = file.read(name);
    ASSERT_EQ(values.shape(), (Shape{2, 3})) << name;
    const double last = values.dtype() == DType::boolean ? 1 : 127;
    EXPECT_EQ(values.at(0), 0) << name;
    EXPECT_EQ(values.at(1), 1) << name;
    EXPECT_EQ(values.at(5), last) << name;
  }
  EXPECT_EQ(file.read("scalar").item(), 1.5);
  EXPECT_EQ(file.read("empty").shape(), (Shape{0, 4}));
}

TEST_F(Safetensors, AlignsEveryTensorAndWritesEqualFilesForEqualTensors) {
  const NamedTensor bytes{"a", Tensor::of<std::uint8_t>({3}, {1, 2, 3})};
  const NamedTensor doubles{"b", Tensor::of<double>({2}, {1, 2})};
  const NamedTensor floats{"c", Tensor::of<float>({1}, {1})};
  write_safetensors(path, std::vector{bytes, doubles, floats});
  const SafetensorsFile file(path);
  for (const auto& entry : file.entries()) EXPECT_EQ(entry.begin % size_of(entry.dtype), 0u);

  const auto other = directory / "other.safetensors";
  write_safetensors(other, std::vector{floats, doubles, bytes});
  EXPECT_EQ(test::read_file(path), test::read_file(other));
}

TEST_F(Safetensors, SaysTheChecksumOfEachTensor) {
  const std::vector<NamedTensor> written{
      {"small", Tensor::of<std::uint8_t>({9}, {49, 50, 51, 52, 53, 54, 55, 56, 57})},
      {"large", Tensor::of<double>({1}, {2})}};
  const auto result = write_safetensors(path, written);
  EXPECT_EQ(result.crc32cs[0], 0xe3069283u);  // of "123456789"
  EXPECT_EQ(result.crc32cs[1], crc32c(written[1].value.data(), 8));
  EXPECT_EQ(result.bytes, SafetensorsFile(path).bytes());
}

TEST_F(Safetensors, LeaveNothingBehindWhenTheyCannotBeWritten) {
  const auto one = Tensor::scalar(1.0f);
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, std::vector<NamedTensor>{{"w", one}, {"w", one}});
              }),
              IsError(Code::invalid_argument, HasSubstr("tensor name 'w' is used twice")));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, std::vector<NamedTensor>{{"__metadata__", one}});
              }),
              IsError(Code::invalid_argument, HasSubstr("reserved by the format")));
  EXPECT_THAT(error_of([&] {
                write_safetensors(path, std::vector<NamedTensor>{{"\xff", one}});
              }),
              IsError(Code::invalid_argument, HasSubstr("not valid UTF-8")));
  EXPECT_THAT(
      error_of([&] {
        write_safetensors(path, std::vector<NamedTensor>{{"s", Tensor(DType::string, {1})}});
      }),
      IsError(Code::invalid_argument, HasSubstr("tensor 's' has dtype string")));
  EXPECT_THAT(error_of([&] { write_safetensors(directory / "no/w", std::vector<NamedTensor>{}); }),
              IsError(Code::not_found, HasSubstr("no/w.tmp: No such file or directory")));
  EXPECT_TRUE(directory.files().empty());
}

/// While it lives, this process cannot write files above a size: the nearest to a full disk.
class SmallFilesOnly {
 public:
  explicit SmallFilesOnly(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFilesOnly() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST_F(Safetensors, LeaveWhatWasThereWhenTheDiskIsFull) {
  write_safetensors(path, std::vector<NamedTensor>{{"w", Tensor::scalar(1.0f)}});
  {
    const SmallFilesOnly limit(1 << 20);
    const std::vector<NamedTensor> large{{"w", Tensor(DType::float32, {1 << 20})}};
    EXPECT_THAT(error_of([&] { write_safetensors(path, large); }),
                IsError(Code::resource_exhausted, HasSubstr("cannot write " + path + ".tmp")));
  }
  EXPECT_THAT(directory.files(), testing::ElementsAre("weights.safetensors"));
  EXPECT_EQ(SafetensorsFile(path).read("w").item(), 1);
}

TEST_F(Safetensors, SayWhichTensorsThereAreWhenOneIsNot) {
  write_safetensors(path, std::vector<NamedTensor>{{"w", Tensor::scalar(1.0f)}});
  EXPECT_THAT(error_of([&] { SafetensorsFile(path).read("v"); }),
              IsError(Code::not_found, HasSubstr("no tensor 'v'; it has: w")));
}

TEST_F(Safetensors, AreRefusedWhenTheyAreCutShortAnywhere) {
  write_safetensors(path, std::vector<NamedTensor>{{"w", Tensor::of<float>({3}, {1, 2, 3})}});
  const auto whole = test::read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_THAT(refusal(whole.substr(0, size)), IsError(Code::data_loss, HasSubstr(path)))
        << size << " bytes";
  EXPECT_THAT(refusal(whole + "x"), IsError(Code::data_loss, HasSubstr("the tensors end at byte")));
}

TEST_F(Safetensors, AreRefusedWhenTheyShrinkWhileTheyAreOpen) {
  write_safetensors(path, std::vector<NamedTensor>{{"w", Tensor::of<float>({3}, {1, 2, 3})}});
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, file.bytes() - 4);
  EXPECT_THAT(error_of([&] { file.read("w"); }),
              IsError(Code::data_loss, HasSubstr("tensor 'w' ends too early")));
}

TEST_F(Safetensors, AreRefusedWithAnAbsurdHeader) {
  const std::string huge = std::string(7, '\xff') + "\x7f";
  EXPECT_THAT(refusal(huge + "{}"),
              IsError(Code::data_loss, HasSubstr("cut short or not safetensors")));
  EXPECT_THAT(refusal_of_header("not JSON"), IsError(Code::data_loss, HasSubstr("is not JSON")));
  EXPECT_THAT(refusal_of_header("[1]"), IsError(Code::data_loss, HasSubstr("not a JSON object")));
  EXPECT_THAT(refusal_of_header(std::string(100'000, '[')),
              IsError(Code::data_loss, HasSubstr("nested too deeply")));
  EXPECT_THAT(refusal_of_header(R"({"w": 1})"),
              IsError(Code::data_loss, HasSubstr("tensor 'w': its description is not an object")));
  EXPECT_THAT(refusal_of_header(R"({"__metadata__": {"step": 1}})"),
              IsError(Code::data_loss, HasSubstr("'step' is not a string")));
  EXPECT_THAT(refusal_of_header(R"({"w": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                                    "w": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})",
                                2),
              IsError(Code::data_loss, HasSubstr("has 'w' twice")));
}

TEST_F(Safetensors, AreRefusedWithAnAbsurdTensor) {
  const auto described = [&](const std::string& dtype, const std::string& shape,
                             const std::string& offsets) {
    return refusal_of_header("{\"w\": {\"dtype\": \"" + dtype + "\", \"shape\": " + shape +
                                 ", \"data_offsets\": " + offsets + "}}",
                             8);
  };
  const auto expect_refused = [&](const Error& error, const std::string& words) {
    EXPECT_THAT(error, IsError(Code::data_loss,
                               AllOf(HasSubstr(path), HasSubstr("tensor 'w'"), HasSubstr(words))));
  };
  expect_refused(described("F32", "[1]", "[0, 8]"), "float32 [1] needs 4 bytes, but has 8");
  expect_refused(described("F32", "[2]", "[0, 12]"), "bytes 0 to 12 of the 8");
  expect_refused(described("F32", "[2]", "[8, 0]"), "bytes 8 to 0 of the 8");
  expect_refused(described("F32", "[2]", "[-8, 0]"), "not a list of whole numbers");
  expect_refused(described("F32", "[2]", "[0]"), "data_offsets has 1 numbers, not 2");
  expect_refused(described("F32", "[-2]", "[0, 8]"), "not a list of whole numbers");
  expect_refused(described("F32", "[0.5]", "[0, 8]"), "not a list of whole numbers");
  expect_refused(described("F32", "2", "[0, 8]"), "its shape is not a list");
  expect_refused(described("F32", "[18446744073709551615]", "[0, 8]"), "is absurd");
  expect_refused(described("F32", "[4294967296, 4294967296]", "[0, 0]"), "larger than any file");
  expect_refused(described("F32", "[1, 1, 1, 1, 1, 1, 1, 1, 2]", "[0, 8]"), "axes");
  expect_refused(described("U8", "[4]", "[4, 8]"), "after a gap");
  EXPECT_THAT(
      described("C64", "[1]", "[0, 8]"),
      IsError(Code::unimplemented, HasSubstr("tensor 'w' has dtype C64; Troupe reads F32")));
  EXPECT_THAT(refusal_of_header(R"({"w": {"shape": [1], "data_offsets": [0, 1]}})", 1),
              IsError(Code::data_loss, HasSubstr("its dtype is missing")));
}

TEST_F(Safetensors, AreRefusedWhenTensorsOverlapOrLeaveGaps) {
  const std::string first = R"({"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, )";
  EXPECT_THAT(refusal_of_header(
                  first + R"("b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}})", 6),
              IsError(Code::data_loss, HasSubstr("tensor 'b' begins at byte")));
  EXPECT_THAT(refusal_of_header(
                  first + R"("b": {"dtype": "U8", "shape": [1], "data_offsets": [5, 6]}})", 6),
              IsError(Code::data_loss, HasSubstr("after a gap")));
}

TEST_F(Safetensors, AreRefusedWithABoolThatIsNeitherTrueNorFalse) {
  auto bytes = file_of(R"({"b": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}})", 1);
  bytes.back() = 2;
  test::write_file(path, bytes);
  EXPECT_THAT(error_of([&] { SafetensorsFile(path).read("b"); }),
              IsError(Code::data_loss, HasSubstr("neither true nor false")));
}

TEST_F(Safetensors, AreRegularFiles) {
  EXPECT_THAT(error_of([&] { SafetensorsFile file(directory.path()); }),
              IsError(Code::invalid_argument, HasSubstr("not a regular file")));
  EXPECT_THAT(error_of([&] { SafetensorsFile file(path); }),
              IsError(Code::not_found, HasSubstr("cannot open " + path)));
}

/// python3, or what TROUPE_PYTHON names, when it can import safetensors.
std::string python_with_safetensors() {
  const char* named = std::getenv("TROUPE_PYTHON");
  const std::string python = named ? named : "python3";
  const auto probe = python + " -c 'import safetensors.numpy' 2> /dev/null";
  return std::system(probe.c_str()) == 0 ? python : "";
}

TEST_F(Safetensors, AreReadByPython) {
  const auto python = python_with_safetensors();
  if (python.empty()) GTEST_SKIP() << "no python3 with safetensors (TROUPE_PYTHON names another)";
  write_safetensors(path,
                    std::vector<NamedTensor>{
                        {"conv1/weights", Tensor::of<float>({2, 2}, {1, -2, 3.5f, 0.25f})},
                        {"f64", Tensor::of<double>({1}, {0.1})},
                        {"f16", Tensor::of<float16>({1}, {to_float16(1.5f)})},
                        {"i8", Tensor::of<std::int8_t>({2}, {-128, 127})},
                        {"i16", Tensor::of<std::int16_t>({1}, {-300})},
                        {"i32", Tensor::of<std::int32_t>({1}, {-70000})},
                        {"i64", Tensor::scalar<std::int64_t>(1LL << 40)},
                        {"u8", Tensor::of<std::uint8_t>({3}, {0, 1, 255})},
                        {"bool", Tensor::of<bool>({2}, {true, false})},
                        {"empty", Tensor(DType::float32, {0, 3})},
                    },
                    {{"step", "7"}});
  const auto script = directory / "check.py";
  test::write_file(script, R"(
import sys
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

expected = {
    "conv1/weights": np.array([[1, -2], [3.5, 0.25]], np.float32),
    "f64": np.array([0.1]),
    "f16": np.array([1.5], np.float16),
    "i8": np.array([-128, 127], np.int8),
    "i16": np.array([-300], np.int16),
    "i32": np.array([-70000], np.int32),
    "i64": np.array(1 << 40, np.int64),
    "u8": np.array([0, 1, 255], np.uint8),
    "bool": np.array([True, False]),
    "empty": np.zeros((0, 3), np.float32),
}
found = load_file(sys.argv[1])
assert found.keys() == expected.keys(), found.keys()
for name, value in expected.items():
    assert found[name].dtype == value.dtype, name
    assert found[name].shape == value.shape, name
    assert np.array_equal(found[name], value), name
with safe_open(sys.argv[1], "numpy") as file:
    assert file.metadata() == {"step": "7"}, file.metadata()
)");
  EXPECT_EQ(std::system((python + " " + script + " " + path).c_str()), 0);
}

}  // namespace
}  // namespace troupe

#include "support/reference_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "support/temporary_directory.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReferenceFile : public testing::Test {
 protected:
  std::vector<ReferenceCase> read(const std::string& content) {
    const auto path = directory_ / "reference_file_test.txt";
    std::ofstream(path) << content;
    return read_references(path);
  }

  std::string complaint(const std::string& content) {
    try {
      read(content);
    } catch (const Error& error) {
      return error.what();
    }
    return "no complaint";
  }

  TemporaryDirectory directory_;  // of its own: other tests run at the same time
};

TEST_F(ReferenceFile, HoldsAttributesAndTensorsOfEachCase) {
  const auto cases = read(
      "case pad float32_2x1 value=-0.5 paddings=0,1,2,-1 same=true\n"
      "tensor in0 float32 2x1 : 0.1 -inf\n"
      "tensor in1 int64 scalar : 9007199254740993\n"
      "tensor in3 bool 0x3 :\n"
      "end\n"
      "case neg again\n"
      "tensor out0 float64 1 : nan\n"
      "end\n");
  ASSERT_EQ(cases.size(), 2u);
  const auto& pad = cases[0];
  EXPECT_EQ(pad.op, "pad");
  EXPECT_EQ(pad.name, "float32_2x1");
  EXPECT_EQ(pad.number("value"), -0.5);
  EXPECT_TRUE(pad.flag("same"));
  EXPECT_THAT(pad.integers("paddings"), ElementsAre(0, 1, 2, -1));
  EXPECT_THAT(pad.tensor("in0").read<float>(), ElementsAre(0.1f, -INFINITY));
  EXPECT_EQ(pad.tensor("in1").shape(), Shape{});
  EXPECT_EQ(pad.tensor("in1").read<std::int64_t>()[0], 9007199254740993);
  EXPECT_EQ(pad.tensor("in3").shape(), (Shape{0, 3}));
  EXPECT_EQ(pad.list("in").size(), 2u) << "a list ends at the first gap";
  EXPECT_TRUE(std::isnan(cases[1].tensor("out0").item()));
}

TEST_F(ReferenceFile, NamesTheCaseThatLacksSomething) {
  const auto cases = read("case pad a\nend\n");
  try {
    cases[0].tensor("in0");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.what(), HasSubstr(".txt:1: case pad a has no tensor in0"));
  }
}

TEST_F(ReferenceFile, NamesTheLineThatBreaksTheFormat) {
  EXPECT_THAT(complaint("case a b\ntensor x float32 2 : 1\nend\n"),
              HasSubstr(":2: tensor x of shape [2] has 1 values"));
  EXPECT_THAT(complaint("case a b\ntensor x float32 1 : 1,5\nend\n"),
              HasSubstr(":2: '1,5' is not a value"));
  EXPECT_THAT(complaint("case a b\n"), HasSubstr(":1: the file ends inside case a b"));
  EXPECT_THAT(complaint("tensor x float32 1 : 1\n"), HasSubstr("where a case belongs"));
  EXPECT_THAT(complaint("case a b key\nend\n"), HasSubstr("'key' is not key=value"));
}

TEST_F(ReferenceFile, SaysThatAFileIsMissing) {
  EXPECT_THROW(read_references("no/such/file.txt"), Error);
}

TEST(References, OfTheRepositoryAreReadable) {
  for (const auto* family :
       {"array", "conv", "elementwise_binary", "elementwise_unary", "losses", "matmul",
        "moving_averages", "normalization", "optimizers", "pool", "reductions", "schedules"}) {
    const auto cases = read_references(std::string(TROUPE_TEST_DATA "/") + family + ".txt");
    EXPECT_FALSE(cases.empty()) << family;
    for (const auto& reference : cases) EXPECT_GE(reference.tensors.size(), 2u) << reference;
  }
}

}  // namespace
}  // namespace troupe::test

#include "troupe/messages/tensor_codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/message_of.h"
#include "troupe/messages/proto/tensor.pb.h"

namespace troupe::test {
namespace {

proto::Tensor encoded(const Tensor& tensor, TensorForm form = TensorForm::bytes) {
  proto::Tensor message;
  encode_tensor(tensor, message, form);
  return message;
}

TEST(TensorCodec, GivesBackEveryDtypeBitForBit) {
  const std::vector<Tensor> tensors{
      Tensor::of<float>({2, 2}, {1, -0.f, 0.1f, std::numeric_limits<float>::infinity()}),
      Tensor::of<double>({1}, {0.1}),
      Tensor::of<std::int8_t>({2}, {-128, 127}),
      Tensor::of<std::int16_t>({1}, {-32768}),
      Tensor::of<std::int32_t>({}, {7}),
      Tensor::of<std::int64_t>({2}, {INT64_MIN, INT64_MAX}),
      Tensor::of<std::uint8_t>({1}, {255}),
      Tensor::of<bool>({2}, {true, false}),
      Tensor::of<bfloat16>({1}, {to_bfloat16(1.5f)}),
      Tensor::of<float16>({1}, {to_float16(1.5f)}),
      Tensor::of<std::string>({3}, {"", "word", std::string("\0\xff", 2)}),
      Tensor(DType::float32, {0, 3}),
  };
  for (const auto form : {TensorForm::bytes, TensorForm::readable})
    for (const auto& tensor : tensors)
      EXPECT_TRUE(same_bits(decode_tensor(encoded(tensor, form)), tensor)) << tensor;
}

TEST(TensorCodec, WritesSmallTensorsAsNumbersThatPeopleRead) {
  const auto small = Tensor::of<float>({2}, {0.5, 3});
  EXPECT_EQ(encoded(small, TensorForm::readable).numbers_size(), 2);
  EXPECT_TRUE(encoded(small, TensorForm::readable).values().empty());
  const auto inexact = Tensor::of<std::int64_t>({1}, {(std::int64_t{1} << 53) + 1});
  EXPECT_EQ(encoded(inexact, TensorForm::readable).numbers_size(), 0);
}

class HostileTensor : public testing::Test {
 protected:
  std::string complaint() {
    return message_of([&] { decode_tensor(message); });
  }
  proto::Tensor message = encoded(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
};

TEST_F(HostileTensor, HasAnotherNumberOfValuesThanItsShape) {
  message.mutable_values()->pop_back();
  EXPECT_EQ(complaint(), "a tensor of float32 cannot have 15 bytes");
  message.mutable_values()->resize(12);
  EXPECT_EQ(complaint(), "a tensor float32 [2, 2] has 4 values, but 3 values are given");
  message.add_numbers(1);
  EXPECT_EQ(complaint(), "a tensor float32 [2, 2] has 4 values, but 1 numbers are given");
  message.set_dtype("string");
  EXPECT_EQ(complaint(), "a tensor string [2, 2] has 4 values, but 0 strings are given");
}

TEST_F(HostileTensor, IsRefusedBeforeMemoryIsTakenForIt) {
  message.set_shape(0, std::int64_t{1} << 50);
  EXPECT_EQ(complaint(),
            "a tensor float32 [1125899906842624, 2] has 2251799813685248 values, but 4 values are "
            "given");
  message.set_shape(1, std::int64_t{1} << 50);
  EXPECT_EQ(complaint(),
            "shape [1125899906842624, 1125899906842624] has more values than 63 bits can count");
}

TEST_F(HostileTensor, HasAShapeThatIsNone) {
  message.set_shape(0, -1);
  EXPECT_EQ(complaint(), "a tensor cannot have the shape [?, 2]");
  message.set_shape(0, -2);
  EXPECT_EQ(complaint(), "an extent is 0 or more, or -1 when it is not known, but -2 was given");
  for (int i = 0; i < 9; ++i) message.add_shape(1);
  EXPECT_EQ(complaint(), "a shape has at most 8 axes, but 11 were given");
}

TEST_F(HostileTensor, HasValuesThatItsDtypeDoesNotHave) {
  message = encoded(Tensor::of<bool>({1}, {true}));
  message.set_values("\2");
  EXPECT_EQ(complaint(), "a tensor of bool has a byte that is neither 0 nor 1");
  message.add_numbers(0.5);
  EXPECT_EQ(complaint(), "the number 0.5 is not a value of bool");
  message.set_dtype("int32");
  for (const double bad : {0.5, 1e10, -1e300, std::numeric_limits<double>::quiet_NaN()}) {
    message.set_numbers(0, bad);
    EXPECT_EQ(complaint(), text("the number ", bad, " is not a value of int32"));
  }
  message.set_dtype("float99");
  EXPECT_NE(complaint().find("no dtype is called 'float99'"), std::string::npos);
}

}  // namespace
}  // namespace troupe::test

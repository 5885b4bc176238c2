#include "troupe/ops/device_spec.h"

#include <gtest/gtest.h>

#include "support/message_of.h"

namespace troupe {
namespace {

using test::message_of;

std::string again(std::string_view name) { return to_string(DeviceSpec::parse(name)); }

std::string both(std::string_view a, std::string_view b, bool soft = false) {
  return to_string(merged_for_both(DeviceSpec::parse(a), DeviceSpec::parse(b), soft));
}

std::string complaint(std::string_view name) {
  return message_of([&] { DeviceSpec::parse(name); });
}

// The expected values of this file are those of TensorFlow 1.15's rules.

TEST(DeviceSpec, IsSpelledAsInTensorFlow) {
  EXPECT_EQ(again("/job:hello/replica:1/task:2/device:CPU:3"),
            "/job:hello/replica:1/task:2/device:CPU:3");
  EXPECT_EQ(again("/cpu:0"), "/device:CPU:0");
  EXPECT_EQ(again("/GPU:1"), "/device:GPU:1");
  EXPECT_EQ(again("/device:gpu:1"), "/device:GPU:1");
  EXPECT_EQ(again("/device:myspecialdevice:13"), "/device:myspecialdevice:13");
  EXPECT_EQ(again("/job:foo_bar"), "/job:foo_bar");
  EXPECT_EQ(again(""), "");
  EXPECT_EQ(again("/"), "");
}

TEST(DeviceSpec, TakesItsPartsInAnyOrder) {
  EXPECT_EQ(again("/gpu:*/job:work/replica:4"), "/job:work/replica:4/device:GPU:*");
  EXPECT_EQ(again("/job:foo/cpu:1/task:2/replica:1"), "/job:foo/replica:1/task:2/device:CPU:1");
}

TEST(DeviceSpec, ReadsAStarAsNotSet) {
  const auto spec = DeviceSpec::parse("/job:*/replica:4/task:*/gpu:*");
  EXPECT_FALSE(spec.job);
  EXPECT_EQ(spec.replica, 4);
  EXPECT_FALSE(spec.task);
  EXPECT_EQ(spec.type, "GPU");
  EXPECT_FALSE(spec.index);
  EXPECT_EQ(to_string(spec), "/replica:4/device:GPU:*");
  EXPECT_EQ(again("/gpu"), "/device:GPU:*");
}

TEST(DeviceSpec, RoundTripsEveryCombinationOfParts) {
  const std::string parts[] = {"/job:foo", "/replica:3", "/task:2", "/device:CPU:3"};
  for (unsigned set = 0; set < 16; ++set) {
    std::string name;
    for (unsigned i = 0; i < 4; ++i)
      if (set >> i & 1) name += parts[i];
    EXPECT_EQ(again(name), name);
  }
}

TEST(DeviceSpec, SaysWhatIsNoDevice) {
  EXPECT_EQ(complaint("/foo:0"),
            "Unknown attribute: 'foo' in '/foo:0'; a device is called "
            "/job:<name>/replica:<n>/task:<n>/device:<TYPE>:<n>, of which parts may be left out");
  EXPECT_EQ(complaint("/cpu:0/gpu:1"), "Cannot specify multiple device types: /cpu:0/gpu:1");
  EXPECT_EQ(complaint("/job:123"),
            "the job in '/job:123' must be letters, digits and _, a letter first, or *, but is "
            "'123'");
  EXPECT_EQ(complaint("/task:-2"),
            "the task in '/task:-2' must be a number from 0, or *, but is '-2'");
  for (const auto* wrong : {"foobar", "/gpu:", "/device:gpu:", "/replica:-1", "/bar:3",
                            "/gpu:3/extra", "/device:CPU", "/job", "/task:99999999999", "/cpu:0x1"})
    EXPECT_NE(complaint(wrong), "no error") << wrong;
}

TEST(DeviceSpec, LetsTheInnerOfTwoScopesWin) {
  const auto inner = [](std::string_view outside, std::string_view inside) {
    return to_string(merged(DeviceSpec::parse(outside), DeviceSpec::parse(inside)));
  };
  EXPECT_EQ(inner("/job:worker", "/cpu:1"), "/job:worker/device:CPU:1");
  EXPECT_EQ(inner("/job:worker/task:1/gpu:0", "/task:2/cpu:3"), "/job:worker/task:2/device:CPU:3");
  EXPECT_EQ(inner("/cpu:3", "/gpu:*"), "/device:GPU:3") << "part by part";
  EXPECT_EQ(inner("/cpu:3", ""), "/device:CPU:3");
}

TEST(DeviceSpec, MergesWhatColocatedNodesAskFor) {
  EXPECT_EQ(both("", ""), "");
  EXPECT_EQ(both("/job:work/replica:1", "/task:2/cpu:*"),
            "/job:work/replica:1/task:2/device:CPU:*");
  EXPECT_EQ(both("/cpu:*", "/cpu:1"), "/device:CPU:1");
  EXPECT_EQ(both("/gpu:1", "/gpu:1"), "/device:GPU:1");
}

TEST(DeviceSpec, CannotMergeWhatDiffers) {
  const auto refusal = [](std::string_view a, std::string_view b, bool soft = false) {
    return message_of([&] { both(a, b, soft); });
  };
  EXPECT_EQ(refusal("/job:foo", "/job:bar"),
            "Cannot merge devices with incompatible jobs: '/job:foo' and '/job:bar'");
  EXPECT_EQ(refusal("/replica:0", "/replica:1"),
            "Cannot merge devices with incompatible replicas: '/replica:0' and '/replica:1'");
  EXPECT_EQ(refusal("/task:0", "/task:1"),
            "Cannot merge devices with incompatible tasks: '/task:0' and '/task:1'");
  EXPECT_EQ(refusal("/gpu:*", "/cpu:*"),
            "Cannot merge devices with incompatible types: '/device:GPU:*' and '/device:CPU:*'");
  EXPECT_EQ(refusal("/cpu:0", "/cpu:1"),
            "Cannot merge devices with incompatible ids: '/device:CPU:0' and '/device:CPU:1'");
  EXPECT_NE(refusal("/job:foo", "/job:bar", true), "no error") << "soft or not";
}

TEST(DeviceSpec, LeavesTypeAndIndexOpenInSoftPlacement) {
  EXPECT_EQ(both("/gpu:0", "/cpu:0", true), "");
  EXPECT_EQ(both("/job:a/gpu:1", "/gpu:2", true), "/job:a/device:GPU:*");
  EXPECT_EQ(both("/task:1/gpu:1", "/cpu:2", true), "/task:1");
}

TEST(DeviceSpec, MatchesDevicesThatHaveAllItsParts) {
  const auto matching = [](std::string_view wanted) {
    return matches(DeviceSpec::parse(wanted),
                   DeviceSpec::parse("/job:work/replica:1/task:2/gpu:3"));
  };
  for (const auto* wanted : {"", "/job:*", "/job:work/gpu:*", "/task:2", "/gpu:3"})
    EXPECT_TRUE(matching(wanted)) << wanted;
  for (const auto* wanted : {"/cpu:*", "/gpu:2", "/job:work/task:0", "/job:worker"})
    EXPECT_FALSE(matching(wanted)) << wanted;
}

}  // namespace
}  // namespace troupe

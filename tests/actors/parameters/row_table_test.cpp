#include "troupe/actors/parameters/row_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/parameters/parameter_store.h"
#include "troupe/ops/memory.h"
#include "troupe/ops/random.h"

namespace troupe {
namespace {

using ::testing::ElementsAre;

Tensor random_values(const Shape& shape, std::uint64_t seed) {
  RandomStream random(seed);
  Tensor values(DType::float32, shape);
  for (auto& value : values.write<float>()) value = static_cast<float>(random.normal());
  return values;
}

/// All rows one below the other.
Tensor whole(const RowTable& table) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < table.rows(); ++i) ids.push_back(i);
  return table.read(ids);
}

TEST(RowTable, HoldsTheValuesItWasMadeOfInSeveralBlocks) {
  const auto values = random_values({3000, 17}, 1);
  const RowTable table(values);
  EXPECT_GT(table.blocks().size(), 3u);
  EXPECT_TRUE(same_bits(whole(table), values));
  EXPECT_TRUE(same_bits(table.read({2999, 0}).row(0), values.row(2999)));
}

TEST(RowTable, LeavesACopyAsItWasAndSharesWhatIsNotWritten) {
  RowTable table(random_values({3000, 17}, 1));
  const auto before = whole(table);
  const auto snapshot = table;
  reinterpret_cast<float*>(table.row(1234))[3] = 7;
  EXPECT_TRUE(same_bits(whole(snapshot), before));
  EXPECT_EQ(table.read({1234}).read<float>()[3], 7);
  int shared = 0;
  for (std::size_t i = 0; i < table.blocks().size(); ++i)
    shared += table.blocks()[i].data() == snapshot.blocks()[i].data();
  EXPECT_EQ(shared + 1, static_cast<int>(table.blocks().size()));
}

TEST(RowTable, TakesMemoryForRowsThatWereWrittenAlone) {
  const auto before = memory_use().live;
  RowTable table(DType::float32, {std::int64_t{1} << 24, 16}, 0.5);  // 1 GiB
  table.row(5'000'000);
  EXPECT_LT(memory_use().live - before, std::size_t{1} << 20);
  EXPECT_EQ(table.read({16'777'215}).read<float>()[15], 0.5f);
}

TEST(RowTable, TakesOverRowsAcrossBlocks) {
  RowTable table(DType::float32, {3000, 17}, 0);
  const auto values = random_values({2500, 17}, 2);
  table.assign(321, values);
  EXPECT_TRUE(same_bits(whole(table).slice(321, 2821), values));
  EXPECT_EQ(table.read({320}).read<float>()[0], 0);
  EXPECT_EQ(table.read({2821}).read<float>()[0], 0);
}

// ---- tables in a store -----------------------------------------------------------------------

GradientSet sparse_set(std::vector<std::int64_t> ids, const Tensor& rows) {
  GradientSet set;
  GradientPart part;
  part.kind = PartKind::sparse_gradient;
  part.variable = "t";
  part.indices = Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids);
  part.values = rows;
  set.parts.push_back(part);
  return set;
}

TEST(ATableInAStore, IsUpdatedLikeATensorByEveryOptimizer) {
  const Shape shape{900, 40};
  const auto start = random_values(shape, 3);
  for (const auto* rule : {"sgd", "momentum(0.9)", "nesterov(0.9)", "adagrad(0.1)",
                           "adam(0.9, 0.999, 1e-8, lazy)", "adam", "rmsprop(0.9, 0.5)"})
    for (const double decay : {0.0, 0.99}) {
      const auto optimizer = parse_optimizer(rule);
      ParameterStore tensor("a", {{"t", start, true}}, optimizer, 0.1, decay);
      ParameterStore table("b", {{"t", {}, true, RowTable(start)}}, optimizer, 0.1, decay);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const std::vector<std::int64_t> ids{17, 899, 17, static_cast<std::int64_t>(step), 300};
        const auto set = sparse_set(ids, random_values({5, 40}, 10 + step));
        tensor.apply({set}, serial());
        table.apply({set}, serial());
      }
      const auto saved = tensor.snapshot(0);
      const auto blocks = table.snapshot(0);
      ASSERT_EQ(saved.tensors.size(), blocks.tensors.size());
      for (std::size_t i = 0; i < saved.tensors.size(); ++i) {
        RowTable all(DType::float32, shape, 0);
        std::int64_t at = 0;
        for (const auto& block : blocks.tensors[i].blocks) {
          all.assign(at, block);
          at += block.shape()[0];
        }
        EXPECT_TRUE(same_bits(whole(all), saved.tensors[i].values))
            << rule << ' ' << saved.tensors[i].slot << ' ' << decay;
      }
    }
}

TEST(ATableInAStore, SumsRowsOfOneIndexBeforeTheNormIsTaken) {
  ParameterStore store("s", {{"t", {}, true, RowTable(DType::float32, {10, 1}, 0)}}, optim::sgd(),
                       1.0);
  const auto set = sparse_set({4, 4}, Tensor::of<float>({2, 1}, {3, 1}));
  const auto combined = store.combine({set}, SyncPolicy(), serial());
  EXPECT_EQ(combined.squared_norm(serial()), 16);
}

TEST(ATableInAStore, SaysWhichRowIsNotThere) {
  ParameterStore store("shard 3", {{"t", {}, true, RowTable(DType::float32, {10, 1}, 0)}},
                       optim::sgd(), 1.0);
  const auto words = [&](std::vector<std::int64_t> ids) -> std::string {
    try {
      store.rows({"t", Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids)});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(words({0, 9}), "");
  EXPECT_EQ(words({0, 10}),
            "shard 3: variable 't' has rows [0, 10) here, but row 10 was asked for");
  EXPECT_EQ(words({-1}), "shard 3: variable 't' has rows [0, 10) here, but row -1 was asked for");
}

TEST(ATableInAStore, RestoresRowsFromPartsOfAnotherCut) {
  const auto values = random_values({1000, 3}, 5);
  ShardVariable part{"t", {}, true, RowTable(DType::float32, {400, 3}, 0)};
  part.first_row = 500;
  part.total_rows = 1000;
  ParameterStore store("s", {part}, optim::sgd(), 1.0);
  ShardSnapshot saved{0, 9, {}};
  saved.tensors.push_back({"t", "", values.slice(0, 600), {}, 0, 1000});
  EXPECT_THROW(store.restore(saved), Error);  // rows 600 to 899 are missing
  saved.tensors.push_back({"t", "", values.slice(600, 1000), {}, 600, 1000});
  store.restore(saved);
  EXPECT_EQ(store.version(), 9u);
  const auto rows = store.rows({"t", Tensor::of<std::int64_t>({3}, {500, 601, 899})});
  EXPECT_TRUE(same_bits(rows.row(0), values.row(500)));
  EXPECT_TRUE(same_bits(rows.row(1), values.row(601)));
  EXPECT_TRUE(same_bits(rows.row(2), values.row(899)));
}

}  // namespace
}  // namespace troupe

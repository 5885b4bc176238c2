#include "troupe/actors/training/row_reads.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "troupe/ops/error.h"

namespace troupe {
namespace {

using Ids = std::vector<std::int64_t>;

Ids values_of(const Tensor& ids) {
  Ids values(static_cast<std::size_t>(ids.size()));
  if (ids.dtype() == DType::int32)
    std::ranges::copy(ids.read<std::int32_t>(), values.begin());
  else
    std::ranges::copy(ids.read<std::int64_t>(), values.begin());
  return values;
}

void expect_rows(const RowRead& read, const Tensor& ids, const Ids& values,
                 const std::string& where) {
  const auto outside = [&](std::int64_t id) { return id < 0 || id >= read.rows; };
  const auto found = std::ranges::find_if(values, outside);
  if (found == values.end()) return;
  const auto examples = ids.shape().rank() == 0 ? 1 : ids.shape()[0];
  const auto example = (found - values.begin()) / std::max<std::int64_t>(1, ids.size() / examples);
  fail(Code::out_of_range, where, ", row ", example, ": variable '", read.variable,
       "' has rows [0, ", read.rows, "), but '", read.name, "' reads row ", *found);
}

Ids sorted_once(Ids ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::int64_t position(std::span<const std::int64_t> sorted, std::int64_t id) {
  return std::ranges::lower_bound(sorted, id) - sorted.begin();
}

Tensor as_tensor(const Ids& ids) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(ids.size())}, ids);
}

}  // namespace

Tensor picked_rows(const Tensor& rows, const std::vector<std::int64_t>& positions) {
  auto out = Tensor::uninitialized(rows.dtype(), rows.shape().without_first().with_first(
                                                     static_cast<std::int64_t>(positions.size())));
  if (out.size() == 0) return out;
  const auto row = out.byte_size() / positions.size();
  auto* to = out.mutable_data();
  for (const auto at : positions) {
    std::memcpy(to, rows.data() + static_cast<std::size_t>(at) * row, row);
    to += row;
  }
  return out;
}

ReadPlan plan_reads(const ModelFragment& fragment, const TensorList& ids,
                    const std::string& where) {
  ReadPlan plan;
  std::vector<Ids> of_tables, of_reads;
  for (std::size_t i = 0; i < fragment.reads.size(); ++i) {
    const auto& read = fragment.reads[i];
    of_reads.push_back(values_of(ids.at(i)));
    expect_rows(read, ids[i], of_reads[i], where);
    const auto known = std::ranges::find(plan.wanted, read.variable, &WantedRows::variable);
    const auto table = static_cast<std::size_t>(known - plan.wanted.begin());
    if (known == plan.wanted.end()) {
      plan.wanted.push_back({read.variable, {}});
      of_tables.emplace_back();
    }
    of_tables[table].insert(of_tables[table].end(), of_reads[i].begin(), of_reads[i].end());
    plan.reads.push_back({table, {}, ids[i].shape()});
  }
  for (std::size_t table = 0; table < plan.wanted.size(); ++table) {
    of_tables[table] = sorted_once(std::move(of_tables[table]));
    plan.wanted[table].ids = as_tensor(of_tables[table]);
  }
  for (std::size_t i = 0; i < plan.reads.size(); ++i)
    for (const auto id : of_reads[i])
      plan.reads[i].positions.push_back(position(of_tables[plan.reads[i].table], id));
  return plan;
}

TensorList ids_of_reads(const ModelFragment& fragment, const TensorList& inputs,
                        const TensorList& fetched) {
  TensorList ids;
  for (const auto& read : fragment.reads)
    ids.push_back(read.input ? inputs.at(*read.input) : fetched.at(read.fetch));
  return ids;
}

TensorList read_rows(const ReadPlan& plan, const TensorList& rows) {
  TensorList values;
  for (const auto& read : plan.reads) {
    const auto& table = rows.at(read.table);
    auto extents = read.ids.vector();
    for (const auto extent : table.shape().without_first().vector()) extents.push_back(extent);
    values.push_back(picked_rows(table, read.positions).reshape(Shape(extents)));
  }
  return values;
}

std::vector<WantedRows> all_wanted(const std::vector<ReadPlan>& plans) {
  std::map<std::string, Ids> ids;
  for (const auto& plan : plans)
    for (const auto& [variable, wanted] : plan.wanted) {
      const auto values = wanted.read<std::int64_t>();
      ids[variable].insert(ids[variable].end(), values.begin(), values.end());
    }
  std::vector<WantedRows> all;
  for (auto& [variable, of_all] : ids)
    all.push_back({variable, as_tensor(sorted_once(std::move(of_all)))});
  return all;
}

TensorList rows_for(const ReadPlan& plan, const std::vector<WantedRows>& all,
                    const TensorList& rows) {
  TensorList chosen;
  for (const auto& [variable, ids] : plan.wanted) {
    const auto at = std::ranges::find(all, variable, &WantedRows::variable) - all.begin();
    const auto known = all[at].ids.read<std::int64_t>();
    Ids positions;
    for (const auto id : ids.read<std::int64_t>()) positions.push_back(position(known, id));
    chosen.push_back(picked_rows(rows.at(at), positions));
  }
  return chosen;
}

}  // namespace troupe

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "troupe/actors/training/fragments.h"
#include "troupe/messages/payloads.h"

namespace troupe {

/// Which rows the reads of a fragment want of one batch: of each table every row once.
struct ReadPlan {
  std::vector<WantedRows> wanted;  ///< one entry for each table; ids ascend
  struct Read {
    std::size_t table = 0;                ///< position in `wanted`
    std::vector<std::int64_t> positions;  ///< of each row read, among the ids of its table
    Shape ids;                            ///< shape of the row numbers
  };
  std::vector<Read> reads;  ///< in the order of ModelFragment::reads
};

/// `ids` are the row numbers of each read, int32 or int64 of any shape. Throws out_of_range
/// for a row that its table does not have, naming `where`, the variable and the example.
ReadPlan plan_reads(const ModelFragment& fragment, const TensorList& ids, const std::string& where);

/// The row numbers of each read: components of the batch, and what ModelFragment::ids gave.
TensorList ids_of_reads(const ModelFragment& fragment, const TensorList& inputs,
                        const TensorList& fetched);

/// What the reads give, to be fed: `rows` are those of each entry of ReadPlan::wanted.
TensorList read_rows(const ReadPlan& plan, const TensorList& rows);

/// The rows at those positions, one below the other; a position may come more than once.
Tensor picked_rows(const Tensor& rows, const std::vector<std::int64_t>& positions);

/// Several plans as one: every row of any of them once.
std::vector<WantedRows> all_wanted(const std::vector<ReadPlan>& plans);

/// Rows of one plan out of those that all_wanted() asked for.
TensorList rows_for(const ReadPlan& plan, const std::vector<WantedRows>& all,
                    const TensorList& rows);

}  // namespace troupe

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <new>

#include "support/check_gradient.h"
#include "support/fragment_runs.h"
#include "troupe/devices/intra_op_pool.h"
#include "troupe/ops/array.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/matmul.h"
#include "troupe/ops/normalization.h"
#include "troupe/ops/pooling.h"
#include "troupe/ops/reductions.h"
#include "troupe/ops/sanitizer.h"
#include "troupe/ops/state.h"

#if defined(TROUPE_CHECKS_ADDRESSES) || defined(TROUPE_CHECKS_THREADS)
#define TROUPE_COUNTS_ALLOCATIONS 0  // the sanitizers have an allocator of their own
#else
#define TROUPE_COUNTS_ALLOCATIONS 1
#endif

#if TROUPE_COUNTS_ALLOCATIONS
namespace {
std::atomic<long> allocations = 0;
}

// Every way to the heap in this program, libraries included, goes through these.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  ++allocations;
  *block = __libc_memalign(alignment, bytes);
  return *block == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif

namespace troupe {
namespace {

class SteadyState : public testing::Test {
 protected:
  void SetUp() override {
#if !TROUPE_COUNTS_ALLOCATIONS
    GTEST_SKIP() << "allocations cannot be counted under a sanitizer";
#endif
  }

  /// Allocations of one run once a few have gone before.
  long allocations_of_a_run(const GraphPtr& graph, const std::map<std::string, Tensor>& feeds,
                            const OutputList& fetches, int threads) {
#if TROUPE_COUNTS_ALLOCATIONS
    graph->finish();
    FragmentSpec spec{graph, {}, {}, {}, {}};
    TensorList fed;
    for (const auto& [name, value] : feeds) {
      spec.feeds.push_back(name);
      fed.push_back(value);
    }
    for (const auto& fetch : fetches) spec.fetches.push_back(fetch.name());
    const auto pool = std::make_shared<IntraOpPool>("test", threads);
    std::latch all(threads);
    pool->run(threads, [&](int) { all.arrive_and_wait(); });  // the threads have begun
    Fragment fragment(spec, {.intra_op = threads, .inter_op = 1}, pool, "/device:CPU:0");
    TensorList results;
    long counted = 0;
    for (int i = 0; i < 5; ++i) {
      const auto before = allocations.load();
      auto executor = fragment.acquire(fed);
      executor->begin(fed, i);
      const auto stream = [](std::uint32_t, const Tensor&){};
      const auto invite = []{};
      executor->lead({stream, invite});
      executor->finish(results);
      fragment.release(std::move(executor));
      counted = allocations.load() - before;
    }
    return counted;
#else
    (void)graph, (void)feeds, (void)fetches, (void)threads;
    return 0;
#endif
  }
};

Tensor values(const Shape& shape) { return test::random_values(shape, 1, 0, 1, DType::float32); }

// Convolutions and large products are left out: oneDNN makes a table of arguments
// at each call, a few small blocks of its own.

TEST_F(SteadyState, AllocatesNothing) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {-1, 6});
  const auto w = variable(*graph, "w", {6, 5}, init::zeros());
  const auto b = variable(*graph, "b", {5}, init::zeros());
  const auto y = tanh(matmul(x, w) + b);
  const auto loss = reduce_mean(square(softmax(y))) + l2_loss(w);
  const auto grads = gradients(loss, {w, b});
  EXPECT_EQ(allocations_of_a_run(
                graph, {{"x", values({16, 6})}, {"w", values({6, 5})}, {"b", values({5})}},
                {loss, grads[0].dense(), grads[1].dense(), y}, 1),
            0);
}

TEST_F(SteadyState, AllocatesNothingWithSeveralThreads) {
  const auto graph = std::make_shared<Graph>();
  const auto x = placeholder(*graph, "x", DType::float32, {-1, 28, 28, 16});
  const auto b = variable(*graph, "b", {16}, init::zeros());
  const auto pooled = max_pool(tanh(bias_add(x, b)), {.window = {2, 2}, .strides = {2, 2}});
  const auto loss = reduce_mean(square(flatten(pooled)));
  const auto grads = gradients(loss, {b});
  EXPECT_EQ(allocations_of_a_run(graph, {{"x", values({32, 28, 28, 16})}, {"b", values({16})}},
                                 {loss, grads[0].dense()}, 3),
            0);
}

}  // namespace
}  // namespace troupe

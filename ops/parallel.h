#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace troupe {

/// A borrowed callable, for arguments: no allocation, must not outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT: converts on purpose
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

/// The number of shards, from 1 to `most`, for that many CPU cycles of work:
/// waking a thread costs tens of microseconds.
int worthwhile_shards(double cycles, std::int64_t most);

/// How a kernel uses more than one core: the threads of its device, and only those.
class IntraOp {
 public:
  virtual ~IntraOp() = default;

  /// The most shards that run at the same time, the caller's included; at least 1.
  virtual int threads() const = 0;

  /// Runs fn(0) ... fn(shards - 1) and returns when all have ended; the caller
  /// runs some of them itself. The first exception is thrown again. Shards must
  /// not wait for one another: they may run one after the other.
  virtual void run(int shards, FunctionRef<void(int)> fn) = 0;

  /// Splits [0, total) into ranges worth a hand-over and calls fn(begin, end) on
  /// them. `cost` is the work of one unit in CPU cycles, about: waking a thread
  /// costs tens of microseconds, so small work stays on the caller.
  void parallel_for(std::int64_t total, double cost,
                    FunctionRef<void(std::int64_t, std::int64_t)> fn);
};

/// One thread: the caller's.
IntraOp& serial();

}  // namespace troupe

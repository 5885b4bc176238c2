#include <algorithm>

#include "troupe/ops/convolution_kernels.h"
#include "troupe/ops/onednn.h"

namespace troupe {
namespace {

using onednn::Scratch;
using onednn::Step;
using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;

constexpr auto kFloat = dnnl::memory::data_type::f32;

/// oneDNN's description of the convolution of some images.
struct Description {
  /// `layout` of the filter is oneDNN's choice where none is given.
  Description(const Convolution& c, std::int64_t images, const Desc& layout)
      : x(onednn::nhwc(images, c.rows.input, c.columns.input, c.in)),
        y(onednn::nhwc(images, c.rows.output, c.columns.output, c.out)),
        bias({c.out}, kFloat, Tag::a),
        strides{c.rows.stride, c.columns.stride},
        dilations{c.rows.dilation - 1, c.columns.dilation - 1},
        before{c.rows.before, c.columns.before},
        after{c.rows.after, c.columns.after} {
    dnnl::memory::dims extents{c.out / c.groups, c.in / c.groups, c.rows.window, c.columns.window};
    if (c.groups > 1) extents.insert(extents.begin(), c.groups);
    w = Desc(extents, kFloat, c.groups > 1 ? Tag::hwigo : Tag::hwio);
    any_w = Desc(extents, kFloat, Tag::any);
    best_w = layout ? layout : any_w;
  }

  dnnl::convolution_forward::primitive_desc forward(const ConvolutionEpilogue& epilogue,
                                                    const Desc& filter) const {
    auto attributes = onednn::attributes();
    if (epilogue.relu) {
      dnnl::post_ops then;
      then.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(then);
    }
    const auto kind = dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    if (epilogue.bias)
      return {{kind, algorithm, x, filter, bias, y, strides, dilations, before, after},
              attributes,
              onednn::engine()};
    return {{kind, algorithm, x, filter, y, strides, dilations, before, after},
            attributes,
            onednn::engine()};
  }

  dnnl::convolution_backward_data::primitive_desc input_gradient() const {
    return {{dnnl::algorithm::convolution_direct, x, best_w, y, strides, dilations, before, after},
            onednn::attributes(),
            onednn::engine(),
            forward({}, any_w)};
  }

  dnnl::convolution_backward_weights::primitive_desc filter_gradient(bool any_layout) const {
    const Desc best_x(x.dims(), kFloat, Tag::any);
    const Desc best_y(y.dims(), kFloat, Tag::any);
    return {{dnnl::algorithm::convolution_direct, any_layout ? best_x : x, best_w,
             any_layout ? best_y : y, strides, dilations, before, after},
            onednn::attributes(),
            onednn::engine(),
            forward({}, any_w)};
  }

  Desc x, y, bias, w, any_w, best_w;
  dnnl::memory::dims strides, dilations, before, after;
};

/// A tensor that is somewhere else at every run.
dnnl::memory elsewhere(const Desc& desc) { return {desc, onednn::engine(), DNNL_MEMORY_NONE}; }

void point(dnnl::memory& memory, const float* values) {
  memory.set_data_handle(const_cast<float*>(values));
}

/// An operand in the layout that a primitive wants: the tensor itself when it
/// has it already, else a copy that is made at every run.
struct Operand {
  Operand() = default;
  Operand(const Desc& plain, const Desc& wanted) : tensor(elsewhere(plain)) {
    if (wanted == plain) return;
    copy = Scratch(wanted);
    reorder = onednn::reorder(tensor, copy.memory());
  }

  explicit operator bool() const { return static_cast<bool>(tensor); }
  const dnnl::memory& memory() const { return reorder ? copy.memory() : tensor; }
  /// What a further primitive must take; of no operand: anything.
  Desc layout() const { return *this ? memory().get_desc() : Desc(); }
  void load(const float* values) {
    point(tensor, values);
    if (reorder) reorder.run();
  }

  dnnl::memory tensor;
  Scratch copy;
  Step reorder;
};

/// Some of the images, computed by one thread with a primitive of their own.
struct Shard {
  std::int64_t begin = 0;
  std::int64_t images = 0;
};

/// Up to `most` shards, but no more than images, or than it is worth.
std::vector<Shard> share_out(const Convolution& c, int most) {
  const auto count = worthwhile_shards(c.cycles(), std::min<std::int64_t>(c.batch, most));
  std::vector<Shard> shards;
  for (int i = 0; i < count; ++i) {
    const auto begin = c.batch * i / count;
    shards.push_back({begin, c.batch * (i + 1) / count - begin});
  }
  return shards;
}

/// Two shards for each thread, so that one that comes late does not hold up the others.
int two_each(int threads) { return threads > 1 ? 2 * threads : 1; }

class Forward final : public Kernel {
 public:
  Forward(const KernelInit& init, const Convolution& c, const ConvolutionEpilogue& epilogue)
      : label_(onednn::label(init.node)), sizes_(c) {
    cost = c.cycles();
    onednn::guarded(label_, "prepare the convolution", [&] {
      for (const auto& shard : share_out(c, two_each(init.threads)))
        parts_.emplace_back(c, shard, epilogue, w_);
    });
  }

  void run(const Run& run) override {
    const auto* x = run.in<float>(0);
    auto* y = run.out<float>();
    onednn::guarded(label_, "reorder the filter", [&] { w_.load(run.in<float>(1)); });
    run.intra.run(static_cast<int>(parts_.size()), [&](int i) {
      auto& part = parts_[i];
      onednn::guarded(label_, "convolve", [&] {
        point(part.x, x + part.shard.begin * sizes_.input_size());
        point(part.y, y + part.shard.begin * sizes_.output_size());
        if (part.bias) point(part.bias, run.in<float>(2));
        part.convolve.run();
      });
    });
  }

 private:
  struct Part {
    Part(const Convolution& c, const Shard& s, const ConvolutionEpilogue& epilogue, Operand& w)
        : shard(s) {
      const Description description(c, s.images, w.layout());
      const auto desc = description.forward(epilogue, description.best_w);
      x = elsewhere(description.x);
      y = elsewhere(description.y);
      if (!w) w = Operand(description.w, desc.weights_desc());
      std::vector<Step::Argument> arguments{
          {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w.memory()}, {DNNL_ARG_DST, y}};
      if (epilogue.bias) {
        bias = elsewhere(description.bias);
        arguments.push_back({DNNL_ARG_BIAS, bias});
      }
      convolve = Step(dnnl::convolution_forward(desc), arguments, desc.scratchpad_desc());
    }
    Shard shard;
    dnnl::memory x, y, bias;
    Step convolve;
  };

  const std::string label_;
  const Convolution sizes_;
  Operand w_;  // shared by all parts
  std::vector<Part> parts_;
};

class InputGradient final : public Kernel {
 public:
  InputGradient(const KernelInit& init, const Convolution& c)
      : label_(onednn::label(init.node)), sizes_(c) {
    cost = c.cycles();
    onednn::guarded(label_, "prepare the gradient", [&] {
      for (const auto& shard : share_out(c, two_each(init.threads)))
        parts_.emplace_back(c, shard, w_);
    });
  }

  void run(const Run& run) override {
    const auto* dy = run.in<float>(2);
    auto* dx = run.out<float>();
    onednn::guarded(label_, "reorder the filter", [&] { w_.load(run.in<float>(1)); });
    run.intra.run(static_cast<int>(parts_.size()), [&](int i) {
      auto& part = parts_[i];
      onednn::guarded(label_, "compute the gradient", [&] {
        point(part.dy, dy + part.shard.begin * sizes_.output_size());
        point(part.dx, dx + part.shard.begin * sizes_.input_size());
        part.convolve.run();
      });
    });
  }

 private:
  struct Part {
    Part(const Convolution& c, const Shard& s, Operand& w) : shard(s) {
      const Description description(c, s.images, w.layout());
      const auto desc = description.input_gradient();
      dy = elsewhere(description.y);
      dx = elsewhere(description.x);
      if (!w) w = Operand(description.w, desc.weights_desc());
      convolve =
          Step(dnnl::convolution_backward_data(desc),
               {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, w.memory()}, {DNNL_ARG_DIFF_SRC, dx}},
               desc.scratchpad_desc());
    }
    Shard shard;
    dnnl::memory dy, dx;
    Step convolve;
  };

  const std::string label_;
  const Convolution sizes_;
  Operand w_;  // shared by all parts
  std::vector<Part> parts_;
};

/// Each shard has a sum over its own images; the sums are added in the order of
/// the shards, so that the same number of threads gives the same bits.
class FilterGradient final : public Kernel {
 public:
  FilterGradient(const KernelInit& init, const Convolution& c)
      : label_(onednn::label(init.node)), sizes_(c) {
    cost = c.cycles();
    onednn::guarded(label_, "prepare the gradient", [&] {
      // Every sum is as large as the filter: no more of a large one than needed.
      constexpr std::int64_t kLarge = 65536;
      const auto most = c.filter_size() > kLarge ? init.threads : two_each(init.threads);
      for (const auto& shard : share_out(c, most))
        parts_.emplace_back(c, shard, parts_.empty() ? Desc() : parts_[0].dw.get_desc());
      plain_ = elsewhere(Description(c, c.batch, {}).w);
      if (parts_[0].dw.get_desc() == plain_.get_desc()) return;
      to_plain_ = onednn::reorder(parts_[0].dw, plain_);
    });
  }

  void run(const Run& run) override {
    const auto* x = run.in<float>(0);
    const auto* dy = run.in<float>(2);
    if (!to_plain_) point(parts_[0].dw, run.out<float>());
    run.intra.run(static_cast<int>(parts_.size()), [&](int i) {
      auto& part = parts_[i];
      onednn::guarded(label_, "compute the gradient", [&] {
        part.x.load(x + part.shard.begin * sizes_.input_size());
        part.dy.load(dy + part.shard.begin * sizes_.output_size());
        part.convolve.run();
      });
    });
    add_up(run.intra);
    if (to_plain_)
      onednn::guarded(label_, "reorder the filter", [&] {
        point(plain_, run.out<float>());
        to_plain_.run();
      });
  }

 private:
  struct Part {
    Part(const Convolution& c, const Shard& s, const Desc& layout) : shard(s) {
      const Description description(c, s.images, layout);
      // With 2 or 3 channels oneDNN is fast in a layout of its own only: 4 times
      // faster for 3 channels and 64, the two reorders included. With one channel
      // they cost more than they bring.
      const auto desc = description.filter_gradient(c.in > 1 && c.in <= 3 && c.groups == 1);
      x = Operand(description.x, desc.src_desc());
      dy = Operand(description.y, desc.diff_dst_desc());
      sum = Scratch(desc.diff_weights_desc());
      dw = sum.memory();
      convolve = Step(dnnl::convolution_backward_weights(desc),
                      {{DNNL_ARG_SRC, x.memory()},
                       {DNNL_ARG_DIFF_DST, dy.memory()},
                       {DNNL_ARG_DIFF_WEIGHTS, dw}},
                      desc.scratchpad_desc());
    }
    float* values() const { return static_cast<float*>(dw.get_data_handle()); }

    Shard shard;
    Operand x, dy;
    Scratch sum;
    dnnl::memory dw;
    Step convolve;
  };

  /// The sums of all parts to that of the first.
  void add_up(IntraOp& intra) {
    const auto count =
        static_cast<std::int64_t>(parts_[0].dw.get_desc().get_size() / sizeof(float));
    intra.parallel_for(count, static_cast<double>(parts_.size()) / 4, [&](auto begin, auto end) {
      auto* total = parts_[0].values();
      for (std::size_t i = 1; i < parts_.size(); ++i) {
        const auto* sum = parts_[i].values();
        for (auto j = begin; j < end; ++j) total[j] += sum[j];
      }
    });
  }

  const std::string label_;
  const Convolution sizes_;
  std::vector<Part> parts_;
  dnnl::memory plain_;
  Step to_plain_;
};

/// No images: no output, and a gradient of zeros.
KernelPtr of_nothing(std::int64_t output_size) {
  return make_kernel(
      [output_size](const Run& run) { std::fill_n(run.out<float>(), output_size, 0.0f); }, 1);
}

}  // namespace

KernelPtr onednn_convolution(const KernelInit& init, const Convolution& c,
                             const ConvolutionEpilogue& epilogue) {
  if (c.batch * c.output_size() == 0) return of_nothing(0);
  return std::make_unique<Forward>(init, c, epilogue);
}

KernelPtr onednn_convolution_input_gradient(const KernelInit& init, const Convolution& c) {
  if (c.batch * c.output_size() == 0) return of_nothing(c.batch * c.input_size());
  return std::make_unique<InputGradient>(init, c);
}

KernelPtr onednn_convolution_filter_gradient(const KernelInit& init, const Convolution& c) {
  if (c.batch * c.output_size() == 0) return of_nothing(c.filter_size());
  return std::make_unique<FilterGradient>(init, c);
}

}  // namespace troupe

#include "troupe/ops/onednn.h"

#include <omp.h>

#include "troupe/ops/op.h"

namespace troupe::onednn {
namespace {

dnnl::stream& stream() {
  static dnnl::stream in_order(engine());  // of a CPU: no state, and execute returns when done
  return in_order;
}

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::desc nhwc(dnnl::memory::dim n, dnnl::memory::dim h, dnnl::memory::dim w,
                        dnnl::memory::dim c) {
  return {{n, c, h, w}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nhwc};
}

Scratch::Scratch(const dnnl::memory::desc& desc) {
  const auto bytes = static_cast<std::int64_t>(desc.get_size());
  if (bytes == 0) return;
  bytes_ = Tensor(DType::uint8, {bytes});
  memory_ = dnnl::memory(desc, engine(), bytes_.mutable_data());
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Step::Step(dnnl::primitive primitive, std::vector<Argument> arguments,
           const dnnl::memory::desc& scratchpad)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)), scratchpad_(scratchpad) {
  if (scratchpad_.memory()) arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad_.memory()});
  for (const auto& argument : arguments_) raw_.push_back({argument.kind, argument.memory.get()});
}

void Step::run() const {
  // The C function, because dnnl::primitive::execute builds a map at every call.
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream().get(),
                                                 static_cast<int>(raw_.size()), raw_.data()),
                          "could not execute a primitive");
}

Step reorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(from, to, attributes());
  return {dnnl::reorder(desc), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, desc.scratchpad_desc()};
}

std::string label(const Node& node) { return text("node '", node.name, "' (", node.op->name, ")"); }

Error error_of(const dnnl::error& error, std::string_view label, std::string_view what) {
  const auto code = error.status == dnnl_unimplemented   ? Code::unimplemented
                    : error.status == dnnl_out_of_memory ? Code::resource_exhausted
                                                         : Code::internal;
  return Error(code, text(label, ": oneDNN failed to ", what, ": ", error.message, " (status ",
                          static_cast<int>(error.status), ")"));
}

}  // namespace troupe::onednn

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct OpDef;

/// Which kind of device is taken first when several could run a node: GPU 210, SYCL 200,
/// CPU 70, any other 50.
int device_priority(std::string_view type);

/// Whether a device of this type can run the op. Placeholders, variables and aliases run
/// nowhere and may be on any; a CPU runs ops that have a CPU kernel; other types run what
/// was registered for them.
bool has_kernel(const OpDef& op, std::string_view type);

/// What a backend for another type of device calls when it is loaded, before graphs are
/// placed: the names of the ops that it has kernels for. May be called again for more.
void register_kernels(std::string_view type, const std::vector<std::string>& ops);

}  // namespace troupe

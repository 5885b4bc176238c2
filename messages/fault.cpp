#include "troupe/messages/fault.h"

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>

namespace troupe {
namespace {

const caf::atom_value kTroupe = caf::atom("troupe");

Code nearest(const caf::error& error) {
  if (error.category() == caf::atom("system")) {
    switch (static_cast<caf::sec>(error.code())) {
      case caf::sec::request_timeout:
        return Code::deadline_exceeded;
      case caf::sec::request_receiver_down:
        return Code::unavailable;
      default:
        return Code::internal;
    }
  }
  if (error.category() == caf::atom("exit")) return Code::unavailable;
  return Code::unknown;
}

}  // namespace

caf::error fault(Code code, std::string message) {
  return caf::error(static_cast<std::uint8_t>(code), kTroupe,
                    caf::make_message(std::move(message)));
}

caf::error fault(const Error& error) { return fault(error.code(), std::string(error.what())); }

Error to_error(const caf::error& error) {
  if (!error) return {Code::ok, "no error"};
  if (error.category() == kTroupe) {
    const auto& context = error.context();
    auto words = context.match_elements<std::string>()
                     ? context.get_as<std::string>(0)
                     : std::string(to_string(static_cast<Code>(error.code())));
    return {static_cast<Code>(error.code()), words};
  }
  // In better words than CAF's.
  if (error == caf::exit_reason::kill) return {nearest(error), "it was killed"};
  if (error == caf::sec::request_receiver_down) return {nearest(error), "it has ended"};
  return {nearest(error), caf::actor_system_config::render(error)};
}

Code code_of(const caf::error& error) {
  if (!error) return Code::ok;
  return error.category() == kTroupe ? static_cast<Code>(error.code()) : nearest(error);
}

std::string render(const caf::error& error) {
  const auto known = to_error(error);
  return text(to_string(known.code()), ": ", known.what());
}

}  // namespace troupe

#pragma once

#include <string>
#include <vector>

namespace troupe {

/// "; did you mean 'train'?" for a word that is nearly one of the others, else "".
std::string suggestion(const std::string& word, const std::vector<std::string>& others);

}  // namespace troupe

# Debian's libcaf-dev brings no CMake package of its own. This module makes
#
#   find_package(CAF 0.17.6 REQUIRED COMPONENTS core io)
#
# work: it defines one imported target per component (CAF::core, CAF::io, ...)
# and reports the version found in the header as CAF_VERSION.
include(FindPackageHandleStandardArgs)
find_package(Threads REQUIRED)

find_path(CAF_INCLUDE_DIR NAMES caf/config.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)

if(CAF_INCLUDE_DIR)
  # "#define CAF_VERSION 1706" is major * 10000 + minor * 100 + patch.
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _caf_line REGEX "define CAF_VERSION [0-9]+")
  string(REGEX MATCH "[0-9]+$" _caf_number "${_caf_line}")
  if(_caf_number)
    math(EXPR _caf_major "${_caf_number} / 10000")
    math(EXPR _caf_minor "${_caf_number} / 100 % 100")
    math(EXPR _caf_patch "${_caf_number} % 100")
    set(CAF_VERSION ${_caf_major}.${_caf_minor}.${_caf_patch})
  endif()
endif()

foreach(_caf_part IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${_caf_part}_LIBRARY NAMES caf_${_caf_part})
  mark_as_advanced(CAF_${_caf_part}_LIBRARY)
  if(NOT CAF_${_caf_part}_LIBRARY)
    continue()
  endif()
  set(CAF_${_caf_part}_FOUND TRUE)
  if(TARGET CAF::${_caf_part})
    continue()
  endif()
  add_library(CAF::${_caf_part} UNKNOWN IMPORTED)
  set_target_properties(CAF::${_caf_part} PROPERTIES
    IMPORTED_LOCATION "${CAF_${_caf_part}_LIBRARY}")
  target_include_directories(CAF::${_caf_part} SYSTEM INTERFACE "${CAF_INCLUDE_DIR}")
  target_link_libraries(CAF::${_caf_part} INTERFACE Threads::Threads)
  if(NOT _caf_part STREQUAL "core")
    target_link_libraries(CAF::${_caf_part} INTERFACE CAF::core)
  endif()
endforeach()

find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

# oneDNN, as DNNL::dnnl. Debian's own package file asks for the OpenCL headers,
# which its CPU engine does not need; so the library is looked for directly.
include(FindPackageHandleStandardArgs)

find_path(OneDNN_INCLUDE_DIR NAMES dnnl.hpp)
find_library(OneDNN_LIBRARY NAMES dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

find_file(OneDNN_VERSION_HEADER NAMES oneapi/dnnl/dnnl_version.h dnnl_version.h)
mark_as_advanced(OneDNN_VERSION_HEADER)
if(OneDNN_VERSION_HEADER)
  file(STRINGS "${OneDNN_VERSION_HEADER}" _dnnl_lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  foreach(_dnnl_part IN ITEMS MAJOR MINOR PATCH)
    string(REGEX MATCH "DNNL_VERSION_${_dnnl_part} +([0-9]+)" _ "${_dnnl_lines}")
    set(_dnnl_${_dnnl_part} "${CMAKE_MATCH_1}")
  endforeach()
  set(OneDNN_VERSION "${_dnnl_MAJOR}.${_dnnl_MINOR}.${_dnnl_PATCH}")
endif()

find_package_handle_standard_args(OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
  VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}")
  target_include_directories(DNNL::dnnl SYSTEM INTERFACE "${OneDNN_INCLUDE_DIR}")
endif()

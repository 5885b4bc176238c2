# Installs a build tree to a prefix of its own, then configures, builds and runs
# the project beside this file against it.
#
#   cmake -D build=<build tree> -D work=<scratch> -D compiler=<c++> -D type=<build type>
#         -D launcher=<ccache or nothing> -P run.cmake
set(prefix "${work}/prefix")
set(consumer "${work}/build")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

# The programs are those that the documentation shows.
function(expect_shown file document)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/${file}" program)
  string(REGEX REPLACE "^//[^\n]*\n" "" program "${program}")
  file(READ "${CMAKE_CURRENT_LIST_DIR}/../../${document}" words)
  string(FIND "${words}" "${program}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${document} does not show tests/install/${file} as it is")
  endif()
endfunction()
expect_shown(main.cpp README.md)
foreach(file IN ITEMS spectrum_source.h spectrum_decoder.h ticker.h reader.cpp reader_test.cpp)
  expect_shown(${file} docs/tutorials/custom-reader.md)
endforeach()
foreach(file IN ITEMS median_policy.h aggregator.cpp aggregator_test.cpp)
  expect_shown(${file} docs/tutorials/custom-aggregator.md)
endforeach()

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}" -B "${consumer}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${compiler}"
  "-DCMAKE_BUILD_TYPE=${type}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
run("${CMAKE_COMMAND}" --build "${consumer}")
run("${consumer}/consumer")
run("${consumer}/reader")
run("${consumer}/reader_test")
run("${consumer}/aggregator")
run("${consumer}/aggregator_test")

# Installs a build tree to a prefix of its own, then configures, builds and runs
# the project beside this file against it.
#
#   cmake -D build=<build tree> -D work=<scratch> -D compiler=<c++> -D type=<build type>
#         -D launcher=<ccache or nothing> -P run.cmake
set(prefix "${work}/prefix")
set(consumer "${work}/build")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

# The program is the one that the README shows.
file(READ "${CMAKE_CURRENT_LIST_DIR}/main.cpp" program)
string(REGEX REPLACE "^//[^\n]*\n" "" program "${program}")
file(READ "${CMAKE_CURRENT_LIST_DIR}/../../README.md" readme)
string(FIND "${readme}" "${program}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md does not show the program tests/install/main.cpp as it is")
endif()

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
run("${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}" -B "${consumer}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${compiler}"
  "-DCMAKE_BUILD_TYPE=${type}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
run("${CMAKE_COMMAND}" --build "${consumer}")
run("${consumer}/consumer")

# troupe_isa_sources(<target> <files>...)
#
# Builds each file once for x86-64-v2, -v3 and -v4 and adds the objects to the
# target. Inside a file TROUPE_ISA is v2, v3 or v4: everything that the file
# defines stands in a namespace of that name, so that no two objects share a
# symbol (two objects that share a weak symbol may run the wrong one: a test
# looks with nm). See ops/simd/isa.h for the macros and the dispatch.
#
# g++ 12's -march=native on recent AMD processors tunes Eigen's product badly;
# the levels with generic tuning do not.
function(troupe_isa_sources target)
  foreach(level IN ITEMS v2 v3 v4)
    set(object ${target}_${level})
    add_library(${object} OBJECT ${ARGN})
    target_compile_features(${object} PRIVATE cxx_std_20)
    target_compile_options(${object} PRIVATE -march=x86-64-${level} -mtune=generic -O3
      -ffp-contract=fast -fno-math-errno -fno-trapping-math)
    target_compile_definitions(${object} PRIVATE TROUPE_ISA=${level})
    set_target_properties(${object} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${object} PRIVATE
      $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>
      $<TARGET_PROPERTY:${target},HEADER_DIRS>)
    troupe_compile_options(${object})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()

# troupe_isa_sources(<target> <files>...)
#
# Builds each file once for x86-64-v2, -v3 and -v4, as the object libraries
# <target>_v2, _v3 and _v4, and adds the objects to the target. Inside a file
# TROUPE_ISA is v2, v3 or v4. See ops/simd/isa.h for what goes into such a file.
# The targets that have some are in the global property TROUPE_ISA_TARGETS.
#
# g++ 12's -march=native on recent AMD processors tunes Eigen's product badly;
# the levels with generic tuning do not.
function(troupe_isa_sources target)
  set_property(GLOBAL APPEND PROPERTY TROUPE_ISA_TARGETS ${target})
  foreach(level IN ITEMS v2 v3 v4)
    set(object ${target}_${level})
    add_library(${object} OBJECT ${ARGN})
    target_compile_features(${object} PRIVATE cxx_std_20)
    # -O3 in every build type: at -O0 these loops take the tests from seconds to
    # minutes, and inline functions that are not inlined end up in all three objects.
    target_compile_options(${object} PRIVATE -march=x86-64-${level} -mtune=generic -O3
      -ffp-contract=fast -fno-math-errno -fno-trapping-math)
    target_compile_definitions(${object} PRIVATE TROUPE_ISA=${level})
    set_target_properties(${object} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(${object} PRIVATE
      $<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>)
    troupe_compile_options(${object})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
endfunction()

# troupe_room(<name> [USES <rooms>] [LINKS <targets>] [PRIVATE_LINKS <targets>])
#
# One folder, one library, one place in the include path. The folder appears as
# troupe/<name> in a view of its own, so a file can include the headers of its
# own room, of the rooms in USES and of those below them, and nothing else: an
# arrow that is not drawn here does not compile.
#
# Every .cpp file below the folder belongs to the room, except *.isa.cpp, which
# are built once per instruction set (see TroupeIsa.cmake).
function(troupe_room name)
  cmake_parse_arguments(room "" "" "USES;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target troupe_${name})
  set(view "${PROJECT_BINARY_DIR}/rooms/${name}")
  file(MAKE_DIRECTORY "${view}/troupe")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${view}/troupe/${name}" SYMBOLIC)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  file(GLOB_RECURSE isa_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.isa.cpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  list(TRANSFORM headers PREPEND "${view}/troupe/${name}/")
  if(isa_sources)
    list(REMOVE_ITEM sources ${isa_sources})
  endif()

  add_library(${target} ${sources})
  add_library(Troupe::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${view}" FILES ${headers})
  troupe_compile_options(${target})

  list(TRANSFORM room_USES PREPEND Troupe::)
  target_link_libraries(${target} PUBLIC ${room_USES} ${room_LINKS} PRIVATE ${room_PRIVATE_LINKS})
  if(isa_sources)
    troupe_isa_sources(${target} ${isa_sources})
  endif()

  install(TARGETS ${target} EXPORT TroupeTargets FILE_SET HEADERS)
endfunction()

# Warnings, optimisation and sanitizers, the same for every target of the project.
function(troupe_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra
    $<$<BOOL:${TROUPE_WERROR}>:-Werror>
    # g++ 12 reports these in std::vector and std::string code that is correct (GCC bug 105562 and kin).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds
      -Wno-stringop-overflow -Wno-stringop-overread>)
  if(TROUPE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${TROUPE_SANITIZE})
  endif()
endfunction()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Troupe")

# find_package(Troupe) gives Troupe::ops ... Troupe::actors, and Troupe::troupe for all of them.
add_library(troupe_all INTERFACE)
add_library(Troupe::troupe ALIAS troupe_all)
set_target_properties(troupe_all PROPERTIES EXPORT_NAME troupe)
target_link_libraries(troupe_all INTERFACE Troupe::actors)

install(TARGETS troupe_all EXPORT TroupeTargets)
install(EXPORT TroupeTargets NAMESPACE Troupe:: DESTINATION "${package_dir}")

configure_package_config_file(cmake/TroupeConfig.cmake.in TroupeConfig.cmake
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file(TroupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/TroupeConfig.cmake"
  "${PROJECT_BINARY_DIR}/TroupeConfigVersion.cmake"
  cmake/FindCAF.cmake
  cmake/FindOneDNN.cmake
  DESTINATION "${package_dir}")

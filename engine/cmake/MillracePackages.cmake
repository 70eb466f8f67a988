# What is installed beside the library, and the packages that CPack makes of it: millrace (the program), libmillrace0,
# libmillrace-dev, and where there is an MPI millrace-openmpi or millrace-mpich (the program for several hosts). The
# target `installed` builds all of it.

# Manual pages and completions are printed by the program. A cross build prints them by its emulator or not at all.
function(mr_printed_files)
  set(dir ${PROJECT_BINARY_DIR}/printed)
  find_program(GZIP_PROGRAM gzip)
  if(NOT GZIP_PROGRAM OR MILLRACE_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
    return()
  endif()
  add_custom_command(OUTPUT ${dir}/done
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}/man1 ${dir}/man5
    COMMAND millrace manual --folder ${dir}/man1
    COMMAND ${CMAKE_COMMAND} -E rename ${dir}/man1/millrace.cfg.5 ${dir}/man5/millrace.cfg.5
    COMMAND ${GZIP_PROGRAM} -9nr ${dir}/man1 ${dir}/man5
    COMMAND millrace completion bash >${dir}/millrace
    COMMAND millrace completion zsh >${dir}/_millrace
    COMMAND millrace completion fish >${dir}/millrace.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${dir}/done
    DEPENDS millrace)
  add_custom_target(printed ALL DEPENDS ${dir}/done)
  install(DIRECTORY ${dir}/man1 ${dir}/man5 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program OPTIONAL)
  install(FILES ${dir}/millrace DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program
    OPTIONAL)
  install(FILES ${dir}/_millrace DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh} COMPONENT program OPTIONAL)
  install(FILES ${dir}/millrace.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program
    OPTIONAL)
endfunction()

function(mr_install_program)
  set(packaging ${PROJECT_SOURCE_DIR}/engine/packaging)
  set(zsh site-functions)
  if(EXISTS /etc/debian_version)
    set(zsh vendor-completions)
  endif()
  mr_install_needs(program millrace)
  mr_install_needs(program perf_flame)
  install(TARGETS millrace RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  mr_printed_files()
  file(GLOB conf_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/conf/*.cfg)
  list(FILTER conf_files EXCLUDE REGEX "/quickstart[.]cfg$") # it reads the source tree that it lies in
  install(FILES ${conf_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace COMPONENT program)
  # The profiler's scripts, as perf/PROFILING.md describes them; flame.sh draws by perf_flame.
  set(perf ${PROJECT_SOURCE_DIR}/perf)
  install(PROGRAMS ${perf}/record.sh ${perf}/stat.sh ${perf}/flame.sh
    DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/perf COMPONENT program)
  install(DIRECTORY ${perf}/bpf DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/perf COMPONENT program)
  install(TARGETS perf_flame RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/millrace COMPONENT program)
  configure_file(${packaging}/millrace@.service.in ${PROJECT_BINARY_DIR}/millrace@.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/millrace@.service DESTINATION lib/systemd/system COMPONENT program)
  add_custom_target(installed)
  foreach(target millrace millrace-mpi millrace_shared millrace_static perf_flame printed)
    if(TARGET ${target})
      add_dependencies(installed ${target})
    endif()
  endforeach()
  if(TARGET millrace-mpi)
    mr_install_needs(mpi millrace-mpi)
    install(TARGETS millrace-mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
  endif()
  add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR}
    -P ${PROJECT_SOURCE_DIR}/engine/cmake/MillraceUninstall.cmake)
endfunction()

# What Debian wants beside the files, for each package.
function(mr_debian_documents)
  set(packaging ${PROJECT_SOURCE_DIR}/engine/packaging)
  find_program(GZIP_PROGRAM gzip)
  foreach(component ${CPACK_COMPONENTS_ALL})
    string(TOUPPER ${component} upper)
    set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    set(dir ${PROJECT_BINARY_DIR}/debian/${name})
    file(CONFIGURE OUTPUT ${dir}/changelog CONTENT
      "${name} (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * Built from the source tree.\n\n\
 -- ${MILLRACE_PACKAGER}  Sun, 22 Nov 2026 00:00:00 +0000\n")
    if(GZIP_PROGRAM)
      execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${dir}/changelog)
    endif()
    install(FILES ${packaging}/copyright ${dir}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
      COMPONENT ${component} OPTIONAL)
  endforeach()
endfunction()

macro(mr_packages)
  set(MILLRACE_PACKAGER "the millrace developers <millrace@example.org>" CACHE STRING
    "Name and address that packages give as their maintainer")
  set(CPACK_PACKAGE_NAME millrace)
  set(CPACK_PACKAGE_VENDOR millrace)
  set(CPACK_PACKAGE_CONTACT ${MILLRACE_PACKAGER})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "pipeline-parallel training of neural networks on one machine")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_COMPONENTS_ALL program library development)
  # Both MPIs at once cannot be: they have libraries of their own, and the program has one name.
  if(TARGET millrace-mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
    set(mpi_package openmpi)
    set(mpi_other mpich)
    set(mpi_launcher openmpi-bin)
    if(MPI_MODULE_NAME STREQUAL mpich)
      set(mpi_package mpich)
      set(mpi_other openmpi)
      set(mpi_launcher mpich)
    endif()
    set(CPACK_COMPONENT_MPI_DESCRIPTION "\
The program millrace-mpi, which trains over several hosts.\nIt goes with the same configurations as millrace.")
    set(CPACK_DEBIAN_MPI_PACKAGE_NAME millrace-${mpi_package})
    set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
    set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "millrace (= ${PROJECT_VERSION}), ${mpi_launcher}")
    set(CPACK_DEBIAN_MPI_PACKAGE_CONFLICTS millrace-${mpi_other})
    set(CPACK_RPM_MPI_PACKAGE_NAME millrace-${mpi_package})
    set(CPACK_RPM_MPI_PACKAGE_REQUIRES "millrace = ${PROJECT_VERSION}")
    set(CPACK_RPM_MPI_PACKAGE_CONFLICTS millrace-${mpi_other})
  endif()
  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "\
The program millrace, its manual pages, completions, example\nconfigurations and a unit for systemd.")
  set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "\
The shared library: a job is a struct, a training is an object.")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "\
Headers, the static library, a pkg-config file, a CMake package\nand an example.")
  set(CPACK_GENERATOR DEB)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME millrace)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libmillrace${PROJECT_VERSION_MAJOR})
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
  # CPack's own shlibs come with scripts that call ldconfig, for which dpkg has a trigger.
  set(library libmillrace${PROJECT_VERSION_MAJOR})
  file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
  file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs
    "libmillrace ${PROJECT_VERSION_MAJOR} ${library} (>= ${PROJECT_VERSION})\n")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers
    ${PROJECT_BINARY_DIR}/debian/shlibs)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmillrace-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libmillrace${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")
  # What a program needs that links the static library.
  set(static_needs "libconfig-dev, libhwloc-dev, libjansson-dev, zlib1g-dev")
  foreach(pair PNG_FOUND:libpng-dev JPEG_FOUND:libjpeg-dev WEBP_FOUND:libwebp-dev GIF_FOUND:libgif-dev
    PCRE2_FOUND:libpcre2-dev UTF8PROC_FOUND:libutf8proc-dev MILLRACE_DNNL:libdnnl-dev)
    string(REGEX MATCH "(.*):(.*)" _ ${pair})
    if(${CMAKE_MATCH_1})
      string(APPEND static_needs ", ${CMAKE_MATCH_2}")
    endif()
  endforeach()
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "${static_needs}")
  set(CPACK_RPM_COMPONENT_INSTALL ON)
  set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
  set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
  set(CPACK_RPM_PROGRAM_PACKAGE_NAME millrace)
  set(CPACK_RPM_LIBRARY_PACKAGE_NAME millrace-libs)
  set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME millrace-devel)
  set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "millrace-libs = ${PROJECT_VERSION}")
  # Folders that are the system's, and no package's.
  set(share /usr/share)
  set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/system /usr/lib/.build-id
    /usr/libexec /usr/lib/pkgconfig /usr/lib/cmake /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig
    /usr/${CMAKE_INSTALL_LIBDIR}/cmake ${share}/man ${share}/man/man1 ${share}/man/man5 ${share}/bash-completion
    ${share}/bash-completion/completions ${share}/fish ${share}/fish/vendor_completions.d ${share}/zsh
    ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  if(EXISTS /etc/debian_version)
    mr_debian_documents()
  endif()
  include(CPack)
endmacro()

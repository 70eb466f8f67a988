# One OpenMP runtime a process. oneDNN asks for GCC's, libgomp.so.1, and code compiled by Clang calls LLVM's, libomp.
# Beside each other they undo pinning and run two teams on the same cores. LLVM's has the functions of GCC's too, under
# the same versions: so a build by Clang gives its programs a folder in which libgomp.so.1 is LLVM's runtime. As RPATH
# and not as RUNPATH, because it has to hold for what the libraries of a program ask for.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  return()
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang" OR NOT OpenMP_omp_LIBRARY)
  message(FATAL_ERROR "OpenMP of ${CMAKE_C_COMPILER_ID} is not known to serve GCC's functions, which oneDNN calls; "
    "build with GCC, with Clang and its libomp, or with -DMILLRACE_OPENMP=OFF: one thread a worker")
endif()
file(REAL_PATH ${OpenMP_omp_LIBRARY} runtime)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/one_openmp)
file(CREATE_LINK ${runtime} ${PROJECT_BINARY_DIR}/one_openmp/libgomp.so.1 SYMBOLIC)
set(CMAKE_BUILD_RPATH ${PROJECT_BINARY_DIR}/one_openmp)
set(alias ${CMAKE_INSTALL_LIBDIR}/millrace)
set(CMAKE_INSTALL_RPATH $ORIGIN/../${alias} $ORIGIN/millrace $ORIGIN/../../${alias}) # of bin, lib and libexec/millrace
add_link_options(-Wl,--disable-new-dtags)
install(FILES ${PROJECT_BINARY_DIR}/one_openmp/libgomp.so.1 DESTINATION ${CMAKE_INSTALL_LIBDIR}/millrace
  COMPONENT library)

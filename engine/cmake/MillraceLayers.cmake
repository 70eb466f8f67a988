# One static library a folder. A layer's sources are what lies in its folder; engine/cli/main.c is the program's own.
# mr_all is every layer there is, for what looks at the program from outside: perf/ and tests/system.
add_library(mr_all INTERFACE)

# Registries are lists (*.def) that C reads as X-macros; a changed list must rebuild who includes it, which depfiles do.
function(mr_options target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF)
  target_compile_definitions(${target} PUBLIC _GNU_SOURCE MR_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${MILLRACE_FAULTS}>:MR_FAULTS=1> $<$<BOOL:${MILLRACE_DNNL}>:MR_DNNL=1>
    $<$<BOOL:${MILLRACE_OPENMP}>:MR_OPENMP=1>)
  # Frame pointers stay, so that perf shows what runs. Warnings that guess from the flow of values come and go with a
  # compiler's version and its optimizer: they are shown, but another compiler's guess does not break a build.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wvla -Wconversion -Wno-sign-conversion -fno-omit-frame-pointer
    $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers> # tables end with {NULL}, at which GCC does not warn
    $<$<BOOL:${MILLRACE_WERROR}>:-Werror -Wno-error=stringop-overflow -Wno-error=stringop-overread
      -Wno-error=array-bounds -Wno-error=format-truncation -Wno-error=maybe-uninitialized>)
  if(MILLRACE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all -g)
    target_link_options(${target} PUBLIC -fsanitize=${MILLRACE_SANITIZE})
  endif()
endfunction()

function(mr_layer name)
  cmake_parse_arguments(L "OPENMP;DNNL" "" "USES;LIBS" ${ARGN})
  # OPENMP and DNNL may be swallowed by the list before them.
  foreach(flag OPENMP DNNL)
    if("${flag}" IN_LIST L_LIBS)
      list(REMOVE_ITEM L_LIBS ${flag})
      set(L_${flag} TRUE)
    endif()
  endforeach()
  if(EXISTS ${CMAKE_SOURCE_DIR}/engine/${name})
    set(dir ${CMAKE_SOURCE_DIR}/engine/${name})
  else()
    set(dir ${CMAKE_SOURCE_DIR}/${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.c)
  list(FILTER sources EXCLUDE REGEX "/cli/main\\.c$")
  if(NOT MILLRACE_DNNL)
    list(FILTER sources EXCLUDE REGEX "/kernels/(onednn|fused)/")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(mr_${name} STATIC ${sources})
  mr_options(mr_${name})
  if(name STREQUAL "nn")
    # So that loops with roots and choices become vectors, with the same bits: nobody reads errno or traps.
    set_property(SOURCE ${dir}/mitigate/gap_aware.c PROPERTY COMPILE_OPTIONS -fno-math-errno -fno-trapping-math)
  endif()
  # The vector kernels ask for their instructions by a pragma of GCC's, which Clang does not know.
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND name STREQUAL "nn" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(avx2 -mavx2 -mfma -mbmi2 -mprfchw -ffp-contract=off)
    set(vec ${dir}/kernels/fused/vec)
    set_property(SOURCE ${vec}_avx2.c ${vec}_gemm_avx2.c PROPERTY COMPILE_OPTIONS ${avx2})
    set_property(SOURCE ${vec}_avx512.c ${vec}_gemm_avx512.c PROPERTY COMPILE_OPTIONS
      ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  endif()
  target_include_directories(mr_${name} PUBLIC ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR})
  foreach(dep ${L_USES})
    if(TARGET mr_${dep})
      target_link_libraries(mr_${name} PUBLIC mr_${dep})
    endif()
  endforeach()
  target_link_libraries(mr_${name} PUBLIC ${L_LIBS})
  target_link_libraries(mr_all INTERFACE mr_${name})
  set_property(GLOBAL APPEND PROPERTY MR_ARCHIVES $<TARGET_FILE:mr_${name}>)
  if(L_OPENMP AND MILLRACE_OPENMP)
    target_link_libraries(mr_${name} PUBLIC OpenMP::OpenMP_C)
  endif()
  if(L_DNNL AND MILLRACE_DNNL)
    target_link_libraries(mr_${name} PRIVATE DNNL::dnnl)
  endif()
endfunction()

function(mr_program name layer)
  if(EXISTS ${CMAKE_SOURCE_DIR}/engine/${layer}/main.c AND TARGET mr_${layer})
    add_executable(${name} ${CMAKE_SOURCE_DIR}/engine/${layer}/main.c)
    set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON) # names in the watchdog's backtraces
    mr_options(${name})
    target_link_libraries(${name} PRIVATE mr_${layer})
  endif()
endfunction()

# Each perf/<name>.c is a program perf_<name>, with what lies in perf/<name>/; `perf` builds all of them.
function(mr_perf_programs)
  file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/perf/*.c)
  add_custom_target(perf)
  foreach(p ${programs})
    get_filename_component(name ${p} NAME_WE)
    file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/perf/${name}/*.c)
    add_executable(perf_${name} ${p} ${parts})
    mr_options(perf_${name})
    target_link_libraries(perf_${name} PRIVATE mr_all)
    add_dependencies(perf perf_${name})
  endforeach()
endfunction()

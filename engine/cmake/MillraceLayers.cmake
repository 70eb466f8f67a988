# One static library a folder. A layer's sources are what lies in its folder; engine/cli/main.c is the program's own.
# mr_all is every layer there is, for what looks at the program from outside: perf/ and tests/system.
add_library(mr_all INTERFACE)

# Registries are lists (*.def) that C reads as X-macros; a changed list must rebuild who includes it, which depfiles do.
function(mr_options target)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF)
  target_compile_definitions(${target} PUBLIC _GNU_SOURCE MR_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${MILLRACE_FAULTS}>:MR_FAULTS=1> $<$<BOOL:${MILLRACE_DNNL}>:MR_DNNL=1>
    $<$<BOOL:${MILLRACE_OPENMP}>:MR_OPENMP=1> $<$<AND:$<BOOL:${MILLRACE_USDT}>,$<BOOL:${SDT_INCLUDE_DIR}>>:MR_USDT=1>)
  # Frame pointers stay, so that perf shows what runs. Warnings that guess from the flow of values come and go with a
  # compiler's version and its optimizer: they are shown, but another compiler's guess does not break a build.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wvla -Wconversion -Wno-sign-conversion -fno-omit-frame-pointer
    $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers> # tables end with {NULL}, at which GCC does not warn
    $<$<BOOL:${MILLRACE_WERROR}>:-Werror>
    $<$<AND:$<BOOL:${MILLRACE_WERROR}>,$<C_COMPILER_ID:GNU>>:-Wno-error=stringop-overflow -Wno-error=stringop-overread
      -Wno-error=array-bounds -Wno-error=format-truncation -Wno-error=maybe-uninitialized>)
  if(MILLRACE_SANITIZE)
    # Reports need functions and lines alone. Where variables are for optimized code takes the compiler minutes in
    # the products; a build for a debugger (Debug) has its own -g.
    target_compile_options(${target} PUBLIC -fsanitize=${MILLRACE_SANITIZE} -fno-sanitize-recover=all
      $<$<NOT:$<CONFIG:Debug>>:-g1>)
    target_link_options(${target} PUBLIC -fsanitize=${MILLRACE_SANITIZE})
  endif()
endfunction()

# Appends a file to the list @to that defines the array mr_@name: the text of @path.
function(mr_text_source to name path)
  file(READ ${path} text)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n\"" text "${text}")
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(folder ${folder} NAME)
  set(file ${PROJECT_BINARY_DIR}/${name}.c)
  file(GENERATE OUTPUT ${file} CONTENT "#include \"${folder}/${name}.h\"\n\nconst char mr_${name}[] = \"${text}\";\n")
  set(${to} ${${to}} ${file} PARENT_SCOPE)
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
  if(EXISTS ${PROJECT_SOURCE_DIR}/engine/${name})
    set(dir ${PROJECT_SOURCE_DIR}/engine/${name})
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/perf/${name})
    set(dir ${PROJECT_SOURCE_DIR}/perf/${name})
  else()
    set(dir ${PROJECT_SOURCE_DIR}/${name})
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.c)
  list(FILTER sources EXCLUDE REGEX "/(cli|mpi)/main\\.c$")
  if(NOT MILLRACE_DNNL)
    list(FILTER sources EXCLUDE REGEX "/kernels/(onednn/|fused/|auto[.]c)")
  endif()
  if(NOT sources)
    return()
  endif()
  if(name STREQUAL "manual")
    mr_text_source(sources pages_text ${dir}/pages.roff)
  endif()
  add_library(mr_${name} STATIC ${sources})
  mr_options(mr_${name})
  # The objects make up the shared library too; no name of theirs is meant to be replaced from outside.
  set_target_properties(mr_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(mr_${name} PRIVATE $<$<C_COMPILER_ID:GNU>:-fno-semantic-interposition>)
  if(name STREQUAL "mitigate")
    # So that loops with roots and choices become vectors, with the same bits: nobody reads errno or traps.
    set_property(SOURCE ${dir}/gap_aware.c PROPERTY COMPILE_OPTIONS -fno-math-errno -fno-trapping-math)
  endif()
  if(name STREQUAL "base")
    set_property(SOURCE ${dir}/rng_normal.c PROPERTY COMPILE_OPTIONS -fno-math-errno) # roots become vectors
  endif()
  # GCC 12.2 for aarch64 breaks off where it makes vectors of some loops; the kernels bring vectors of their own.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64" AND NOT name STREQUAL "nn")
    target_compile_options(mr_${name} PRIVATE -fno-tree-vectorize)
  endif()
  if(name STREQUAL "token")
    target_compile_definitions(mr_token PRIVATE $<$<BOOL:${PCRE2_FOUND}>:MR_PCRE2=1>
      $<$<BOOL:${UTF8PROC_FOUND}>:MR_UTF8PROC=1>)
  endif()
  if(name STREQUAL "formats")
    target_compile_definitions(mr_formats PRIVATE $<$<BOOL:${PNG_FOUND}>:MR_PNG=1>
      $<$<BOOL:${JPEG_FOUND}>:MR_JPEG=1> $<$<BOOL:${WEBP_FOUND}>:MR_WEBP=1> $<$<BOOL:${GIF_FOUND}>:MR_GIF=1>)
  endif()
  # The vector kernels ask for their instructions by a pragma of GCC's, which Clang does not know.
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang" AND name STREQUAL "nn" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(avx2 -mavx2 -mfma -mbmi2 -mprfchw -ffp-contract=off)
    set(fused ${dir}/kernels/fused)
    set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
    file(GLOB avx2_sources ${fused}/*/*_avx2.c ${fused}/blocks/block_model.c)
    file(GLOB avx512_sources ${fused}/*/vec_*_avx512.c ${fused}/vec/vec_avx512.c)
    file(GLOB avx512_bf16_sources ${fused}/*/*_avx512_bf16.c ${fused}/blocks/block_avx512.c)
    set_property(SOURCE ${avx2_sources} PROPERTY COMPILE_OPTIONS ${avx2})
    set_property(SOURCE ${avx512_sources} PROPERTY COMPILE_OPTIONS ${avx512})
    set_property(SOURCE ${avx512_bf16_sources} PROPERTY COMPILE_OPTIONS ${avx512} -mavx512bf16)
    set_property(SOURCE ${fused}/blocks/block_amx.c PROPERTY COMPILE_OPTIONS -mamx-tile -mamx-bf16)
  endif()
  # Its inlined functions keep no address of what has left its scope; to check that takes the compiler a quarter longer.
  if(name STREQUAL "nn" AND MILLRACE_SANITIZE MATCHES "address")
    file(GLOB products ${dir}/kernels/fused/gemm/vec_*_avx2.c ${dir}/kernels/fused/gemm/vec_*_avx512.c)
    set_property(SOURCE ${products} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize-address-use-after-scope)
  endif()
  # Plans are made by one thread before there are others, which only read them.
  if(MILLRACE_SANITIZE MATCHES "thread" AND name MATCHES "^(ir|timing|lower|schedules|planner|models)$")
    target_compile_options(mr_${name} PRIVATE -fno-sanitize=thread)
  endif()
  # Three quarters of a training with the thread sanitizer went into looking at each number of each product.
  if(name STREQUAL "nn" AND MILLRACE_SANITIZE MATCHES "thread")
    set_property(SOURCE ${dir}/kernels/reference/reference_f32.c ${dir}/kernels/reference/reference_f64.c
      APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=thread -DMR_WATCHED)
  endif()
  target_include_directories(mr_${name} PUBLIC ${PROJECT_SOURCE_DIR}/engine ${PROJECT_SOURCE_DIR}/engine/include
    ${PROJECT_SOURCE_DIR})
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
  if(EXISTS ${PROJECT_SOURCE_DIR}/engine/${layer}/main.c AND TARGET mr_${layer})
    add_executable(${name} ${PROJECT_SOURCE_DIR}/engine/${layer}/main.c)
    set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON) # names in the watchdog's backtraces
    mr_options(${name})
    target_link_libraries(${name} PRIVATE mr_${layer} mr_cli)
  endif()
endfunction()

# Each perf/<name>.c is a program perf_<name>, with what lies in perf/<name>/; `perf` builds all of them.
function(mr_perf_programs)
  file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/perf/*.c)
  add_custom_target(perf)
  foreach(p ${programs})
    get_filename_component(name ${p} NAME_WE)
    file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/perf/${name}/*.c)
    add_executable(perf_${name} ${p} ${parts})
    mr_options(perf_${name})
    target_link_libraries(perf_${name} PRIVATE mr_all)
    add_dependencies(perf perf_${name})
  endforeach()
  # What perf/steps preloads into other programs.
  add_library(perf_mkl_amd MODULE ${PROJECT_SOURCE_DIR}/perf/steps/preload/mkl_amd.c)
  target_compile_definitions(perf_steps PRIVATE MR_MKL_AMD="$<TARGET_FILE:perf_mkl_amd>")
  add_dependencies(perf_steps perf_mkl_amd)
endfunction()

# Installing COMPONENT without TARGET's file, as after `mill run`, says what to build first.
function(mr_install_needs component target)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
    message(FATAL_ERROR
      \"${target} is not built yet: cmake --build ${PROJECT_BINARY_DIR} builds all that is installed\")
  endif()" COMPONENT ${component})
endfunction()

# libmillrace, static and shared: the layers up to the training, behind the headers of engine/include/millrace. Only
# what these declare is exported (engine/include/millrace.map).
function(mr_library)
  set(objects "")
  foreach(layer ${ARGN})
    if(TARGET mr_${layer})
      list(APPEND objects $<TARGET_OBJECTS:mr_${layer}>)
    endif()
  endforeach()
  set(libs PkgConfig::JANSSON PkgConfig::HWLOC PkgConfig::CONFIG ZLIB::ZLIB ${MR_PICTURE_LIBRARIES}
    ${MR_TOKEN_LIBRARIES} Threads::Threads m)
  if(MILLRACE_DNNL)
    list(APPEND libs DNNL::dnnl)
  endif()
  if(MILLRACE_OPENMP)
    list(APPEND libs OpenMP::OpenMP_C)
  endif()
  set(map ${PROJECT_SOURCE_DIR}/engine/include/millrace.map)
  add_library(millrace_shared SHARED ${objects})
  add_library(millrace_static STATIC ${objects})
  add_library(millrace::millrace ALIAS millrace_shared)
  add_library(millrace::static ALIAS millrace_static)
  foreach(kind shared static)
    set_target_properties(millrace_${kind} PROPERTIES OUTPUT_NAME millrace LINKER_LANGUAGE C EXPORT_NAME ${kind})
    target_include_directories(millrace_${kind} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  set_target_properties(millrace_shared PROPERTIES EXPORT_NAME millrace VERSION ${PROJECT_VERSION} SOVERSION
    ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${map})
  target_link_options(millrace_shared PRIVATE -Wl,--version-script=${map})
  if(MILLRACE_SANITIZE)
    foreach(kind shared static)
      target_link_options(millrace_${kind} PUBLIC -fsanitize=${MILLRACE_SANITIZE})
    endforeach()
  else()
    target_link_options(millrace_shared PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(millrace_shared PRIVATE ${libs})
  # Outside, the static library's dependencies are named in the pkg-config file.
  target_link_libraries(millrace_static PUBLIC $<BUILD_INTERFACE:${libs}>)

  # By name and not as Requires.private: of these the shared libraries are meant, not what they would need as static
  # ones.
  set(private "-ljansson -lhwloc -lconfig -lz -lm -pthread")
  if(PNG_FOUND)
    string(APPEND private " -lpng")
  endif()
  if(JPEG_FOUND)
    string(APPEND private " -ljpeg")
  endif()
  if(WEBP_FOUND)
    string(APPEND private " -lwebp")
  endif()
  if(GIF_FOUND)
    string(APPEND private " -lgif")
  endif()
  if(PCRE2_FOUND)
    string(APPEND private " -lpcre2-8")
  endif()
  if(UTF8PROC_FOUND)
    string(APPEND private " -lutf8proc")
  endif()
  if(MILLRACE_DNNL)
    string(APPEND private " -ldnnl")
  endif()
  if(MILLRACE_OPENMP)
    string(APPEND private " -fopenmp")
  endif()
  # From where the file lies, so that the installed tree may be moved.
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up ${up})
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/millrace.pc.in ${PROJECT_BINARY_DIR}/millrace.pc @ONLY)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  set(cmake ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
  mr_install_needs(library millrace_shared)
  mr_install_needs(development millrace_static)
  install(TARGETS millrace_shared EXPORT millraceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    NAMELINK_COMPONENT development)
  install(TARGETS millrace_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT millraceTargets NAMESPACE millrace:: DESTINATION ${cmake} COMPONENT development)
  install(FILES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/millraceConfig.cmake
    ${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake DESTINATION ${cmake} COMPONENT development)
  install(FILES ${PROJECT_BINARY_DIR}/millrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
  install(DIRECTORY ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/millrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT development)
  install(FILES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include/examples/train.c
    DESTINATION ${CMAKE_INSTALL_DATADIR}/millrace/examples COMPONENT development)
endfunction()

# One CUnit runner a layer, linked with that layer and what lies below it, so that an upward call does not link.
#
# tests/<layer>/test_<suite>.c, slow_<suite>.c and long_<suite>.c each define `void mr_suite_<suite>(void)`, which
# registers its CUnit tests. Every such file becomes the ctest <layer>.<suite> with the label fast, slow or long.
# tests/<layer>/*.sh are run with the paths of the source tree and the build tree. tests/system sees every layer;
# tests/layers has no code of ours to link, only rules about the tree.
#
# `mill test` runs several builds as one CTest run. Its sanitized builds set MILLRACE_TEST_PREFIX (asan, tsan), which
# goes in front of names and labels (asan.base.arena, asan-fast), and MILLRACE_TEST_ONLY when only some folders are
# wanted.

set(MILLRACE_TEST_PREFIX "" CACHE STRING "Put in front of the names and labels of tests")
# Not cached: a build folder from before a folder of tests came would leave its tests out.
set(MR_TEST_FOLDERS base token ir timing lower host nn mitigate formats data objective schedules planner models store
  link stage weights exec threads replay profile job config costs session checkpoint choose outline report page
  starter reader trained manual observe logbook training cli mpi hosts theory flamegraph python packaging system
  layers perf)
set(MILLRACE_TEST_ONLY "" CACHE STRING "Folders whose tests are built; empty: all")
if(MILLRACE_TEST_ONLY)
  set(MR_TEST_FOLDERS ${MILLRACE_TEST_ONLY})
endif()
# These measure, or wait for seconds that must not become many: each alone, but with a sanitizer, whose times nobody
# reads.
set(MR_SERIAL_LAYERS host exec threads profile)
# Of these folders, but one thread that looks at no clock.
set(MR_BESIDE_SUITES host.explorer host.explorer_rings host.topo host.place host.env host.limits host.service)
# These too go by times, though not by short ones: one at a time, beside what goes by none. (Two trainings at once take
# a fifth longer each, and leave no core idle.)
set(MR_LOCKED_LAYERS perf)
set(MR_LOCKED_SUITES checkpoint.kills checkpoint.save_stalls system.bench_peers system.bench_systems
  system.busy_host system.choices system.failures system.profilers system.same_plan system.service system.signals
  system.simulate system.stalls system.top)
# These look at figures of the machine. For all others a short measurement will do; long ones took most of the time of
# the command line's tests.
set(MR_MEASURING_LAYERS host exec threads profile costs)
set(MR_MEASURING_SUITES system.busy_host system.choices system.profilers system.same_plan system.simulate)
set(MR_HURRY 20)
# These wait more than they compute: for clocks, other processes and their start. `mill` runs two of them beside two
# that need a core.
set(MR_WAITING_SUITES checkpoint.save_stalls cli.special_files hosts.hosts hosts.links hosts.slurm mpi.parts mpi.ranks
  mpi.ranks_all system.early_signals system.service system.signals system.stalls system.stop system.top)

find_path(CUNIT_INCLUDE_DIR CUnit/CUnit.h)
find_library(CUNIT_LIBRARY cunit)
if(NOT CUNIT_INCLUDE_DIR OR NOT CUNIT_LIBRARY)
  message(WARNING "CUnit not found: no tests are built (Debian: libcunit1-dev)")
  return()
endif()

function(mr_add_test layer kind suite)
  set(name ${layer}.${suite})
  set(label fast)
  set(timeout 360) # for what hangs: five times what the slowest takes on two loaded cores
  if(kind STREQUAL "long")
    if(NOT suite MATCHES "_long$") # its short form may have the same name
      set(name ${name}_long)
    endif()
    set(label long)
    set(timeout 3600)
  elseif(kind STREQUAL "slow")
    set(label slow)
    set(timeout 900)
  elseif(layer STREQUAL "mpi") # 64 trainings one after the other, which took 187 s on two loaded cores
    set(timeout 900)
  endif()
  set(more "")
  if(NOT layer IN_LIST MR_MEASURING_LAYERS AND NOT "${layer}.${suite}" IN_LIST MR_MEASURING_SUITES)
    set(more ";MR_HURRY=${MR_HURRY}")
  endif()
  if(MILLRACE_TEST_PREFIX)
    set(name ${MILLRACE_TEST_PREFIX}.${name})
    math(EXPR timeout "2 * ${timeout}") # sanitizers take about twice as long
    set(label ${MILLRACE_TEST_PREFIX}-${label})
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  # The teams of two runners at once would spin on each other's cores. (The program itself takes this variable back.)
  if(layer STREQUAL "nn" OR layer STREQUAL "models")
    set(more "${more};OMP_WAIT_POLICY=passive")
  endif()
  # Hundreds of sessions each look at the machine: what sysfs says will do, and a third of their time was hwloc asking
  # the CPU itself and loading plug-ins. (Of host's tests the topology keeps all of it.)
  if(NOT layer STREQUAL "host")
    set(more "${more};HWLOC_COMPONENTS=linux,stop;HWLOC_PLUGINS_PATH=/nonexistent")
  endif()
  # Most of these kills shall meet a save, which waits for a disk: `mill` gives the others memory.
  if("${layer}.${suite}" STREQUAL "checkpoint.kills")
    set(more "${more};TMPDIR=/tmp")
  endif()
  # Tests neither read nor leave what profile keeps for the user: below /dev/null there is no folder for it,
  # nor for a ccache that stands in the compiler's place.
  # A size that no machine has is refused, not a bug of the program. GCC 14 turns the detection of stacks used after
  # return on, and then stores 64-byte vectors to frames of 32-byte alignment.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT
    "XDG_CACHE_HOME=/dev/null;CCACHE_DISABLE=1;\
MR_GOLDEN=${CMAKE_SOURCE_DIR}/tests/golden;MR_SOURCE=${CMAKE_SOURCE_DIR};MR_BUILD=${CMAKE_BINARY_DIR};\
ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1${more}")
  # Begun first: the long ones, so that no core is idle at the end.
  set(cost 0)
  if(kind STREQUAL "slow")
    set(cost 100)
  endif()
  set(id ${layer}.${suite})
  set(needs cores)
  if(id IN_LIST MR_WAITING_SUITES)
    set(needs waits)
    math(EXPR cost "${cost} + 100")
  endif()
  set(serial FALSE)
  set(locked FALSE)
  if(id IN_LIST MR_BESIDE_SUITES)
    math(EXPR cost "${cost} + 1")
  elseif(layer IN_LIST MR_SERIAL_LAYERS)
    set(serial TRUE)
  elseif(layer IN_LIST MR_LOCKED_LAYERS OR id IN_LIST MR_LOCKED_SUITES)
    set(locked TRUE)
  endif()
  if(serial AND NOT MILLRACE_SANITIZE)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  elseif(serial OR locked)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK clock)
  endif()
  if(layer STREQUAL "system")
    math(EXPR cost "${cost} + 50")
  endif()
  set_tests_properties(${name} PROPERTIES COST ${cost} RESOURCE_GROUPS ${needs}:1)
endfunction()

# Sets kind and suite of tests/<layer>/<kind>_<suite>.<c or sh> in the caller.
function(mr_test_file path)
  get_filename_component(base ${path} NAME_WE)
  string(REGEX MATCH "^(test|slow|long)_(.*)$" _ ${base})
  set(kind ${CMAKE_MATCH_1} PARENT_SCOPE)
  set(suite ${CMAKE_MATCH_2} PARENT_SCOPE)
endfunction()

function(mr_tests layer)
  set(dir ${CMAKE_SOURCE_DIR}/tests/${layer})
  set(library mr_${layer})
  set(more "")
  if(layer STREQUAL "system")
    set(library mr_all)
  elseif(layer STREQUAL "costs")
    set(library mr_session) # which fills the workloads that its tests time
    set(more mr_config)
  elseif(layer STREQUAL "timing")
    set(library mr_lower) # which makes the plans that its tests walk
  endif()
  file(GLOB suites CONFIGURE_DEPENDS ${dir}/test_*.c ${dir}/slow_*.c ${dir}/long_*.c)
  file(GLOB helpers CONFIGURE_DEPENDS ${dir}/*.c)
  # Helpers of a layer below.
  if(layer MATCHES "^(costs|cli)$")
    list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/config/config_help.c)
    if(layer STREQUAL "costs")
      list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/job/job_help.c)
    endif()
  elseif(layer MATCHES "^(session|checkpoint|choose|outline|system)$")
    list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/job/job_help.c)
    if(layer STREQUAL "checkpoint")
      list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/store/ckpt_help.c)
    endif()
  elseif(layer MATCHES "^(timing|exec)$")
    list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/lower/small_plans.c)
  elseif(layer MATCHES "^(threads|replay|theory|profile)$")
    list(APPEND helpers ${CMAKE_SOURCE_DIR}/tests/lower/small_plans.c ${CMAKE_SOURCE_DIR}/tests/exec/small_run.c)
  endif()
  foreach(s ${suites})
    list(REMOVE_ITEM helpers ${s})
  endforeach()
  if(suites AND TARGET ${library})
    set(declare "")
    set(table "")
    foreach(s ${suites})
      mr_test_file(${s})
      string(APPEND declare "void mr_suite_${suite}(void);\n")
      string(APPEND table "\t{\"${suite}\", mr_suite_${suite}},\n")
      mr_add_test(${layer} ${kind} ${suite} test_${layer} ${suite})
    endforeach()
    configure_file(${CMAKE_SOURCE_DIR}/tests/runner.c.in ${CMAKE_BINARY_DIR}/runner_${layer}.c @ONLY)
    add_executable(test_${layer} ${CMAKE_BINARY_DIR}/runner_${layer}.c ${suites} ${helpers})
    mr_options(test_${layer})
    # Suites are called from the generated runner, which declares them. CUnit's fatal assertions leave a test by longjmp
    # and never return into it, so nothing that the jump clobbers is read again.
    # What is tested has all of the optimizer; with it the tests took the compiler a third longer. Those of nn compare
    # many numbers themselves.
    set(level $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
    if(layer STREQUAL "nn")
      set(level "")
    endif()
    target_compile_options(test_${layer} PRIVATE ${level} -Wno-missing-prototypes
      $<$<C_COMPILER_ID:GNU>:-Wno-clobbered>)
    target_include_directories(test_${layer} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CUNIT_INCLUDE_DIR})
    if(layer STREQUAL "formats") # which then asks whether the decoders know of them
      target_compile_definitions(test_formats PRIVATE $<$<BOOL:${PNG_FOUND}>:MR_FOUND_PNG=1>
        $<$<BOOL:${JPEG_FOUND}>:MR_FOUND_JPEG=1> $<$<BOOL:${WEBP_FOUND}>:MR_FOUND_WEBP=1>
        $<$<BOOL:${GIF_FOUND}>:MR_FOUND_GIF=1>)
    endif()
    target_link_libraries(test_${layer} PRIVATE ${library} ${more} ${CUNIT_LIBRARY})
    add_dependencies(tests test_${layer})
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${dir}/test_*.sh ${dir}/slow_*.sh ${dir}/long_*.sh)
  foreach(s ${scripts})
    mr_test_file(${s})
    mr_add_test(${layer} ${kind} ${suite} sh ${s} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  endforeach()
endfunction()

# tests/layers/test_symbols.sh looks at the archives themselves.
get_property(archives GLOBAL PROPERTY MR_ARCHIVES)
list(JOIN archives "\n" archives)
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/archives.txt CONTENT "${archives}\n")

# Everything that the tests of these folders run; the program, for scripts.
add_custom_target(tests)
foreach(program millrace millrace-mpi)
  if(TARGET ${program})
    add_dependencies(tests ${program})
  endif()
endforeach()
foreach(layer ${MR_TEST_FOLDERS})
  if(layer STREQUAL "perf")
    # A benchmark that is never run rots: those with a tiny size run it.
    file(GLOB programs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/perf/*.c)
    foreach(p ${programs})
      get_filename_component(name ${p} NAME_WE)
      file(STRINGS ${p} tiny REGEX "\"--tiny\"" LIMIT_COUNT 1)
      if(tiny)
        mr_add_test(perf slow ${name} perf_${name} --tiny)
        add_dependencies(tests perf_${name})
      endif()
    endforeach()
  else()
    mr_tests(${layer})
  endif()
endforeach()

# The package millrace: the target millrace::millrace, the shared library.
include(${CMAKE_CURRENT_LIST_DIR}/millraceTargets.cmake)

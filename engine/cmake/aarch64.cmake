# Toolchain for aarch64 on another machine: Debian's cross compiler, the libraries in a folder, and qemu to run what was
# built. `./mill cross` fills the folder and builds; by hand:
#
#	cmake -B build-aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=engine/cmake/aarch64.cmake -DMILLRACE_ARM_ROOT=FOLDER
#
# FOLDER holds the unpacked arm64 packages of the libraries (libdnnl-dev, libhwloc-dev, ... and what they depend on).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SKIP_RPATH ON)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(MILLRACE_ARM_ROOT "" CACHE PATH "Folder of unpacked arm64 packages")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MILLRACE_ARM_ROOT)

set(arm_lib ${MILLRACE_ARM_ROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${MILLRACE_ARM_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} ${arm_lib}/pkgconfig:${MILLRACE_ARM_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MILLRACE_ARM_ROOT})
# Libraries of libraries are there too, or are not needed to link.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${arm_lib} -Wl,--allow-shlib-undefined")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${arm_lib} -Wl,--allow-shlib-undefined")
set(CMAKE_C_FLAGS_INIT
  "-isystem ${MILLRACE_ARM_ROOT}/usr/include -isystem ${MILLRACE_ARM_ROOT}/usr/include/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E
  LD_LIBRARY_PATH=${arm_lib}:${MILLRACE_ARM_ROOT}/lib/aarch64-linux-gnu)

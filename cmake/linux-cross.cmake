# Toolchain: Linux on another processor, by the cross compilers of Debian and
# Ubuntu; XPOLL_ARCH names it.  What it builds runs under qemu's user emulation;
# i686 runs as it is, with the C library that came with the compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${XPOLL_ARCH})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES XPOLL_ARCH)
set(CMAKE_C_COMPILER ${XPOLL_ARCH}-linux-gnu-gcc)
set(root /usr/${XPOLL_ARCH}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
if(XPOLL_ARCH STREQUAL "i686")
  # The old kind of rpath also serves the libraries that the program is linked with.
  set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,--dynamic-linker=${root}/lib/ld-linux.so.2 -Wl,--disable-new-dtags,-rpath,${root}/lib")
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${XPOLL_ARCH} -L ${root})
endif()

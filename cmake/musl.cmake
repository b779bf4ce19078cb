# Toolchain: musl instead of this system's C library, by Debian's musl-tools; the
# programs are static.  Of the system's headers only the kernel's are seen.
set(CMAKE_C_COMPILER musl-gcc)
execute_process(COMMAND cc -print-multiarch OUTPUT_VARIABLE multiarch
  OUTPUT_STRIP_TRAILING_WHITESPACE)
set(headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${headers})
foreach(folder linux asm-generic ${multiarch}/asm)
  get_filename_component(name ${folder} NAME)
  file(CREATE_LINK /usr/include/${folder} ${headers}/${name} SYMBOLIC)
endforeach()
set(CMAKE_C_FLAGS_INIT "-isystem ${headers}")
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)

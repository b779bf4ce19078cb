# Compiler and linker flags, as two interface targets:
#   xpoll_warnings   warnings, for every target of this project
#   xpoll_hardening  what a distribution would add, for what is installed
# Sanitizers and coverage must reach every object, so they are set globally.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# -std=c11 hides everything beyond ISO C.  The empty value is the one that a
# plain "#define _GNU_SOURCE" in a file may repeat without a warning.
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  add_compile_definitions("_DARWIN_C_SOURCE=")
elseif(CMAKE_SYSTEM_NAME STREQUAL "SunOS")
  add_compile_definitions("__EXTENSIONS__=")
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  # Windows 10 and later; and printf as C has it.
  add_compile_definitions(_WIN32_WINNT=0x0A00 WIN32_LEAN_AND_MEAN __USE_MINGW_ANSI_STDIO=1)
else()
  add_compile_definitions("$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>") # C++ has it
endif()

# Flags from outside may have it.  It means nothing here, but glibc's headers then give
# functions other names, and the drop-ins define both.
if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-U_FILE_OFFSET_BITS>)
endif()

function(xpoll_flag_if_known target flag)
  string(MAKE_C_IDENTIFIER "XPOLL_HAVE${flag}" known)
  check_c_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(${target} INTERFACE ${flag})
  endif()
endfunction()

add_library(xpoll_warnings INTERFACE)
target_compile_options(xpoll_warnings INTERFACE -Wall -Wextra -Wpedantic)
foreach(warning
    -Wshadow -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2
    -Wimplicit-fallthrough -Wnull-dereference -Wlogical-op -Wduplicated-cond)
  xpoll_flag_if_known(xpoll_warnings ${warning})
endforeach()
target_compile_options(xpoll_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition>)
if(XPOLL_WERROR)
  target_compile_options(xpoll_warnings INTERFACE -Werror)
endif()

add_library(xpoll_hardening INTERFACE)
# With mingw-w64 these need a library of their own.
if(NOT WIN32)
  foreach(flag -fstack-protector-strong -fstack-clash-protection)
    xpoll_flag_if_known(xpoll_hardening ${flag})
  endforeach()
endif()
# Fortify needs an optimiser, and hides from the sanitizers what it checks itself.
# A level that comes with the compiler, or with the flags of a distribution, stays.
if(NOT WIN32 AND NOT XPOLL_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
  unset(XPOLL_IS_FORTIFIED CACHE) # The flags may be others than last time.
  check_c_source_compiles("
    #ifndef _FORTIFY_SOURCE
    #error
    #endif
    int main(void) { return 0; }" XPOLL_IS_FORTIFIED)
  unset(CMAKE_TRY_COMPILE_CONFIGURATION)
  if(NOT XPOLL_IS_FORTIFIED)
    target_compile_options(xpoll_hardening INTERFACE -D_FORTIFY_SOURCE=2)
  endif()
endif()
foreach(flag -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
  string(MAKE_C_IDENTIFIER "XPOLL_HAVE${flag}" known)
  check_linker_flag(C ${flag} ${known})
  if(${known})
    target_link_options(xpoll_hardening INTERFACE ${flag})
  endif()
endforeach()

if(XPOLL_SANITIZE)
  add_compile_options(-fsanitize=${XPOLL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${XPOLL_SANITIZE})
  if(XPOLL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(XPOLL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(XPOLL_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

find_program(CCACHE_PROGRAM ccache)
if(top_level AND CCACHE_PROGRAM AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

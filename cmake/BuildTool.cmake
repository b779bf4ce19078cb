# CMake chooses the build tool before it reads CMakeLists.txt.  Where that tool is missing,
# project() would end with "CMAKE_MAKE_PROGRAM is not set": print what to type instead.
# PreLoad.cmake has chosen ninja if that is installed and make is not.
if(CMAKE_GENERATOR STREQUAL "Unix Makefiles" OR CMAKE_GENERATOR STREQUAL "Ninja")
  find_program(xpoll_make NAMES gmake make smake)
  find_program(xpoll_ninja NAMES ninja-build ninja samu)
  set(xpoll_line "with your package manager")
  foreach(xpoll_manager "apt-get install" "dnf install" "apk add" "pacman -S" "zypper install"
      "pkg install")
    string(REGEX MATCH "^[^ ]*" xpoll_name "${xpoll_manager}")
    find_program(xpoll_found_${xpoll_name} ${xpoll_name})
    if(xpoll_found_${xpoll_name})
      set(xpoll_line "as root: ${xpoll_manager} make")
      break()
    endif()
  endforeach()
  if(CMAKE_MAKE_PROGRAM OR (xpoll_make AND CMAKE_GENERATOR STREQUAL "Unix Makefiles")
      OR (xpoll_ninja AND CMAKE_GENERATOR STREQUAL "Ninja"))
    # It is there.
  elseif(xpoll_ninja)
    message(FATAL_ERROR "make is not installed, but ninja is.  Use it, and a folder that CMake "
      "has not seen:\n  cmake -G Ninja -B build/ninja && cmake --build build/ninja")
  elseif(xpoll_make)
    message(FATAL_ERROR "ninja is not installed, but make is.  Use it, and a folder that CMake "
      "has not seen:\n  cmake -G \"Unix Makefiles\" -B build/make && cmake --build build/make")
  else()
    message(FATAL_ERROR "Neither make nor ninja is installed.  Install make, ${xpoll_line}")
  endif()
  foreach(xpoll_name make ninja found_apt-get found_dnf found_apk found_pacman found_zypper
      found_pkg)
    unset(xpoll_${xpoll_name} CACHE)
  endforeach()
endif()

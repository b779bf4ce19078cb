# CMake reads this file before it chooses a generator.  Its default is make: where only ninja
# is installed, and nobody has named a generator, use ninja.
if(NOT DEFINED CACHE{CMAKE_GENERATOR} AND NOT DEFINED ENV{CMAKE_GENERATOR} AND CMAKE_HOST_UNIX)
  find_program(xpoll_make NAMES gmake make smake)
  find_program(xpoll_ninja NAMES ninja-build ninja samu)
  if(NOT xpoll_make AND xpoll_ninja)
    set(CMAKE_GENERATOR Ninja CACHE INTERNAL "Name of generator.")
  endif()
  unset(xpoll_make CACHE)
  unset(xpoll_ninja CACHE)
endif()

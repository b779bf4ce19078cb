# Which files make the library on which system: the choice that #if does not make.
# scripts/systems.py reads it as well.
#
# xpoll_system(NAME ON SYSTEM... [WITH HEADER] BACKENDS BACKEND... FOLDERS FOLDER...
#              [FILES FILE...] [EXCEPT PATTERN...])
# makes XPOLL_SOURCES_NAME of all files in FOLDERS, base, core and source.  A file stands in
# for one of the same name in a folder of FOLDERS before its own.  The first entry whose ON
# has CMake's name of the system, and whose header is there, makes XPOLL_SOURCES and
# XPOLL_BACKENDS, with which the tests run.
function(xpoll_system name)
  cmake_parse_arguments(PARSE_ARGV 1 has "" "WITH" "ON;BACKENDS;FOLDERS;FILES;EXCEPT")
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  foreach(folder base core source)
    file(GLOB files RELATIVE ${here} CONFIGURE_DEPENDS ${here}/${folder}/*.c)
    list(APPEND sources ${files})
  endforeach()
  foreach(folder IN LISTS has_FOLDERS)
    file(GLOB files RELATIVE ${here} CONFIGURE_DEPENDS ${here}/${folder}/*.c)
    foreach(file IN LISTS files)
      get_filename_component(base ${file} NAME)
      list(APPEND bases ${base})
      set(of_${base} ${file})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES bases)
  foreach(base IN LISTS bases)
    list(APPEND sources ${of_${base}})
  endforeach()
  list(APPEND sources ${has_FILES})
  foreach(pattern IN LISTS has_EXCEPT)
    file(GLOB files RELATIVE ${here} ${here}/${pattern})
    list(REMOVE_ITEM sources ${files} "")
  endforeach()
  set(XPOLL_SOURCES_${name} ${sources} PARENT_SCOPE)
  if(NOT DEFINED XPOLL_SOURCES AND CMAKE_SYSTEM_NAME IN_LIST has_ON)
    if(has_WITH)
      include(CheckIncludeFile)
      string(MAKE_C_IDENTIFIER "XPOLL_HAS_${has_WITH}" there)
      check_include_file(${has_WITH} ${there})
      if(NOT ${there})
        return()
      endif()
    endif()
    set(XPOLL_SOURCES ${sources} PARENT_SCOPE)
    set(XPOLL_BACKENDS ${has_BACKENDS} PARENT_SCOPE)
  endif()
endfunction()

xpoll_system(LINUX ON Linux BACKENDS epoll poll select
  FOLDERS posix linux EXCEPT posix/lacking.c posix/sys_epoll.c)
# Edges by kqueue(2), not by epoll(7).
xpoll_system(KQUEUE ON FreeBSD NetBSD OpenBSD DragonFly BACKENDS kqueue poll select
  FOLDERS posix bsd EXCEPT posix/epoll_*.c posix/sys_epoll.c)
xpoll_system(DARWIN ON Darwin BACKENDS kqueue select
  FOLDERS posix bsd bsd/darwin EXCEPT posix/epoll_*.c posix/sys_epoll.c)
# illumos; and Solaris, without epoll(7): no edges, and no descriptor of a queue.
xpoll_system(SUNOS ON SunOS WITH sys/epoll.h BACKENDS port devpoll poll select
  FOLDERS posix sunos sunos/illumos EXCEPT source/empty.c source/proc*.c)
xpoll_system(SOLARIS ON SunOS BACKENDS port devpoll poll
  FOLDERS posix sunos EXCEPT source/empty.c source/proc*.c posix/select.c)
# windows/posix has what the library uses of POSIX headers that are not there.
xpoll_system(WINDOWS ON Windows BACKENDS afd
  FOLDERS windows FILES posix/lacking.c posix/signal_pending.c
  EXCEPT base/alloc.c source/empty.c)

if(NOT DEFINED XPOLL_SOURCES)
  message(FATAL_ERROR "xpoll does not know ${CMAKE_SYSTEM_NAME} yet; see docs/internals/porting.md")
endif()

# Which files make the library on which system: the choice that #if does not make.
# scripts/amalgamate.py and scripts/style.py read it as well.
#
# xpoll_system(NAME OS FOLDER... FILES PATTERN... [EXCEPT FILE...]) makes
# XPOLL_SOURCES_NAME.  OS: folders of src/os; a file stands in for one of that name in
# a folder before it.  FILES: of the other folders.
function(xpoll_system name)
  cmake_parse_arguments(PARSE_ARGV 1 has "" "" "OS;FILES;EXCEPT")
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  foreach(os IN LISTS has_OS)
    file(GLOB files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/os/${os}/*.c)
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
  foreach(pattern IN LISTS has_FILES)
    file(GLOB files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${pattern})
    list(APPEND sources ${files})
  endforeach()
  list(REMOVE_ITEM sources ${has_EXCEPT} "")
  set(XPOLL_SOURCES_${name} ${sources} PARENT_SCOPE)
endfunction()

# On every system.
set(every base/heap.c base/mutex.c base/pool.c base/regmap.c base/table.c core/*.c source/*.c
  source/provider/aio_hold.c source/provider/aio_work.c
  source/provider/signal_selfpipe.c)
# With the descriptors, signals and threads of POSIX.
set(posix ${every} base/alloc.c source/provider/signal_handler.c
  backend/array.c backend/poll.c backend/select.c)

# No descriptor reports that a blocked signal is pending.
set(unreported source/provider/signal_pending_absent.c)

xpoll_system(LINUX OS posix linux
  FILES ${posix} system/linux.c backend/epoll*.c source/provider/aio_uring.c
  source/provider/inode_inotify*.c source/provider/proc_connector.c
  source/provider/proc_p*.c source/provider/signal_pending.c)
xpoll_system(KQUEUE OS lacking posix bsd
  FILES ${posix} ${unreported} system/bsd.c backend/kqueue*.c source/provider/*_kqueue.c)
xpoll_system(DARWIN OS lacking posix bsd darwin
  FILES ${posix} ${unreported} system/darwin.c backend/kqueue*.c source/provider/*_kqueue.c)
# Edges by epoll(7), which illumos has as well.
set(sunos ${posix} ${unreported} backend/devpoll*.c backend/port*.c backend/epoll_*.c
  source/provider/inode_port.c)
set(not_sunos source/empty.c source/proc.c source/proc_state.c source/proc_trace.c)
xpoll_system(SUNOS OS lacking posix sunos illumos
  FILES ${sunos} system/illumos.c EXCEPT ${not_sunos})
# No epoll(7), so no edges, and no descriptor of a queue.
xpoll_system(SOLARIS OS lacking posix sunos
  FILES ${sunos} system/solaris.c EXCEPT ${not_sunos} backend/select.c)
# os/nt/posix has what the library uses of POSIX headers that are not there.
xpoll_system(NT OS lacking nt
  FILES ${every} ${unreported} system/nt.c base/alloc_aligned.c backend/afd*.c
  source/provider/inode_change.c source/provider/proc_handle.c
  source/provider/signal_console.c
  EXCEPT source/empty.c)

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_LINUX})
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_DARWIN})
elseif(CMAKE_SYSTEM_NAME MATCHES "^(FreeBSD|NetBSD|OpenBSD|DragonFly)$")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_KQUEUE})
elseif(CMAKE_SYSTEM_NAME STREQUAL "SunOS")
  include(CheckIncludeFile)
  check_include_file(sys/epoll.h XPOLL_HAS_EPOLL)
  set(XPOLL_SOURCES ${XPOLL_SOURCES_SOLARIS})
  if(XPOLL_HAS_EPOLL)
    set(XPOLL_SOURCES ${XPOLL_SOURCES_SUNOS})
  endif()
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  set(XPOLL_SOURCES ${XPOLL_SOURCES_NT})
else()
  message(FATAL_ERROR "xpoll does not know ${CMAKE_SYSTEM_NAME} yet; see docs/internals/porting.md")
endif()

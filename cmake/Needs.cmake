# What there is no building without, said before a compiler does in its own words.
include(CheckCSourceCompiles)

# xpoll_need(NAME MESSAGE SOURCE): SOURCE has to compile; linked it is not.
function(xpoll_need name message source)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  check_c_source_compiles("${source}\nint xpoll_needs;" ${name})
  if(NOT ${name})
    unset(${name} CACHE) # Somebody may install it.
    message(FATAL_ERROR "${message}")
  endif()
endfunction()

xpoll_need(XPOLL_HAS_C11 "needed: gcc or clang, with C11 and <stdatomic.h>, as CC" "
  #include <stdatomic.h>
  struct line { _Alignas(64) _Atomic unsigned long number; };
  unsigned long next(struct line *line);
  unsigned long next(struct line *line) {
    return atomic_fetch_add(&line->number, 1);
  }
  __attribute__((visibility(\"hidden\"))) extern _Thread_local int here;")
if(NOT WIN32)
  xpoll_need(XPOLL_HAS_POSIX "needed: the C library's headers for POSIX threads and poll(2)" "
    #include <poll.h>
    #include <pthread.h>
    #include <time.h>
    pthread_mutex_t *mutex; struct pollfd *pollfd; struct timespec *span;")
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  xpoll_need(XPOLL_HAS_LINUX "needed: the headers of glibc or musl, and of Linux 4.11 or later" "
    #include <linux/perf_event.h>
    #include <linux/sock_diag.h>
    #include <sys/epoll.h>
    #include <sys/eventfd.h>
    #include <sys/inotify.h>
    #include <sys/syscall.h>
    #include <sys/timerfd.h>
    long numbers[] = { SYS_statx, SYS_openat, SYS_getdents64 };")
endif()

# The files of the harness on systems with POSIX, and those that Windows has as well.
set(XT_COMMON xt_check.c xt_io.c xt_main.c xt_noise.c xt_queue.c xt_run.c xt_sockets.c xt_thread.c
  xt_tsan.c)
set(XT_POSIX ${XT_COMMON} xt_fds.c xt_process.c xt_scratch.c xt_watch.c)
set(XT_WINDOWS ${XT_COMMON} windows/xt_fds.c windows/xt_process.c)

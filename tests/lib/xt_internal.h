/* xt_internal: declarations that the files of the harness share. */
#ifndef XT_INTERNAL_H
#define XT_INTERNAL_H

#include "xt.h"

#define XT_FD_SCAN 4096 /* descriptors below this are checked for leaks */

/* The tests of the program, in order, and the seed of all random numbers. */
extern struct xt_test *xt_first;
extern uint64_t xt_chosen_seed;
extern double xt_chosen_seconds; /* value of --seconds, for stress tests; 0: not given */

/* Run a test and clean up.  Returns 0: passed, 1: failed, 77: skipped. */
int xt_run_one(const struct xt_test *test);
/* Select the back end by $XPOLL_BACKEND or the library's default; ends the program on failure. */
void xt_choose_backend(void);

/*
 * Have a descriptor closed when the test ends, and make it nonblocking and close-on-exec.  Returns
 * fd.
 */
int xt_own(int fd);
void xt_fds_release(void);     /* close the descriptors of xt_keep and xt_own */
void xt_threads_release(void); /* join the threads of xt_start */
void xt_queues_release(void);
void xt_scratch_release(void); /* remove the test's directory */

/* Call a function for all running threads; async-signal-safe. */
void xt_threads_each(void (*act)(pthread_t thread, int argument),
                     int argument);
int xt_thread_kernel_id(struct xt_thread *thread); /* 0: the thread has not begun to run */
/* Send a signal to every thread of the test, for the watchdog; async-signal-safe. */
void xt_threads_signal(int signal_of);
void xt_watchdog_install(void);
void xt_watchdog_start(const char *name, unsigned seconds);
void xt_watchdog_stop(void);

/* The two threads of threads mode, which change registrations of a queue until they are stopped. */
struct xt_noise;
struct xt_noise *xt_noise_start(struct xpoll *queue);
void xt_noise_stop(struct xt_noise *noise);

/* Does nothing; the call makes the linker take xt_tsan.c from the archive. */
void xt_tsan_link(void);

/* Ends the program, because the harness itself has failed. */
void xt_broken(const char *what) __attribute__((noreturn));

#endif

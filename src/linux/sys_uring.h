/*
 * The system calls of io_uring(7): see sys/sys.h for the conventions.
 *
 * XP_HAVE_URING is defined if the system's headers declare io_uring; otherwise this file declares
 * nothing.
 */
#ifndef XP_LINUX_SYS_URING_H
#define XP_LINUX_SYS_URING_H

#include <sys/syscall.h>

#if defined(__has_include) && defined(SYS_io_uring_setup)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define XP_HAVE_URING 1

/* io_uring_setup(2).  -ENOSYS: not supported; -EPERM, -EACCES: not permitted. */
int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
/*
 * io_uring_enter(2): submit entries, and sleep until there are `wait` completions; 0: do not sleep.
 * Returns the number of entries that the kernel has consumed, or a negative errno value.
 */
int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
/* Store which of the first `ops` operations the kernel supports (IORING_REGISTER_PROBE). */
int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops);

#endif
#endif
#endif

/*
 * The system calls of io_uring(7): see sys/sys.h for the conventions.
 *
 * XP_HAVE_URING is defined if the headers of the system declare io_uring; otherwise this file is
 * empty.
 */
#ifndef XP_LINUX_SYS_URING_H
#define XP_LINUX_SYS_URING_H

#include <sys/syscall.h>

#if defined(__has_include) && defined(SYS_io_uring_setup)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define XP_HAVE_URING 1

/*
 * setup returns -ENOSYS: not supported; -EPERM, -EACCES: not permitted.  enter submits `submit`
 * entries and waits until `wait` have completed.
 */
int xp_sys_uring_setup(unsigned entries, struct io_uring_params *params);
int xp_sys_uring_enter(int ring_fd, unsigned submit, unsigned wait);
int xp_sys_uring_probe(int ring_fd, void *probe, unsigned ops);

#endif
#endif
#endif

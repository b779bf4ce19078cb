/*
 * System calls for perf_event_open(2) and its rings of records: see sys/sys.h for the conventions.
 */
#ifndef XP_LINUX_SYS_PERF_H
#define XP_LINUX_SYS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_event_attr;

/*
 * Set whether only new threads inherit the event, or also child processes (only: false).  Headers
 * before Linux 5.13 lack the field: there this does nothing, and child processes inherit the event.
 */
void xp_sys_perf_threads_only(struct perf_event_attr *attr, bool only);

/*
 * Open an event of a thread (0: the calling one) on a processor (-1: on any).  -ENODEV: the
 * processor is off; -ESRCH: no such thread, or it is exiting; -ENOTSUP; -EPERM; -EMFILE, -ENOMEM
 * ...
 */
int xp_sys_perf_open(struct perf_event_attr *attr, pid_t thread, int cpu);

/* Make the kernel write the records of the event fd into the ring of the event output_fd. */
int xp_sys_perf_redirect(int fd, int output_fd);

/*
 * Returns the number of processors, including those that are off.  The number of each processor is
 * below the result.
 */
int xp_sys_cpus(void);

size_t xp_sys_page_size(void);

#endif

/* perf_event_open(2) and the rings of records that come with it. */
#ifndef XP_LINUX_SYS_PERF_H
#define XP_LINUX_SYS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_event_attr;

/*
 * Set whether only new threads inherit the event, and child processes do not.  Headers before
 * Linux 5.13 have no such field: there this does nothing, and children inherit it as well.
 */
void xp_sys_perf_threads_only(struct perf_event_attr *attr, bool only);

/*
 * Open an event of a thread (0: the calling one) on a processor.  -ENODEV: that is off; -ESRCH:
 * no such thread, or it is ending; -ENOTSUP; -EPERM; -EMFILE, -ENOMEM ...
 */
int xp_sys_perf_open(struct perf_event_attr *attr, pid_t thread, int cpu);

/* Redirect the records of fd into the ring that output_fd uses. */
int xp_sys_perf_redirect(int fd, int output_fd);

/* Returns an upper bound of the numbers of processors. */
int xp_sys_cpus(void);

size_t xp_sys_page_size(void);

#endif

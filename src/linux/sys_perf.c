/*
 * perf_event_open(2), for which the C library has no function, and the sizes that its rings need.
 */
#include "linux/sys_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <linux/version.h>
#include <unistd.h>

#include "sys/rawcall.h"

void xp_sys_perf_threads_only(struct perf_event_attr *attr, bool only)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 13, 0)
	attr->inherit_thread = only;
#else
	(void)attr;
	(void)only;
#endif
}

int xp_sys_perf_open(struct perf_event_attr *attr, pid_t thread, int cpu)
{
	int fd;

	attr->size = sizeof *attr;
	fd = (int)xp_rawcall(SYS_perf_event_open, (long)attr, thread, cpu, -1,
	                     PERF_FLAG_FD_CLOEXEC, 0);
	switch (fd) {
	case -EACCES:
		return -EPERM;
	case -ENOSYS:
	case -ENOENT:
	case -EOPNOTSUPP:
		return -ENOTSUP;
	default:
		return fd;
	}
}

int xp_sys_perf_redirect(int fd, int output_fd)
{
	return (int)xp_rawcall(SYS_ioctl, fd, PERF_EVENT_IOC_SET_OUTPUT,
	                       output_fd, 0, 0, 0);
}

int xp_sys_cpus(void)
{
	int saved = errno;
	long count = sysconf(_SC_NPROCESSORS_CONF);

	errno = saved;
	return count > 0 ? (int)count : 1;
}

size_t xp_sys_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

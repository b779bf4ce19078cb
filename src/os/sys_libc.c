/* System calls through the C library: what POSIX has everywhere. */
#include "os/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

int xp_sys_fstat(int fd, struct stat *status)
{
	int saved = errno;
	int rc = fstat(fd, status);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

int64_t xp_sys_tell(int fd)
{
	int saved = errno;
	int64_t offset = lseek(fd, 0, SEEK_CUR);

	if (offset < 0) {
		offset = -errno;
		errno = saved;
	}
	return offset;
}

int xp_sys_open_flags(int fd)
{
	int saved = errno;
	int rc = fcntl(fd, F_GETFL);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

bool xp_sys_is_tty(int fd)
{
	int saved = errno;
	bool is_tty = isatty(fd) == 1;

	errno = saved;
	return is_tty;
}

int xp_sys_readlink(const char *path, char *buffer, size_t size)
{
	int saved = errno;
	ssize_t rc = readlink(path, buffer, size);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return (int)rc;
}

/* NULL: for ever. */
static const struct timespec *time_left(int64_t deadline_ns,
                                        struct timespec *left)
{
	int64_t left_ns;

	if (deadline_ns == XP_NEVER)
		return NULL;
	left_ns = deadline_ns == XP_NOW ? 0 : deadline_ns - xp_sys_now();
	if (left_ns < 0)
		left_ns = 0;
	left->tv_sec = (time_t)(left_ns / XP_NS_PER_SEC);
	left->tv_nsec = (long)(left_ns % XP_NS_PER_SEC);
	return left;
}

int xp_sys_poll_wait(struct pollfd *fds, size_t count, int64_t deadline_ns,
                     const sigset_t *mask)
{
	struct timespec left;
	int saved = errno;
	int rc = ppoll(fds, (nfds_t)count, time_left(deadline_ns, &left), mask);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

int xp_sys_select_wait(int count, long *const sets[3], int64_t deadline_ns,
                       const sigset_t *mask)
{
	struct timespec left;
	int saved = errno;
	int rc = pselect(count, (fd_set *)(void *)sets[0],
	                 (fd_set *)(void *)sets[1], (fd_set *)(void *)sets[2],
	                 time_left(deadline_ns, &left), mask);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

int xp_sys_sigaction(int number, const struct sigaction *action,
                     struct sigaction *before)
{
	int saved = errno;
	int rc = sigaction(number, action, before);

	if (rc < 0) {
		rc = -errno;
		errno = saved;
	}
	return rc;
}

/*
 * System calls, most of them made with a lock held, on systems where only the C library can make
 * them.  The library's functions are cancellation points, so cancellation is disabled around each.
 */
#include "sys/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/libcall.h"
#include "sys/pollbits.h"

int xp_sys_close(int fd)
{
	return XP_UNCANCELLED(close(fd));
}

int xp_sys_read(int fd, void *buffer, size_t size)
{
	return XP_UNCANCELLED(read(fd, buffer, size));
}

int xp_sys_write(int fd, const void *buffer, size_t size)
{
	return XP_UNCANCELLED(write(fd, buffer, size));
}

int xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc;

	xp_pollbits_strip_rdhup(fds, count);
	do
		rc = poll(fds, (nfds_t)count, 0);
	while (rc < 0 && errno == EINTR);
	rc = xp_pollbits_retry_refused(fds, count, rc);
	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_select_now(int count, long *in, long *out, long *except)
{
	int rc;

	do {
		struct timeval zero = {0, 0};

		rc = XP_UNCANCELLED(select(count, (fd_set *)(void *)in, (fd_set *)(void *)out,
		                           (fd_set *)(void *)except, &zero));
	} while (rc == -EINTR);
	return rc;
}

static int set_pipe_flags(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Set the flags by fcntl(2), because some systems lack pipe2(2). */
int xp_sys_pipe(int ends[2])
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = pipe(ends);

	if (rc == 0 && (set_pipe_flags(ends[0]) < 0 || set_pipe_flags(ends[1]) < 0)) {
		rc = errno;
		close(ends[0]);
		close(ends[1]);
		errno = rc;
		rc = -1;
	}
	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_peek_child(pid_t pid, int *status)
{
	siginfo_t info;
	int rc;

	memset(&info, 0, sizeof info);
	rc = XP_UNCANCELLED(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG));
	if (rc < 0)
		return rc;
	if (info.si_pid == 0)
		return -EAGAIN;
	*status = info.si_status & 0x7f;
	if (info.si_code == CLD_EXITED)
		*status = (info.si_status & 0xff) << 8;
	else if (info.si_code == CLD_DUMPED)
		*status |= 0x80;
	return 0;
}

bool xp_sys_is_path(int fd)
{
#ifdef O_PATH
	int flags = xp_sys_open_flags(fd);

	return flags >= 0 && flags & O_PATH;
#else
	(void)fd;
	return false;
#endif
}

void *xp_sys_wipe_on_fork_page(void)
{
#if defined(INHERIT_ZERO)
	int zero = INHERIT_ZERO;
#elif defined(MAP_INHERIT_ZERO)
	int zero = MAP_INHERIT_ZERO;
#endif
#if defined(INHERIT_ZERO) || defined(MAP_INHERIT_ZERO)
	int saved = errno;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANON, -1, 0);

	if (page != MAP_FAILED && minherit(page, size, zero) < 0) {
		munmap(page, size);
		page = MAP_FAILED;
	}
	errno = saved;
	return page == MAP_FAILED ? NULL : page;
#else
	return NULL;
#endif
}

const char *xp_sys_getenv(const char *name)
{
#ifdef __GLIBC__
	return secure_getenv(name);
#else
	return issetugid() ? NULL : getenv(name);
#endif
}

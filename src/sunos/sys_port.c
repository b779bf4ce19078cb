/* port_create(3C), and the other functions of event ports. */
#include "sunos/sys_port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "sys/libcall.h"
#include "sys/pollbits.h"
#include "sys/sys.h"

/* The library's own value of POLLRDHUP, if the system does not define it. */
#define PORT_UNKNOWN_BITS (XP_POLL_LACKS_RDHUP ? POLLRDHUP : 0)
#ifndef EBADFD
#define EBADFD EBADF
#endif

int xp_sys_port_create(void)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int fd = port_create();

	if (fd >= 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	else if (errno == EAGAIN)
		errno = ENFILE;
	return (int)xp_uncancelled_end(&before, fd);
}

int xp_sys_port_associate(int port_fd, int fd, int events, uintptr_t cookie)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = port_associate(port_fd, PORT_SOURCE_FD, (uintptr_t)fd,
	                        events & ~PORT_UNKNOWN_BITS, (void *)cookie);

	if (rc < 0 && errno == EBADFD)
		errno = EBADF;
	if (rc < 0 && errno == EAGAIN)
		errno = ENOSPC;
	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_port_dissociate(int port_fd, int fd)
{
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc = port_dissociate(port_fd, PORT_SOURCE_FD, (uintptr_t)fd);

	if (rc < 0 && errno == EBADFD)
		errno = EBADF;
	return (int)xp_uncancelled_end(&before, rc);
}

int xp_sys_port_send(int port_fd)
{
	int saved = errno;
	int rc = port_send(port_fd, 0, NULL);

	if (rc < 0)
		rc = errno == EAGAIN || errno == ENOMEM ? -ENOSPC : -errno;
	errno = saved;
	return rc;
}

void xp_sys_port_alert(int port_fd, bool on)
{
	int saved = errno;

	(void)port_alert(port_fd, PORT_ALERT_SET, on, NULL);
	errno = saved;
}

/*
 * port_getn(3C) may return events together with ETIME, and on some systems with EINTR.  The count
 * may then be the requested one although there is no event: in that case the first event is still
 * clear, as it was before the call.
 */
static int port_get_some(int port_fd, port_event_t *events, int cap,
                         const struct timespec *timeout)
{
	struct timespec time;
	uint_t count = 1;
	int rc;

	if (timeout)
		time = *timeout;
	events[0].portev_source = 0;
	rc = port_getn(port_fd, events, (uint_t)cap, &count,
	               timeout ? &time : NULL);
	if (rc == 0)
		return (int)count;
	if (errno != ETIME && errno != EINTR)
		return -errno;
	if (events[0].portev_source != 0)
		return (int)count;
	return errno == ETIME ? 0 : -EINTR;
}

int xp_sys_port_now(int port_fd, port_event_t *events, int cap)
{
	static const struct timespec zero;
	struct xp_uncancelled before = xp_uncancelled_begin();
	int rc;

	do
		rc = port_get_some(port_fd, events, cap, &zero);
	while (rc == -EINTR);
	(void)xp_uncancelled_end(&before, 0);
	return rc;
}

int xp_sys_port_wait(int port_fd, port_event_t *events, int cap,
                     int64_t deadline_ns)
{
	struct timespec left;
	int saved = errno;
	int rc = port_get_some(port_fd, events, cap,
	                       xp_sys_time_left(deadline_ns, &left));

	errno = saved;
	return rc;
}

/* Opens and changes the outer epoll set, whose descriptor xpoll_fd returns: see posix/outer.h. */
#include "posix/outer.h"

#include "base/assert.h"
#include "posix/sys_epoll.h"
#include "sys/sys.h"

void xp_outer_init(struct xp_outer *outer, int inner_fd, int second_fd)
{
	*outer = (struct xp_outer){
		.inner_fd = inner_fd,
		.second_inner_fd = second_fd,
		.fd = -1,
		.attention = {.fd = -1, .write_fd = -1},
		.alarm_fd = -1,
		.alarm_ns = XP_NEVER,
	};
}

static void outer_close(int fd)
{
	if (fd >= 0)
		xp_sys_close(fd);
}

void xp_outer_fini(struct xp_outer *outer)
{
	outer_close(outer->fd);
	xp_wakefd_close(&outer->attention);
	outer_close(outer->alarm_fd);
}

bool xp_outer_owns(const struct xp_outer *outer, int fd)
{
	return fd == outer->fd || xp_wakefd_has(&outer->attention, fd) || fd == outer->alarm_fd;
}

/*
 * Add fd to the outer set, level-triggered.  If outer_get_fd or fd is a negative errno value,
 * returns that.
 */
static int outer_add(int outer_get_fd, int fd)
{
	if (outer_get_fd < 0 || fd < 0)
		return outer_get_fd < 0 ? outer_get_fd : fd;
	return xp_sys_epoll_ctl(outer_get_fd, EPOLL_CTL_ADD, fd, EPOLLIN, 0);
}

/*
 * Open the outer set, and add the inner sets, which have the program's descriptors, and the
 * attention descriptor, which the queue makes readable for other events.  If one step fails, the
 * whole call fails, because the outer set would not be readable whenever it has to be.
 */
static int outer_get_fd(void *opaque)
{
	struct xp_outer *outer = opaque;
	int fd = outer->fd < 0 ? xp_sys_epoll_create() : outer->fd;
	int rc;

	if (fd < 0 || fd == outer->fd)
		return fd;
	rc = xp_wakefd_open(&outer->attention);
	if (rc == 0)
		rc = outer_add(fd, outer->attention.fd);
	if (rc == 0)
		rc = outer_add(fd, outer->inner_fd);
	if (rc == 0 && outer->second_inner_fd >= 0)
		rc = outer_add(fd, outer->second_inner_fd);
	if (rc < 0) {
		xp_wakefd_close(&outer->attention);
		xp_sys_close(fd);
		xp_outer_init(outer, outer->inner_fd, outer->second_inner_fd);
		return rc;
	}
	outer->fd = fd;
	return fd;
}

int xp_outer_add_inner(struct xp_outer *outer, int inner_fd)
{
	if (outer->fd < 0)
		return 0;
	return outer_add(outer->fd, inner_fd);
}

void xp_outer_remove_inner(struct xp_outer *outer, int inner_fd)
{
	if (outer->fd >= 0)
		(void)xp_sys_epoll_ctl(outer->fd, EPOLL_CTL_DEL, inner_fd, 0, 0);
}

static void outer_set_attention(void *opaque, bool on)
{
	struct xp_outer *outer = opaque;

	XP_ASSERT(outer->fd >= 0 && outer->attention.fd >= 0);
	if (on)
		xp_wakefd_signal(&outer->attention);
	else
		xp_wakefd_clear(&outer->attention);
}

/* Open the alarm's timerfd and add it to the outer set. */
static int alarm_open(struct xp_outer *outer)
{
	int fd = xp_sys_timer_fd();
	int rc = outer_add(outer->fd, fd);

	if (rc >= 0)
		outer->alarm_fd = fd;
	else
		outer_close(fd);
	return rc;
}

static int outer_set_alarm(void *opaque, int64_t deadline_ns)
{
	struct xp_outer *outer = opaque;
	int rc = 0;

	XP_ASSERT(outer->fd >= 0);
	if (deadline_ns == outer->alarm_ns)
		return 0;
	/*
	 * If the present alarm is earlier, leave it: the outer descriptor may be readable too
	 * early, which is harmless, and a call is saved for timers that are extended before they
	 * expire, as most are.
	 */
	if (outer->alarm_ns < deadline_ns && outer->alarm_ns > xp_sys_now())
		return 0;
	if (outer->alarm_fd < 0)
		rc = alarm_open(outer);
	if (rc >= 0)
		rc = xp_sys_timer_set(outer->alarm_fd, deadline_ns);
	if (rc >= 0)
		outer->alarm_ns = deadline_ns;
	return rc;
}

const struct xp_outer_ops xp_outer_ops = {
	.fd = outer_get_fd,
	.set_attention = outer_set_attention,
	.set_alarm = outer_set_alarm,
};

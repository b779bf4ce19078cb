/* The outer epoll set. */
#include "backend/outer.h"

#include "base/assert.h"
#include "base/time.h"
#include "os/sys.h"
#include "os/sys_epoll.h"

void xp_outer_init(struct xp_outer *outer)
{
	*outer = (struct xp_outer){
		.fd = -1,
		.attention_fd = -1,
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
	outer_close(outer->attention_fd);
	outer_close(outer->alarm_fd);
}

bool xp_outer_owns(const struct xp_outer *outer, int fd)
{
	return fd == outer->fd || fd == outer->attention_fd ||
		fd == outer->alarm_fd;
}

static int outer_add(int outer_fd, int fd)
{
	if (outer_fd < 0 || fd < 0)
		return outer_fd < 0 ? outer_fd : fd;
	return xp_sys_epoll_ctl(outer_fd, EPOLL_CTL_ADD, fd, EPOLLIN, 0);
}

/* With all that is to make it readable, or not at all: it must not be silent. */
static int outer_open(struct xp_outer *outer, int inner_fd, int second_fd)
{
	int outer_fd = xp_sys_epoll_create();
	int attention_fd = xp_sys_eventfd(false);
	int rc = outer_add(outer_fd, inner_fd);

	if (rc >= 0 && second_fd >= 0)
		rc = outer_add(outer_fd, second_fd);
	if (rc >= 0)
		rc = outer_add(outer_fd, attention_fd);
	if (rc < 0) {
		outer_close(attention_fd);
		outer_close(outer_fd);
		return rc;
	}
	outer->attention_fd = attention_fd;
	outer->fd = outer_fd;
	return 0;
}

int xp_outer_fd(struct xp_outer *outer, int inner_fd, int second_fd)
{
	int rc = outer->fd < 0 ? outer_open(outer, inner_fd, second_fd) : 0;

	return rc < 0 ? rc : outer->fd;
}

int xp_outer_hold(struct xp_outer *outer, int inner_fd)
{
	if (outer->fd < 0 || outer->apart)
		return 0;
	return outer_add(outer->fd, inner_fd);
}

void xp_outer_release(struct xp_outer *outer, int inner_fd)
{
	if (outer->fd >= 0 && !outer->apart)
		(void)xp_sys_epoll_ctl(outer->fd, EPOLL_CTL_DEL, inner_fd, 0, 0);
}

/* Each event of the inner set would be reported here: a tenth of its price. */
static void outer_part(struct xp_outer *outer, int inner_fd)
{
	XP_ASSERT(outer->attention_fd >= 0);
	xp_outer_release(outer, inner_fd);
	outer->apart = true;
}

static int outer_calm(struct xp_outer *outer, int inner_fd)
{
	uint64_t count;
	int rc = outer->apart ? outer_add(outer->fd, inner_fd) : 0;

	if (rc < 0)
		return rc;
	outer->apart = false;
	xp_sys_read(outer->attention_fd, &count, sizeof count);
	return 0;
}

int xp_outer_set_attention(struct xp_outer *outer, enum xp_attention attention,
                           int inner_fd)
{
	static const uint64_t one = 1;

	XP_ASSERT(outer->fd >= 0 && outer->attention_fd >= 0);
	if (attention == XP_ATTENTION_NONE)
		return outer_calm(outer, inner_fd);
	if (attention == XP_ATTENTION_LASTS)
		outer_part(outer, inner_fd);
	else
		xp_sys_write(outer->attention_fd, &one, sizeof one);
	return 0;
}

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

int xp_outer_set_alarm(struct xp_outer *outer, int64_t deadline_ns)
{
	int rc = 0;

	XP_ASSERT(outer->fd >= 0);
	if (deadline_ns == outer->alarm_ns)
		return 0;
	/* Too early is right, too: most timers are put off before they expire. */
	if (outer->alarm_ns < deadline_ns && outer->alarm_ns > xp_sys_now())
		return 0;
	if (outer->alarm_fd < 0)
		rc = alarm_open(outer);
	if (rc < 0)
		return rc;
	xp_sys_timer_set(outer->alarm_fd, deadline_ns);
	outer->alarm_ns = deadline_ns;
	return 0;
}

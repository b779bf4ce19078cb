/* No set that a port could be in together with others: xpoll_fd is ENOTSUP. */
#include "backend/outer.h"

#include <errno.h>

#include "base/assert.h"

void xp_outer_init(struct xp_outer *outer)
{
	*outer = (struct xp_outer){.fd = -1};
}

void xp_outer_fini(struct xp_outer *outer)
{
	XP_ASSERT(outer->fd < 0);
}

bool xp_outer_owns(const struct xp_outer *outer, int fd)
{
	(void)outer, (void)fd;
	return false;
}

int xp_outer_fd(struct xp_outer *outer, int inner_fd, int second_fd)
{
	(void)outer, (void)inner_fd, (void)second_fd;
	return -ENOTSUP;
}

int xp_outer_hold(struct xp_outer *outer, int inner_fd)
{
	(void)outer, (void)inner_fd;
	return 0;
}

void xp_outer_release(struct xp_outer *outer, int inner_fd)
{
	(void)outer, (void)inner_fd;
}

int xp_outer_set_attention(struct xp_outer *outer, enum xp_attention attention,
                           int inner_fd)
{
	(void)outer, (void)attention, (void)inner_fd;
	return -ENOTSUP;
}

int xp_outer_set_alarm(struct xp_outer *outer, int64_t deadline_ns)
{
	(void)outer, (void)deadline_ns;
	return -ENOTSUP;
}

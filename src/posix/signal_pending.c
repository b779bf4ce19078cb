/*
 * Signals that are blocked: the library has a descriptor that reports them only on Linux
 * (linux/signal_pending.c); here these functions fail, or return 0 or false.
 */
#include "source/signal.h"

#include <errno.h>

int xp_pending_open_set(void)
{
	return -ENOTSUP;
}

int xp_pending_open_fd(int set, unsigned number)
{
	(void)set, (void)number;
	return -ENOTSUP;
}

unsigned xp_pending_next(int set)
{
	(void)set;
	return 0;
}

bool xp_pending_now(unsigned number)
{
	(void)number;
	return false;
}

bool xp_pending_may_be_resent(unsigned number)
{
	(void)number;
	return false;
}

bool xp_pending_others_asleep(void)
{
	return false;
}

bool xp_pending_accept(int fd, unsigned number)
{
	(void)fd, (void)number;
	return false;
}

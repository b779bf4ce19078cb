/*
 * For the tests of the epoll(7) drop-in: open a set, make one change, expect
 * one event, expect none.
 */
#ifndef KIT_H
#define KIT_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "xt.h"

/* Open a set, which is closed when the test ends. */
static inline int kit_open(void)
{
	return xt_keep(epoll_create1(EPOLL_CLOEXEC));
}

/* Make a change, with the descriptor as data.  Returns 0 or the errno value. */
static inline int kit_ctl(int set, int op, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)fd | UINT64_C(7) << 40};

	return epoll_ctl(set, op, fd, &event) < 0 ? errno : 0;
}

static inline int kit_add(int set, int fd, uint32_t events)
{
	return kit_ctl(set, EPOLL_CTL_ADD, fd, events);
}

static inline int kit_mod(int set, int fd, uint32_t events)
{
	return kit_ctl(set, EPOLL_CTL_MOD, fd, events);
}

static inline int kit_del(int set, int fd)
{
	return kit_ctl(set, EPOLL_CTL_DEL, fd, 0);
}

static inline bool kit_gets(const char *file, int line, int set, int fd, uint32_t bits,
                            int timeout)
{
	struct epoll_event events[4];
	int count = epoll_wait(set, events, 4, timeout);

	if (count == 1 && (int)(events[0].data.u64 & UINT32_MAX) == fd &&
	    events[0].data.u64 >> 40 == 7 && events[0].events == bits)
		return true;
	xt_fail(file, line, "%d events; the first: 0x%x of %d, not 0x%x of %d", count,
	        count > 0 ? events[0].events : 0,
	        count > 0 ? (int)(events[0].data.u64 & UINT32_MAX) : -1, bits, fd);
	return false;
}

static inline bool kit_none(const char *file, int line, int set)
{
	struct epoll_event events[4];
	int count = epoll_wait(set, events, 4, 0);

	if (count == 0)
		return true;
	xt_fail(file, line, "%d events; the first: 0x%x of %d", count,
	        count > 0 ? events[0].events : 0,
	        count > 0 ? (int)(events[0].data.u64 & UINT32_MAX) : -1);
	return false;
}

/* KIT_HAS checks that exactly this event is ready now, KIT_GETS waits for it. */
#define KIT_HAS(set, fd, bits) XT_CALL(kit_gets(__FILE__, __LINE__, (set), (fd), (bits), 0))
#define KIT_GETS(set, fd, bits) XT_CALL(kit_gets(__FILE__, __LINE__, (set), (fd), (bits), 20000))
#define KIT_NONE(set) XT_CALL(kit_none(__FILE__, __LINE__, (set)))

static inline bool kit_readable(int fd)
{
	return xt_poll(fd, POLLIN) & POLLIN;
}

#endif

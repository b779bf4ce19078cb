/*
 * For the tests of the kqueue(2) drop-in: make one change, expect one event,
 * expect none.
 *
 * manual.md lists the names of the tests beside the manual's sentences; a
 * script compares the two.
 */
#ifndef KIT_H
#define KIT_H

#include <sys/event.h>

#include "xt.h"

/* Open a queue, which is closed when the test ends. */
static inline int kit_open(void)
{
	return xt_keep(kqueue());
}

/* Make a change without room for its status.  Returns 0 or the errno value. */
static inline int kit_change(int kq, uintptr_t ident, int filter, int flags,
                             unsigned fflags, int64_t data, void *udata)
{
	struct kevent change;

	EV_SET(&change, ident, filter, flags, fflags, data, udata);
	return kevent(kq, &change, 1, NULL, 0, NULL) < 0 ? errno : 0;
}

static inline int kit_add(int kq, int fd, int filter, int flags)
{
	return kit_change(kq, (uintptr_t)fd, filter, EV_ADD | flags, 0, 0, NULL);
}

static inline int kit_flag(int kq, int fd, int filter, int flags)
{
	return kit_change(kq, (uintptr_t)fd, filter, flags, 0, 0, NULL);
}

/* Store the events that are ready now.  Returns their number. */
static inline int kit_look(int kq, struct kevent *events, int cap)
{
	const struct timespec zero = {0, 0};

	return kevent(kq, NULL, 0, events, cap, &zero);
}

/* Wait for an event that must come. */
static inline int kit_wait(int kq, struct kevent *events, int cap)
{
	const struct timespec soon = {20, 0};

	return kevent(kq, NULL, 0, events, cap, &soon);
}

static inline bool kit_gets(const char *file, int line, int kq,
                            struct kevent *event, uintptr_t ident, int filter)
{
	struct kevent events[4];
	int count = kit_wait(kq, events, 4);

	memset(event, 0, sizeof *event);
	if (count == 1 && events[0].ident == ident &&
	    events[0].filter == filter) {
		*event = events[0];
		return true;
	}
	xt_fail(file, line, "%d events; the first: filter %d of %ju, "
	        "flags 0x%x, not one of filter %d of %ju",
	        count, count > 0 ? events[0].filter : 0,
	        (uintmax_t)(count > 0 ? events[0].ident : 0),
	        count > 0 ? events[0].flags : 0, filter, (uintmax_t)ident);
	return false;
}

static inline bool kit_none(const char *file, int line, int kq)
{
	struct kevent events[4];
	int count = kit_look(kq, events, 4);

	if (count == 0)
		return true;
	xt_fail(file, line, "%d events; the first: filter %d of %ju", count,
	        count > 0 ? events[0].filter : 0,
	        (uintmax_t)(count > 0 ? events[0].ident : 0));
	return false;
}

/* Check that exactly this one event comes. */
#define KIT_GETS(kq, event, ident, filter)                     \
	XT_CALL(kit_gets(__FILE__, __LINE__, (kq), (event),    \
	                 (uintptr_t)(ident), (filter)))

#define KIT_NONE(kq) XT_CALL(kit_none(__FILE__, __LINE__, (kq)))

static inline bool kit_readable(int kq)
{
	return xt_poll(kq, POLLIN) & POLLIN;
}

#endif

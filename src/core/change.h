/*
 * The changes of a descriptor's registrations: ADD, DELETE, ENABLE, DISABLE.
 *
 * All with the queue's lock held.  Results are 0 or a negative errno value.
 */
#ifndef XP_CORE_CHANGE_H
#define XP_CORE_CHANGE_H

#include "core/interest.h"
#include "core/queue.h"

/* What an ADD asks for. */
struct xp_interest {
	unsigned filters; /* set of XP_READ ... */
	int modes;        /* XPOLL_CLEAR, ONESHOT, DISPATCH, WHOLE */
	unsigned requested; /* XP_REQUEST_... */
	bool exclusive;
	bool counted;
	bool soerr;
	int64_t lowat; /* in bytes; 0: none */
	bool follows; /* READ is reported when a file grows */
	bool enable; /* the poll-like ADD also enables */
	bool disable;
	bool keep_udata;
	union xp_udata udata;
};

int xp_change_add(struct xpoll *queue, int fd, const struct xp_interest *add);
int xp_change_delete(struct xpoll *queue, int fd, unsigned filters);
/*
 * Less is wanted of a slot that keeps registrations, and perhaps of the filters
 * that are kept: 0, or as a change.
 */
int xp_change_narrowed(struct xpoll *queue, int fd, struct xp_slot *slot,
                         unsigned kept);
int xp_change_enable(struct xpoll *queue, int fd, unsigned filters);
int xp_change_disable(struct xpoll *queue, int fd, unsigned filters);

/* Count a change; syscalls: those of changes before it. */
static inline void xp_change_counted(struct xpoll *queue, int rc, uint64_t syscalls)
{
	struct xp_counters *counters = &queue->counters;

	if (rc >= 0 && xp_counter_read(&counters->syscalls_change) == syscalls) {
		xp_count(&counters->changes_free);
		return;
	}
	xp_count(&counters->changes);
	if (rc < 0)
		xp_count(&counters->change_errors);
}

/*
 * An ADD of what was not registered, and the kernel said no: rc says why.  It
 * is a file that cannot be waited for, or nothing becomes of it.
 */
int xp_change_refused(struct xpoll *queue, int fd, struct xp_slot *slot,
                        bool follows, int rc);

#endif

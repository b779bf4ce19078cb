/*
 * The state of the port back end: a table of descriptors, with the requested bits and the
 * association of each.
 *
 * An association ends with its event, and without a report when the descriptor is closed.
 * Descriptors that have to be associated, because they have fired or more bits are requested, are
 * "due": they are in a list, and are associated by the next flush, or the next wait that has the
 * queue's lock or is made by the only thread.
 */
#ifndef XP_SUNOS_PORT_STATE_H
#define XP_SUNOS_PORT_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mutex.h"
#include "posix/edge.h"
#include "sunos/sys_port.h"
#include "sys/backend.h"

enum xp_port_place {
	XP_PORT_NONE, /* not attached */
	XP_PORT_IN_PORT,    /* watched by the port, if bits are requested */
	XP_PORT_EDGE, /* in the edge set: watched by epoll, not by the port */
};

struct xp_port_object {
	uint64_t token;
	uint64_t device; /* device and inode number identify the file */
	uint64_t inode;
	int64_t socket_ctime_s; /* st_ctime of a socket, whose inode number may be reused; else 0 */
	/* cookie of the association; 0: none.  Events with other cookies are stale */
	uint32_t cookie;
	uint32_t armed_epoch; /* number of the last wait that had begun before the association */
	uint16_t want;       /* requested bits; 0 while the edge set watches the descriptor */
	uint16_t armed_bits; /* bits of the association; 0: not associated */
	uint8_t watched_in; /* enum xp_port_place */
	bool edge_set_only; /* a device: epoll watches it, even level-triggered */
	bool due;        /* in the list of due descriptors, those to associate */
	int next;        /* next descriptor in that list; -1: last */
};

/* `lock` is taken after the queue's lock, and is not held while a thread sleeps. */
struct xp_port_set {
	int fd;               /* the port; immutable */
	/*
	 * The epoll set of the descriptors that the port does not watch: edge-triggered ones and
	 * devices.  The descriptor of the set itself never changes.
	 */
	struct xp_edge edge;
	struct xp_mutex lock; /* guards all members below */
	struct xp_counters *counters;
	struct xp_port_object *objects; /* indexed by descriptor */
	int len;
	int due_head; /* first descriptor in the list of those to associate; -1: none */
	int due_tail;
	uint32_t last_cookie; /* the cookie of the latest association; the next gets 1 more */
	uint32_t last_epoch;   /* number of waits begun */
	/* threads in a wait, which may have events that are not handled yet */
	int waiters;
	int port_only_waiters; /* threads in a wait that sleeps on the port only, not on `edge` */
	int edge_count;        /* number of descriptors in `edge` */
	bool events_lost;      /* a thread was cancelled, and may have taken events */
	bool flush_failed; /* the last flush failed: no memory, or too many associations */
	atomic_bool alert; /* the port is on alert: all waits return; used without the lock */
};

/*
 * Make one thread that waits at the port return, or the next one that begins to wait.  If the port
 * has no room for an event, makes all waiting threads return.  Async-signal-safe.
 */
void xp_port_wake(struct xp_port_set *set);
/* Make all threads that sleep at the port return, by an alert.  Async-signal-safe. */
void xp_port_wake_all(struct xp_port_set *set);
/*
 * Called with the lock by a thread that has seen the alert: turns the alert off, unless other
 * threads still have to see it.
 */
void xp_port_clear_alert(struct xp_port_set *set);

int xp_port_set_open(struct xp_port_set *set, struct xp_counters *counters);
void xp_port_set_close(struct xp_port_set *set);

/*
 * All functions below are called with the lock held.  The first three do the work of the
 * back end's functions of these names.
 */
int xp_port_attach(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_change(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_detach(struct xp_port_set *set, int fd);

/* Returns the state of a descriptor; NULL: not attached. */
struct xp_port_object *xp_port_find(const struct xp_port_set *set, int fd);
/*
 * Put a descriptor at the end of the list of due ones, which the next flush or wait associates,
 * unless it is in the list.
 */
void xp_port_make_due(struct xp_port_set *set, struct xp_port_object *object, int fd);

/*
 * Associate the descriptors in the list from due_head on.  Closed or reused ones are reported in
 * `fired` with POLLNVAL, until *count, the number of reports, is cap; the remaining ones stay in
 * the list.  Returns 0, or -ENOMEM or -ENOSPC if one could not be associated.
 */
int xp_port_associate_due(struct xp_port_set *set, struct xp_fired *fired,
                          int cap, int *count);

/* Reports of events that may be out of date, until one poll(2) checks them. */
struct xp_port_unsure {
	struct pollfd probes[64];
	struct xp_fired *fired[64];
	int len;
};

/*
 * Store the report of an event in `fired`; call: number of this wait.  Returns false if there is
 * nothing to report.  An event that may be out of date is added to `unsure`; then xp_port_recheck
 * stores the present bits in the report, or 0.
 */
bool xp_port_fired(struct xp_port_set *set, const port_event_t *event,
                   uint32_t call, struct xp_port_unsure *unsure,
                   struct xp_fired *fired);
void xp_port_recheck(struct xp_port_set *set, struct xp_port_unsure *unsure);

#endif

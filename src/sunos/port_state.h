/*
 * The state of the port back end: a table of descriptors, with the requested bits and the
 * association of each.
 *
 * An association ends with its event, and unnoticed when the descriptor is closed.  Descriptors
 * that have to be associated, because they have fired or more bits are requested, are in a list of
 * due ones.  The next wait that has the queue's lock associates them.
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
	XP_PORT_ASSOCIATED,
	XP_PORT_EDGE, /* in the edge set */
};

struct xp_port_object {
	uint64_t token;
	uint64_t device; /* identifies the file */
	uint64_t inode;
	int64_t born_s;  /* time of birth of a socket, whose inode number may be reused */
	uint32_t arming; /* cookie of the association; events with others are stale */
	uint32_t call;   /* number of the last wait that had begun before */
	uint16_t want;   /* bits */
	uint16_t armed;  /* bits of the association; 0: none */
	uint8_t place;   /* enum xp_port_place */
	bool aside;      /* a device: epoll watches it, even level-triggered */
	bool due;        /* in the list of due ones */
	int next;        /* next in that list */
};

/* The lock is taken after the queue's, and is not held while a thread sleeps. */
struct xp_port_set {
	int fd;               /* immutable */
	struct xp_edge edge;  /* its descriptor: immutable */
	struct xp_mutex lock; /* guards all members below */
	struct xp_counters *counters;
	struct xp_port_object *objects;
	int len;
	int due_head; /* -1: none is due */
	int due_tail;
	uint32_t armings;
	uint32_t calls; /* number of waits begun */
	int waiters;    /* threads that may have events that were not handled yet */
	int deaf;       /* those of them that sleep on the port only */
	int edges;      /* number of descriptors in the edge set */
	bool lost;      /* a thread was cancelled, and may have taken events */
	bool stuck;     /* memory or the like was lacking for the next due one */
	atomic_bool alert; /* the port is on alert; used without the lock */
};

/* Make one thread at the port, this or the next, return.  Async-signal-safe. */
void xp_port_wake(struct xp_port_set *set);
/* Make all of them return. */
void xp_port_call_all(struct xp_port_set *set);
/* Called with the lock by a thread that has seen the alert. */
void xp_port_called(struct xp_port_set *set);

int xp_port_set_open(struct xp_port_set *set, struct xp_counters *counters);
void xp_port_set_close(struct xp_port_set *set);

/* The functions below are called with the lock held.  These are the back end's functions. */
int xp_port_attach(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_change(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_detach(struct xp_port_set *set, int fd);

/* Returns the state of a descriptor; NULL: not attached. */
struct xp_port_object *xp_port_find(const struct xp_port_set *set, int fd);
/* Put a descriptor into the list of due ones, for the next wait to associate. */
void xp_port_due(struct xp_port_set *set, struct xp_port_object *object, int fd);

/*
 * Associate the descriptors that are due.  Closed or reused ones are reported with POLLNVAL: up to
 * cap reports, and *count grows.  Returns 0, or the error if not all are associated.
 */
int xp_port_associate_due(struct xp_port_set *set, struct xp_fired *fired,
                          int cap, int *count);

/* Events that may have been sent long ago, whose present state has to be checked. */
struct xp_port_unsure {
	struct pollfd probes[64];
	struct xp_fired *fired[64];
	int len;
};

/*
 * Handle an event of a descriptor in the wait with this number.  Returns false if there is nothing
 * to report.  An event that may be out of date is added to `unsure`; after xp_port_recheck it may
 * report nothing.
 */
bool xp_port_fired(struct xp_port_set *set, const port_event_t *event,
                   uint32_t call, struct xp_port_unsure *unsure,
                   struct xp_fired *fired);
void xp_port_recheck(struct xp_port_set *set, struct xp_port_unsure *unsure);

#endif

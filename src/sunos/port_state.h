/*
 * The state of a descriptor in the port back end: the requested bits, and those of its
 * association with the port.  Indexed by number; grows when one is
 * attached.
 *
 * An association ends with its event, or unseen when the number is closed.  So
 * those that are due, because they have fired or more is wanted, are in a
 * list, and are associated by the next wait that has the queue's lock.
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
	uint64_t device; /* which file it is */
	uint64_t inode;
	int64_t born_s;  /* of a socket, whose inode is made from its address */
	uint32_t arming; /* cookie of the association; others' events are stale */
	uint32_t call;   /* the last wait that had begun before it */
	uint16_t want;   /* bits */
	uint16_t armed;  /* bits it is associated for; 0: it is not */
	uint8_t place;   /* enum xp_port_place */
	bool aside;      /* a device: all of it is epoll's, also levels */
	bool due;        /* in the list */
	int next;        /* there */
};

/* The lock comes after the queue's and is not held while a thread sleeps. */
struct xp_port_set {
	int fd;               /* immutable */
	struct xp_edge edge;  /* its descriptor: immutable */
	struct xp_mutex lock; /* of all that follows */
	struct xp_counters *counters;
	struct xp_port_object *objects;
	int len;
	int due_head; /* -1: none is due */
	int due_tail;
	uint32_t armings;
	uint32_t calls; /* waits begun */
	int waiters;    /* threads that may have events which are not taken yet */
	int deaf;       /* of these, at the port alone */
	int edges;      /* objects in the edge set, by edges or levels */
	bool lost;      /* a thread was cancelled, perhaps with events */
	bool stuck;     /* the system lacked what the next one that is due needs */
	atomic_bool alert; /* without the lock: the port was put on alert */
};

/* Make one thread at the port, this or the next, return.  Async-signal-safe. */
void xp_port_wake(struct xp_port_set *set);
/* Make all of them return. */
void xp_port_call_all(struct xp_port_set *set);
/* This thread has seen that the port is on alert; with the lock. */
void xp_port_called(struct xp_port_set *set);

int xp_port_set_open(struct xp_port_set *set, struct xp_counters *counters);
void xp_port_set_close(struct xp_port_set *set);

/* The rest with the lock held.  As the back end's functions of these names. */
int xp_port_attach(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_change(struct xp_port_set *set, int fd, uint32_t watch,
                   uint64_t token);
int xp_port_detach(struct xp_port_set *set, int fd);

/* NULL: not attached. */
struct xp_port_object *xp_port_find(const struct xp_port_set *set, int fd);
/* The next wait associates it. */
void xp_port_due(struct xp_port_set *set, struct xp_port_object *object, int fd);

/*
 * Associate what is due.  What is closed, or another file, fires POLLNVAL: up
 * to cap entries, *count grows.  0, or why not all are associated.
 */
int xp_port_associate_due(struct xp_port_set *set, struct xp_fired *fired,
                          int cap, int *count);

/* Events that may have been sent long ago: what holds now has to be checked. */
struct xp_port_unsure {
	struct pollfd probes[64];
	struct xp_fired *fired[64];
	int len;
};

/*
 * An object's event has come, to a wait with this number; false: there is
 * nothing to report.  What may be out of date is collected in `unsure`, and
 * checked by xp_port_recheck; then it may fire nothing.
 */
bool xp_port_fired(struct xp_port_set *set, const port_event_t *event,
                   uint32_t call, struct xp_port_unsure *unsure,
                   struct xp_fired *fired);
void xp_port_recheck(struct xp_port_set *set, struct xp_port_unsure *unsure);

#endif

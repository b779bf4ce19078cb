/*
 * The afd back end's state: sockets, and the polls of the driver that are
 * under way for them.
 */
#ifndef XP_BACKEND_AFD_H
#define XP_BACKEND_AFD_H

#include "backend/backend.h"
#include "base/list.h"
#include "base/mutex.h"
#include "os/nt/nt.h"

/* Polls of one open device; the driver looks through them one by one. */
enum { AFD_GROUP_MOST = 32 };

struct afd_group {
	struct xp_list item; /* those with room come first */
	HANDLE device;
	int socks;
};

struct afd_sock;

/* A poll: from its beginning until its packet has come it is the driver's. */
struct afd_poll {
	IO_STATUS_BLOCK status;
	struct xp_afd_poll argument;
	struct afd_sock *sock; /* NULL: nobody cares for the answer */
};

struct afd_sock {
	struct xp_list update; /* in `updates`, to be polled by the next wait */
	struct afd_group *group;
	struct afd_poll *poll;
	uint64_t token;
	HANDLE base;
	int fd;
	uint32_t watch; /* what is wanted, and how */
	uint32_t asked; /* bits of the poll under way */
	bool pending;   /* it is */
	/* Of those watched by edges; [s] does not change while `wait` is set. */
	HANDLE event;    /* [s] signalled by activity; NULL: not by edges */
	HANDLE wait;     /* of the system's threads for the event */
	HANDLE port;     /* [s] */
	uint32_t serial; /* [s] tells its packets from older ones' */
};

/* All but what is said otherwise guarded by `lock`. */
struct afd_state {
	HANDLE port; /* immutable */
	struct xp_mutex lock; /* taken after the queue's */
	struct xp_counters *counters;
	struct xp_list groups;
	struct xp_list updates; /* struct afd_sock */
	struct afd_sock **socks; /* by number */
	int socks_len;
	int polls;   /* whose packet has not come */
	int waiters; /* threads at the port */
	uint32_t serial; /* of the last one watched by edges */
};

/* Keys of packets: the kind, and above it, if it is an edge, the number. */
enum { AFD_KEY_POLL, AFD_KEY_WAKE, AFD_KEY_EDGE, AFD_KEY_BITS = 2 };

/* NULL: not attached. */
static inline struct afd_sock *afd_sock_find(const struct afd_state *state,
                                             int fd)
{
	return fd >= 0 && fd < state->socks_len ? state->socks[fd] : NULL;
}

/* As the back end's functions of these names, with the lock held. */
int afd_sock_attach(struct afd_state *state, int fd, uint32_t watch,
                    uint64_t token);
int afd_sock_change(struct afd_state *state, struct afd_sock *sock,
                    uint32_t watch, uint64_t token);
void afd_sock_detach(struct afd_state *state, struct afd_sock *sock);

/* The next wait asks the driver about it. */
void afd_sock_update(struct afd_state *state, struct afd_sock *sock);

/*
 * Begin the polls that are due.  What turns out to be closed goes to fired,
 * *count grows; NULL: that is left for later.  0, or not all have begun.
 */
int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap,
                     int *count);

/* The packet of a poll has come; true: it is something to tell. */
bool afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                    struct xp_fired *fired);

void afd_groups_close(struct afd_state *state);

/*
 * Edges: watched by activity instead of by state.  Begins with what holds, also
 * if it is watched so already.
 */
int afd_edge_begin(struct afd_state *state, struct afd_sock *sock);
void afd_edge_end(struct afd_sock *sock);
/* A packet of that kind has come; true: it is something to tell. */
bool afd_edge_fired(struct afd_state *state, int fd, uint32_t serial,
                    struct xp_fired *fired);

#endif

/*
 * The afd back end's state: what is attached, and the polls of the driver that are
 * under way for sockets.
 */
#ifndef XP_WINDOWS_AFD_STATE_H
#define XP_WINDOWS_AFD_STATE_H

#include "base/list.h"
#include "base/mutex.h"
#include "sys/backend.h"
#include "windows/nt.h"

/* Polls of one open device; the driver looks through them one by one. */
enum { AFD_GROUP_MOST = 32 };

struct afd_group {
	struct xp_list item; /* those with room come first */
	HANDLE device;
	int socks;
};

struct afd_state;
struct afd_entry;
struct afd_sock;
struct afd_edge; /* afd_edge.c */

/* A kind of descriptor.  All with the lock held. */
struct afd_kind {
	size_t size;     /* of what begins with its struct afd_entry */
	uint32_t cannot; /* bits that are refused with -ENOTSUP */
	/* Make a new entry ready; make it ready to be freed, also while a poll is under way. */
	int (*open)(struct afd_state *state, struct afd_entry *entry);
	void (*close)(struct afd_state *state, struct afd_entry *entry);
	/* Watch it in this way from now on; its token is the new one. */
	int (*watch)(struct afd_state *state, struct afd_entry *entry, uint32_t watch);
};

extern const struct afd_kind afd_sock_kind;
/* Handles that are no sockets: objects that are signalled, and pipes. */
extern const struct afd_kind afd_object_kind;
extern const struct afd_kind afd_pipe_kind;

/* One descriptor. */
struct afd_entry {
	const struct afd_kind *kind;
	struct xp_list item; /* in one of its kind's: updates, lapsed, pipes */
	uint64_t token;
	uint32_t watch; /* what is wanted, and how */
	bool is_source; /* the handle is a source's, and not the program's */
	int fd;
};

/* A poll: from its beginning until its packet has come it is the driver's. */
struct afd_poll {
	IO_STATUS_BLOCK status;
	struct xp_afd_poll argument;
	struct afd_sock *sock; /* NULL: nobody cares for the answer */
	uint32_t call;         /* the last wait that had begun before it */
};

struct afd_sock {
	struct afd_entry entry;
	struct afd_group *group;
	struct afd_poll *poll;
	HANDLE base;
	uint32_t asked; /* bits of the poll under way */
	bool pending;   /* it is */
	/* For sockets registered with CLEAR: */
	struct afd_edge *edge; /* kept while nothing is wanted; NULL: none */
	uint32_t first;        /* bits that held when it began, not reported yet */
	bool hung;             /* the peer's end was reported */
};

/* All but what is said otherwise guarded by `lock`. */
struct afd_state {
	HANDLE port; /* immutable */
	struct xp_mutex lock; /* taken after the queue's */
	struct xp_counters *counters;
	struct xp_list groups;
	struct afd_entry **entries; /* by number */
	int len;
	struct xp_list updates; /* sockets that are to be polled by the next wait */
	int polls;   /* whose packet has not come */
	int waiters; /* threads at the port */
	uint32_t calls; /* waits begun */
	struct xp_list edges;  /* struct afd_edge that are free */
	struct xp_list lapsed; /* objects that the next wait has to check */
	struct xp_list pipes;  /* that are wanted */
	DWORD pipe_pause_ms;   /* until they are looked at again */
};

/* Keys of packets: the kind, and above it, of objects, the number. */
enum {
	AFD_KEY_POLL,
	AFD_KEY_WAKE,
	AFD_KEY_PROBE,
	AFD_KEY_EDGE,
	AFD_KEY_OBJECT,
	AFD_KEY_BITS = 3,
};

/* One of this kind; NULL: none is attached. */
static inline void *afd_find(const struct afd_state *state, int fd,
                             const struct afd_kind *kind)
{
	struct afd_entry *entry = fd >= 0 && fd < state->len ? state->entries[fd] : NULL;

	return entry && entry->kind == kind ? entry : NULL;
}

/* The back end's functions of these names; they take the lock. */
int afd_attach(void *opaque, int fd, uint32_t watch, uint64_t token);
int afd_change(void *opaque, int fd, uint32_t watch, uint64_t token);
int afd_detach(void *opaque, int fd);
/* Detach all. */
void afd_detach_all(struct afd_state *state);

/* A thread at the port comes out and looks at everything. */
void afd_post_probe(struct afd_state *state);

/*
 * Begin the polls that are due.  What turns out to be closed goes to fired,
 * *count grows; NULL: that is left for later.  0, or not all have begun.
 */
int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap,
                     int *count);

/*
 * The packet of a poll has come: its socket, if there is something to report, or
 * NULL.
 */
struct afd_sock *afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                                struct xp_fired *fired);

/*
 * Results of polls that were begun before this wait, and may not hold any more: probed again,
 * up to XP_AFD_PROBE_MOST in one call.
 */
struct afd_unsure {
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
	struct afd_sock *socks[XP_AFD_PROBE_MOST];
	struct xp_fired *fired[XP_AFD_PROBE_MOST];
	int len;
};

void afd_unsure_add(struct afd_state *state, struct afd_unsure *unsure,
                    struct afd_sock *sock, struct xp_fired *fired);
void afd_unsure_recheck(struct afd_state *state, struct afd_unsure *unsure);

void afd_groups_close(struct afd_state *state);

/*
 * Edges: watched by activity instead of by state.  Begins with what holds, also
 * if it is watched so already.
 */
int afd_edge_begin(struct afd_state *state, struct afd_sock *sock,
                   uint32_t watch);
void afd_edge_end(struct afd_state *state, struct afd_sock *sock);
/* A packet of that kind has come; true: it is something to report. */
bool afd_edge_fired(struct afd_state *state, struct afd_edge *edge,
                    struct xp_fired *fired);
/* Give back those that are free. */
void afd_edges_close(struct afd_state *state);

/* Check the objects in `lapsed`, and have the system wait for those that are not signalled. */
void afd_objects_submit(struct afd_state *state);
/* A packet of that kind has come; true: it is something to report. */
bool afd_object_fired(struct afd_state *state, int fd, struct xp_fired *fired);

/* Store the reports of the pipes that are ready. */
int afd_pipes_probe(struct afd_state *state, struct xp_fired *fired, int cap);
/* How long a thread may sleep until they are looked at again. */
DWORD afd_pipes_pause(struct afd_state *state, DWORD timeout_ms);

#endif

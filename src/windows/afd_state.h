/*
 * The state of the afd back end: the attached descriptors, and the polls of the driver in progress.
 */
#ifndef XP_WINDOWS_AFD_STATE_H
#define XP_WINDOWS_AFD_STATE_H

#include "base/list.h"
#include "base/mutex.h"
#include "sys/backend.h"
#include "windows/nt.h"

/* Most polls of one handle of the device; the driver searches them one by one. */
enum { AFD_GROUP_MOST = 32 };

struct afd_group {
	struct xp_list item; /* links the groups; those with room come first */
	HANDLE device;
	int socks;
};

struct afd_state;
struct afd_entry;
struct afd_sock;
struct afd_edge; /* afd_edge.c */

/* A kind of descriptor.  Its functions are called with the lock. */
struct afd_kind {
	size_t size;     /* size of its entries, which begin with struct afd_entry */
	uint32_t cannot; /* bits that are refused with -ENOTSUP */
	/* Initialise a new entry; release an entry, perhaps while a poll is in progress. */
	int (*open)(struct afd_state *state, struct afd_entry *entry);
	void (*close)(struct afd_state *state, struct afd_entry *entry);
	/* Change the watch; entry->token is the new token. */
	int (*watch)(struct afd_state *state, struct afd_entry *entry, uint32_t watch);
};

extern const struct afd_kind afd_sock_kind;
/* Handles other than sockets: objects that are signalled, and pipes. */
extern const struct afd_kind afd_object_kind;
extern const struct afd_kind afd_pipe_kind;

/* One descriptor. */
struct afd_entry {
	const struct afd_kind *kind;
	struct xp_list item; /* links it into a list of its kind: updates, lapsed, pipes */
	uint64_t token;
	uint32_t watch; /* the requested bits and the mode */
	bool is_source; /* the handle is a source's, and not the program's */
	int fd;
};

/* A poll.  The driver uses this memory until the packet has come. */
struct afd_poll {
	IO_STATUS_BLOCK status;
	struct xp_afd_poll argument;
	struct afd_sock *sock; /* NULL: the result is ignored */
	uint32_t call;         /* number of the last wait that had begun before */
};

struct afd_sock {
	struct afd_entry entry;
	struct afd_group *group;
	struct afd_poll *poll;
	HANDLE base;
	uint32_t asked; /* bits of the poll in progress */
	bool pending;   /* a poll is in progress */
	/* For sockets registered with CLEAR: */
	struct afd_edge *edge; /* kept while no bits are requested; NULL: none */
	uint32_t first;        /* bits that were set at the beginning and not reported yet */
	bool hung;             /* the peer's end was reported */
};

/* `lock` guards all members without another remark. */
struct afd_state {
	HANDLE port; /* immutable */
	struct xp_mutex lock; /* taken after the queue's */
	struct xp_counters *counters;
	struct xp_list groups;
	struct afd_entry **entries; /* indexed by descriptor */
	int len;
	struct xp_list updates; /* sockets whose poll the next wait begins */
	int polls;   /* number of polls whose packet has not come */
	int waiters; /* threads at the port */
	uint32_t calls; /* number of waits begun */
	struct xp_list edges;  /* struct afd_edge that are free */
	struct xp_list lapsed; /* objects that the next wait has to check */
	struct xp_list pipes;  /* pipes with requested bits */
	DWORD pipe_pause_ms;   /* until they are looked at again */
};

/* Keys of packets: the kind in the low bits, and for objects the descriptor above them. */
enum {
	AFD_KEY_POLL,
	AFD_KEY_WAKE,
	AFD_KEY_PROBE,
	AFD_KEY_EDGE,
	AFD_KEY_OBJECT,
	AFD_KEY_BITS = 3,
};

/* Returns the entry of an attached descriptor of this kind, or NULL. */
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
/* Detach all descriptors. */
void afd_detach_all(struct afd_state *state);

/* Make a thread at the port return and check everything. */
void afd_post_probe(struct afd_state *state);

/*
 * Begin the polls that are due.  Closed sockets are reported in `fired`, and *count grows; NULL:
 * that is left for later.  Returns 0, or an error if not all have begun.
 */
int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap,
                     int *count);

/* Handle the packet of a poll.  Returns its socket if there is a report, or NULL. */
struct afd_sock *afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                                struct xp_fired *fired);

/*
 * Results of polls that had begun before this wait, which may be stale: they are polled again, up
 * to XP_AFD_PROBE_MOST in one call.
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
 * Watch a socket edge-triggered.  It begins with a report of the present state, even if the socket
 * was watched so before.
 */
int afd_edge_begin(struct afd_state *state, struct afd_sock *sock,
                   uint32_t watch);
void afd_edge_end(struct afd_state *state, struct afd_sock *sock);
/* A packet of that kind has come; true: it is something to report. */
bool afd_edge_fired(struct afd_state *state, struct afd_edge *edge,
                    struct xp_fired *fired);
/* Release the free event objects. */
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

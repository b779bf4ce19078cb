/*
 * The state of the afd back end: the attached descriptors, and the polls in progress of the driver
 * AFD, which is behind all sockets (nt.h).
 */
#ifndef XP_WINDOWS_AFD_STATE_H
#define XP_WINDOWS_AFD_STATE_H

#include "base/list.h"
#include "base/mutex.h"
#include "sys/backend.h"
#include "windows/nt.h"

/*
 * Most sockets that poll by one handle of the driver: the driver searches the polls of a handle one
 * by one.
 */
enum { AFD_GROUP_MOST = 32 };

/*
 * A group of sockets that share a handle of the driver, at most AFD_GROUP_MOST.  A socket is in the
 * same group as long as it is attached.
 */
struct afd_group {
	struct xp_list item; /* links the group into state->groups; groups with room come first */
	HANDLE device;
	int socks; /* number of sockets that poll by `device` */
};

struct afd_state;
struct afd_entry;
struct afd_sock;
struct afd_edge; /* afd_edge.c */

/*
 * A kind of descriptor.  The functions of a kind are called with state->lock, except in afd_close.
 */
struct afd_kind {
	/* size of the entries of this kind, which begin with struct afd_entry */
	size_t size;
	uint32_t unsupported_bits; /* bits that are refused with -ENOTSUP */
	/*
	 * open: initialise a new entry.  close: release what the entry holds, perhaps while a poll
	 * is in progress; the caller frees the entry.
	 */
	int (*open)(struct afd_state *state, struct afd_entry *entry);
	void (*close)(struct afd_state *state, struct afd_entry *entry);
	/*
	 * Change the requested bits and the mode to `watch`; entry->token is the new token already.
	 */
	int (*watch)(struct afd_state *state, struct afd_entry *entry, uint32_t watch);
};

extern const struct afd_kind afd_sock_kind;
/* Handles other than sockets: objects that are signalled, and pipes. */
extern const struct afd_kind afd_object_kind;
extern const struct afd_kind afd_pipe_kind;

/* One descriptor. */
struct afd_entry {
	const struct afd_kind *kind;
	/*
	 * Links the entry into a list of struct afd_state: `updates` (sockets), `unchecked_objects`
	 * (objects) or `pipes`; or into no list.
	 */
	struct xp_list item;
	uint64_t token;
	uint32_t watch; /* the requested bits and the mode */
	bool is_source; /* the library's own handle (XP_WATCH_SOURCE), not one of the program */
	int fd;
};

/* A poll.  The driver uses this memory until the packet of the completed poll was taken. */
struct afd_poll {
	IO_STATUS_BLOCK status;
	struct xp_afd_poll argument;
	struct afd_sock *sock; /* NULL: the result is ignored */
	uint32_t begun_epoch;  /* number of the last wait that had begun before the poll */
};

/* A socket. */
struct afd_sock {
	struct afd_entry entry;
	struct afd_group *group;
	/* the poll in progress if `pending`, else memory for the next poll */
	struct afd_poll *poll;
	HANDLE base;           /* the socket's handle in the driver: xp_nt_base */
	uint32_t polled_bits; /* bits that the poll in progress requests */
	bool pending;   /* a poll is in progress */
	/* For sockets registered with CLEAR (edge-triggered): */
	/*
	 * the event object that the socket's activity signals; stays while no bits are requested;
	 * NULL: none
	 */
	struct afd_edge *edge;
	uint32_t due_bits;     /* bits that the next wait checks and reports */
	/* the peer's end or an error was reported: no poll is begun any more */
	bool end_reported;
};

/* `lock` guards all members for which nothing else is said. */
struct afd_state {
	HANDLE port; /* the completion port; immutable */
	struct xp_mutex lock; /* taken after the queue's lock */
	struct xp_counters *counters;
	struct xp_list groups;
	struct afd_entry **entries; /* indexed by descriptor */
	int len;
	/* sockets whose poll the next wait begins, or whose due_bits it checks and reports */
	struct xp_list updates;
	int polls_in_flight; /* number of polls whose packet was not taken yet */
	int waiters;         /* number of threads that sleep at the port */
	uint32_t last_epoch; /* number of waits begun, also of those that only pipes have ended */
	struct xp_list free_edges; /* event objects (struct afd_edge) that no socket uses now */
	struct xp_list unchecked_objects; /* objects that the next wait has to check */
	struct xp_list pipes;  /* pipes with requested bits */
	DWORD pipe_pause_ms;   /* longest sleep before the pipes are checked again */
};

/* Keys of packets: the kind in the low bits, and for objects the descriptor above them. */
enum {
	AFD_KEY_POLL,      /* a poll has completed */
	AFD_KEY_WAKE,      /* xpoll_wake */
	AFD_KEY_INTERRUPT, /* afd_interrupt_wait */
	AFD_KEY_EDGE,      /* an edge-triggered socket has activity */
	AFD_KEY_OBJECT,    /* an object was signalled */
	AFD_KEY_BITS = 3,  /* number of low bits of a key that hold one of these */
};

/* Returns the entry of an attached descriptor of this kind, or NULL. */
static inline void *afd_find(const struct afd_state *state, int fd,
                             const struct afd_kind *kind)
{
	struct afd_entry *entry = fd >= 0 && fd < state->len ? state->entries[fd] : NULL;

	return entry && entry->kind == kind ? entry : NULL;
}

/* The back end's functions of these names; each takes state->lock. */
int afd_attach(void *opaque, int fd, uint32_t watch, uint64_t token);
int afd_change(void *opaque, int fd, uint32_t watch, uint64_t token);
int afd_detach(void *opaque, int fd);
/*
 * Detach all descriptors and free the table.  Called when the queue is closed, without state->lock.
 */
void afd_detach_all(struct afd_state *state);

/*
 * Make a thread that sleeps at the port return to the queue, whose next wait begins the polls of
 * `updates`, and checks the pipes.
 */
void afd_interrupt_wait(struct afd_state *state);

/*
 * Begin the polls of the sockets in `updates`.  Before that, check the due_bits of each, the bits
 * that an edge-triggered socket has to report if they are set now.  If some are, or if the socket
 * was closed, stores a report in `fired`, until *count, the number of reports, is cap.  If fired is
 * NULL, a socket with due_bits stays in the list, and a thread at the port is woken to check them.
 * Returns 0, or an error if not all polls have begun.
 */
int afd_socks_submit(struct afd_state *state, struct xp_fired *fired, int cap,
                     int *count);

/*
 * Handle the packet of a poll.  Returns the poll's socket and stores the report in `fired`; NULL:
 * there is nothing to report.
 */
struct afd_sock *afd_poll_ended(struct afd_state *state, struct afd_poll *poll,
                                struct xp_fired *fired);

/*
 * Reports that may be stale: those of polls that had begun before this wait, and of recorded
 * activity.  Their sockets are polled again without waiting, up to XP_AFD_PROBE_MOST in one call.
 */
struct afd_unsure {
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
	struct afd_sock *socks[XP_AFD_PROBE_MOST];
	struct xp_fired *fired[XP_AFD_PROBE_MOST];
	int len;
};

/* Add the report `fired` of a socket; if that fills `unsure`, recheck all. */
void afd_unsure_add(struct afd_state *state, struct afd_unsure *unsure,
                    struct afd_sock *sock, struct xp_fired *fired);
/*
 * Poll the sockets of these reports again, and store each socket's present bits, or 0, in its
 * report; for an edge-triggered socket only the bits that had activity.
 */
void afd_unsure_recheck(struct afd_state *state, struct afd_unsure *unsure);

/* Close the handles of the driver.  Called when no poll is in progress. */
void afd_groups_close(struct afd_state *state);

/*
 * Watch a socket edge-triggered.  The next wait reports the present state.  If the socket was
 * watched edge-triggered before, that wait reports only bits that are new in `watch`, bits of the
 * filters in XP_WATCH_AGAIN, bits with activity that was not reported yet, and errors; errors are
 * left out once the end was reported.
 */
int afd_edge_begin(struct afd_state *state, struct afd_sock *sock,
                   uint32_t watch);
/*
 * If sock->due_bits is not 0: polls the socket without waiting, clears due_bits and the recorded
 * activity, and returns those bits of the two that are true of the socket now and requested;
 * POLLNVAL: the check failed, as it does for a closed socket.  Returns 0 if due_bits is 0.
 */
uint32_t afd_edge_check(struct afd_state *state, struct afd_sock *sock);
/* End the edge-triggered watch of a socket, if there is one. */
void afd_edge_end(struct afd_state *state, struct afd_sock *sock);
/*
 * Handle a packet AFD_KEY_EDGE.  Returns the socket of `edge` and stores the recorded activity in
 * `fired`; NULL: there is nothing to report.
 */
struct afd_sock *afd_edge_fired(struct afd_state *state, struct afd_edge *edge,
                                struct xp_fired *fired);
/* Release the event objects that no socket uses. */
void afd_edges_close(struct afd_state *state);

/*
 * Check the objects in `unchecked_objects`, and have the system wait for those that are not
 * signalled.
 */
void afd_objects_submit(struct afd_state *state);
/*
 * Handle a packet AFD_KEY_OBJECT.  Stores a report and returns true, if the object is signalled, a
 * wait has taken its signal, or the handle was closed or reused; otherwise returns false.
 */
bool afd_object_fired(struct afd_state *state, int fd, struct xp_fired *fired);

/* Check the pipes, and store up to cap reports of those that are ready.  Returns their number. */
int afd_pipes_probe(struct afd_state *state, struct xp_fired *fired, int cap);
/* Returns how long to sleep, at most timeout_ms, before the pipes are checked again. */
DWORD afd_pipes_timeout(struct afd_state *state, DWORD timeout_ms);

#endif

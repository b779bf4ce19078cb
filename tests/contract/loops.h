/* contract.loops: what its programs are about, and threads that sleep meanwhile (naps.c). */
#ifndef XT_CONTRACT_LOOPS_H
#define XT_CONTRACT_LOOPS_H

#include "xt.h"

enum {
	FILES = 4,
	ROOM = 2 * FILES + 1,
	NAPPERS = 2,
};

struct reg {
	bool there, enabled;
	bool was_enabled; /* before a change that the napper may not have seen */
	int modes;
	bool must;     /* CLEAR: activity since it came last */
	bool may;      /* CLEAR: something that may have been activity */
	bool at_once;  /* added or enabled: the next wait with room has it (S4) */
	int spare;     /* CLEAR on epoll: its edge may come after what a check has found */
	int owed;      /* waits in which it did not come */
};

struct file {
	struct xt_pair pair; /* r is registered, whichever end of a pipe that is */
	bool socket;
	struct reg regs[2];
};

/* Another thread, that waits until something comes to it. */
struct nap {
	struct xt_thread *thread; /* NULL: none is there */
	struct xpoll *queue;
	bool poll;
	bool own; /* by xpoll_pwait */
	int cap;
	int count;
	struct xpoll_event events[ROOM]; /* of the poll-like level: fflags are its bits */
};

struct world {
	struct xpoll *queue;
	struct nap naps[NAPPERS];
	bool has_naps;
	bool nap_poll; /* those that sleep are in waits of the poll-like level, else of the other */
	int seen[FILES]; /* what poll(2) has said since one of them began */
	struct file files[FILES];
	int revents[FILES]; /* what poll(2) says as a wait begins */
	bool came[FILES][2];
	bool all_ready, exposed;
	uint64_t seed;
	int steps;
};

int loops_pick(struct world *world, int below);
/* Does poll(2) say that this filter's condition holds? */
bool loops_holds(int revents, int filter);
/* Ask it. */
void loops_look(struct world *world);
/* Returns true if an event of this filter has to come, by the state that loops_look found. */
bool loops_due(const struct world *world, int file, int filter);
void loops_came(struct world *world, int file, int filter);
void loops_wrong(const struct world *world, int file, int filter, const char *what);

bool naps_any(const struct world *world);
/*
 * Wait at the poll-like level; of each descriptor the records have bits in fflags, and data.
 * own: by xpoll_pwait, which other threads may be in at the same time.
 */
int naps_poll(struct xpoll *queue, struct xpoll_event *records, int cap, int timeout_ms, bool own);
void naps_begin(struct world *world);
/* Wait until each sleeping thread has returned, or no event is due for which it would return. */
void naps_settle(struct world *world);
/* Wait until no thread sleeps. */
void naps_end(struct world *world);

#endif

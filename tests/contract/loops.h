/*
 * contract.loops: the state of its files and registrations, and threads that
 * sleep in the queue (naps.c).
 */
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
	bool was_enabled; /* enabled before a change that the sleeping thread may not have seen */
	int modes;
	bool must;     /* CLEAR: activity since the last event */
	bool may;      /* CLEAR: perhaps activity since the last event */
	bool at_once;  /* added or enabled: the next wait with room must deliver it (S4) */
	int spare;     /* CLEAR on epoll: edges that may follow what a check has delivered */
	int owed;      /* number of waits that did not deliver it */
};

struct file {
	struct xt_pair pair; /* r is registered, whichever end of a pipe it is */
	bool socket;
	struct reg regs[2];
};

/* Another thread that waits until it gets an event. */
struct nap {
	struct xt_thread *thread; /* NULL: there is no such thread */
	struct xpoll *queue;
	bool poll;
	bool own; /* waits by xpoll_pwait */
	int cap;
	int count;
	struct xpoll_event events[ROOM]; /* of the poll-like level: fflags holds its bits */
};

struct world {
	struct xpoll *queue;
	struct nap naps[NAPPERS];
	bool has_naps;
	bool nap_poll; /* the sleeping threads wait at the poll-like level */
	int seen[FILES]; /* bits that poll(2) has returned since one of them began its wait */
	struct file files[FILES];
	int revents[FILES]; /* bits that poll(2) returns when a wait begins */
	bool came[FILES][2];
	bool all_ready, exposed;
	uint64_t seed;
	int steps;
};

int loops_pick(struct world *world, int below);
/* Returns true if this filter's condition holds by these bits of poll(2). */
bool loops_holds(int revents, int filter);
/* Store the present bits of poll(2) for all files. */
void loops_look(struct world *world);
/* Returns true if an event of this filter has to come, by the state that loops_look found. */
bool loops_due(const struct world *world, int file, int filter);
void loops_came(struct world *world, int file, int filter);
void loops_wrong(const struct world *world, int file, int filter, const char *what);

bool naps_any(const struct world *world);
/*
 * Wait at the poll-like level, and store a record for each descriptor: bits in fflags, and data.
 * own: wait by xpoll_pwait, which several threads may use at a time.
 */
int naps_poll(struct xpoll *queue, struct xpoll_event *records, int cap, int timeout_ms, bool own);
void naps_begin(struct world *world);
/* Wait until each sleeping thread has returned, or no event is ready that would end its wait. */
void naps_settle(struct world *world);
/* Wait until no thread sleeps. */
void naps_end(struct world *world);

#endif

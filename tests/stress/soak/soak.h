/*
 * soak: all sources of events at once, for a long time.
 *
 * A source causes activity, which it counts in `in`, and counts the reported
 * activity in `out`: bytes, expirations, signals, exits of processes.  Each
 * source acts in its own thread until the round is over; two other threads
 * wait, and pass each event to the target that its udata points to.
 */
#ifndef SOAK_H
#define SOAK_H

#include "xt.h"

enum {
	TIMER = XPOLL_FILT_TIMER,
	SIGNAL = XPOLL_FILT_SIGNAL,
	PROC = XPOLL_FILT_PROC
};

enum { REUSE_SLOTS = 8 };

/* State that a waiting thread reads before each of its waits. */
struct known {
	uint64_t dead[REUSE_SLOTS]; /* registrations up to these serial numbers had ended */
};

struct soak {
	struct xpoll *queue;
	uint64_t seed;      /* seed of this round's random numbers */
	atomic_bool over;   /* the round is over: sources stop causing activity */
	atomic_bool still;  /* all activity has been reported: the waiting threads leave */
	_Atomic long wakes; /* number of wakes sent in all rounds */
};

struct source {
	const char *name;
	void (*begin)(struct soak *soak);
	void (*act)(struct soak *soak); /* runs in the source's thread */
	void (*end)(struct soak *soak); /* called while no other thread uses the queue */
	_Atomic long in;
	_Atomic long out;
};

/* A receiver of events: the udata of a registration points to it. */
struct target {
	void (*take)(struct soak *soak, struct target *target,
		     const struct xpoll_event *event,
		     const struct known *known);
	int index;
};

extern struct source soak_tokens, soak_flow, soak_reuse, soak_timers,
	soak_beats, soak_signals, soak_users, soak_processes, soak_writes,
	soak_reads, soak_lives;

void reuse_know(struct known *known);

/*
 * Called between two steps of a source: lets other threads run, and sometimes gives them the time
 * to fall asleep.  Returns false when the round is over.
 */
bool soak_goes_on(struct soak *soak, uint64_t *random);

/* Wait until the counter is at least this value.  Returns false if the time is up before. */
bool soak_await(atomic_int *counter, int value);

/* Returns the amount of activity that was caused and not yet reported. */
static inline long soak_missing(struct source *source)
{
	return atomic_load(&source->in) - atomic_load(&source->out);
}

#endif

/*
 * soak: all sources of events at once, for a long time.
 *
 * A source causes activity, counted in `in`, and counts the reports of it in `out`: bytes,
 * expirations, deliveries of signals, ends of processes.  Each source acts in its own thread until
 * the round is over; two other threads wait, and pass each event to the target that its udata
 * points to.
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

/* State that a waiting thread has read before its wait. */
struct known {
	uint64_t dead[REUSE_SLOTS]; /* serials up to this one were gone */
};

struct soak {
	struct xpoll *queue;
	uint64_t seed;      /* of this round */
	atomic_bool over;   /* bring nothing more about */
	atomic_bool still;  /* all has been reported: leave */
	_Atomic long wakes; /* sent, in all rounds */
};

struct source {
	const char *name;
	void (*begin)(struct soak *soak);
	void (*act)(struct soak *soak); /* the source's thread */
	void (*end)(struct soak *soak); /* called while no other thread uses the queue */
	_Atomic long in;
	_Atomic long out;
};

/* The struct that udata points to. */
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
 * Between two steps of a source: other threads get a chance, and now and then
 * the time to fall asleep.  False when the round is over.
 */
bool soak_goes_on(struct soak *soak, uint64_t *random);

/* Wait until the counter has this value or more; false: it failed to come. */
bool soak_await(atomic_int *counter, int value);

/* How much was brought about and not yet reported. */
static inline long soak_missing(struct source *source)
{
	return atomic_load(&source->in) - atomic_load(&source->out);
}

#endif

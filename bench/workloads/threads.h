/*
 * Workloads in which many threads wait: what their kinds and the engine of threads.c share.
 */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "loop.h"

#define THREADS_MAX   32
#define THREADS_BATCH 16
#define JOBS_MAX      1024 /* that wait for a worker of reactor; at most one for each pair */

struct threads_state;

struct threads_worker {
	struct threads_state *state;
	struct loop loop; /* one of its own, or that of all with a hand of its own */
	struct loop_ready served[THREADS_BATCH]; /* to be enabled with its next wait */
	int enable_len;
	int served_len; /* operations of this step */
	pthread_t id;
	int rc;
	atomic_ullong calls;
};

struct threads_kind {
	int (*step)(struct threads_worker *worker);
	int (*prepare)(struct threads_state *state); /* what does not count; or NULL */
	int (*drive)(struct threads_state *state, int count);
	int (*cause)(struct threads_state *state); /* of one_drive: one, until it was taken */
	int (*handle)(struct threads_worker *worker, const struct loop_ready *ready);
	int count;  /* 0: one for each thread */
	int room;   /* for events in one wait; 0: THREADS_BATCH */
	bool full;  /* the active pairs hold a byte all the time */
	bool own;   /* a queue for each thread, with one listener in all of them */
	bool reacts; /* one thread more waits for the others and hands them jobs */
};

struct threads_state {
	struct bench_turn *turn; /* its loop is that of all threads */
	const struct threads_kind *kind;
	const struct bench_pairs *pairs;
	struct threads_worker workers[THREADS_MAX];
	int len;
	atomic_bool stopping;
	atomic_long left; /* operations until `done` is written to */
	atomic_ullong served;
	int done;
	int begin;        /* a semaphore: how many threads may wait */
	uint64_t waits;   /* that it has let through */
	int next;         /* pipe */
	/* Of kinds that react: the pairs that a worker has to serve. */
	pthread_mutex_t jobs_lock;
	pthread_cond_t jobs_come;
	int jobs[JOBS_MAX];
	unsigned jobs_in;
	unsigned jobs_out;
};

/* threads.c: a worker has done so many operations. */
void threads_served(struct threads_state *state, int count);
/* Wait until the workers have done so many. */
int busy_drive(struct threads_state *state, int count);
/* Cause so many, one after the other. */
int one_drive(struct threads_state *state, int count);
int threads_open(struct bench_turn *turn);
int threads_run(struct bench_turn *turn);
/* threads_pool.c: wait, and serve what is ready by the kind's handle. */
int pool_step(struct threads_worker *worker);
int pool_handle(struct threads_worker *worker, const struct loop_ready *ready);

/* So many threads; k of the pairs are active, 0: all. */
#define PHASE(name_, count, k) \
	{ .name = name_, .value = (count), .how = (k), .run = threads_run }

#define THREADS_SHARED \
	.references = { "raw-epoll", "kevent", "libkqueue" }, \
	.tells_wakes = true, \
	.ops = { \
		.size = sizeof(struct threads_state), .room = THREADS_BATCH, .passes = true, \
		.open = threads_open, \
	}

#define THREADS \
	THREADS_SHARED, \
	.phases = { \
		PHASE("1 thread", 1, 0), PHASE("2 threads", 2, 0), PHASE("4 threads", 4, 0), \
		PHASE("8 threads", 8, 0), PHASE("16 threads", 16, 0), PHASE("32 threads", 32, 0), \
	}

#define THREADS_KIND(step_, drive_, cause_, count_, ...) \
	.threads = &(const struct threads_kind){ \
		.step = step_, .drive = drive_, .cause = cause_, .count = count_, __VA_ARGS__ \
	}

#define SLEEPERS_HELP \
	"Threads sleep in the meantime; it is processor time of all of them.\n"

#define THREADS_HELP LOOP_HELP "\nThreads take turns if there are fewer processors.\n"

#define POOL_HELP \
	"\nIt is processor time of all threads.  wakes: how often one was woken.\n" \
	THREADS_HELP

#endif

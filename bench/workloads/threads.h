/*
 * Workloads in which many threads wait: the interface between threads.c, which runs the threads,
 * and the kinds of work in threads_pool.c and threads_sleep.c.
 */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <pthread.h>
#include <stdatomic.h>

#include "loop.h"

#define THREADS_MAX   32
#define THREADS_BATCH 16
/* most jobs that wait for a worker of reactor; at most one for each pair */
#define JOBS_MAX      1024

struct threads_state;

/* A thread that waits. */
struct threads_worker {
	struct threads_state *state;
	/* the worker's own loop; or the shared loop, with the worker's own hand */
	struct loop loop;
	struct loop_ready served[THREADS_BATCH]; /* events whose targets the next wait enables */
	int enable_len;
	int served_len; /* number of operations done in this step */
	pthread_t id;
	int rc;
	atomic_ullong calls;
};

/*
 * A kind of work: what workers do (step), and what the thread that measures does meanwhile (drive).
 */
struct threads_kind {
	int (*step)(struct threads_worker *worker);
	/* work before a round that is not measured; or NULL */
	int (*prepare)(struct threads_state *state);
	int (*drive)(struct threads_state *state, int count);
	/* for one_drive: cause one event, and wait until a worker has taken it */
	int (*cause)(struct threads_state *state);
	int (*handle)(struct threads_worker *worker, const struct loop_ready *ready);
	int count;  /* operations in a round; 0: one for each thread */
	int room;   /* most events of one wait; 0: THREADS_BATCH */
	bool full;  /* active pairs hold a byte all the time, so workers never sleep long */
	bool own;   /* each thread has a queue of its own, and all contain one listener */
	bool reacts; /* one more thread waits for events, and hands them to the workers */
};

/* The data of a variant. */
struct threads_state {
	struct bench_turn *turn; /* its loop is shared by all threads */
	const struct threads_kind *kind;
	const struct bench_pairs *pairs;
	struct threads_worker workers[THREADS_MAX];
	int len;
	atomic_bool stopping;
	atomic_long left; /* operations until a worker writes to `done` */
	atomic_ullong served;
	int done;
	int begin;        /* eventfd as a semaphore: how many threads may begin a wait */
	uint64_t waits;   /* number of waits that `begin` has let through */
	int next;         /* index of the pipe for the next event */
	/* For kinds that react: a ring with the ids of the pairs that a worker has to serve. */
	pthread_mutex_t jobs_lock;
	pthread_cond_t jobs_come;
	int jobs[JOBS_MAX];
	unsigned jobs_in;
	unsigned jobs_out;
};

/* threads.c: a worker calls this after it has done `count` operations. */
void threads_served(struct threads_state *state, int count);
/* `drive`: wait until the workers have done `count` operations. */
int busy_drive(struct threads_state *state, int count);
/* `drive`: cause `count` events by kind->cause, one after the other. */
int one_drive(struct threads_state *state, int count);
int threads_open(struct bench_turn *turn);
int threads_run(struct bench_turn *turn);
/* threads_pool.c: `step`: wait, and pass each event to kind->handle. */
int pool_step(struct threads_worker *worker);
int pool_handle(struct threads_worker *worker, const struct loop_ready *ready);

/* A phase with `count` threads; k pairs are active, 0: all. */
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

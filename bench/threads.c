/*
 * threads: 1, 2 and 4 threads on one queue, in dispatch mode.
 *
 * Each of n pipes holds a byte.  A thread waits for up to 16 of them, takes the
 * byte out of each, puts it back, and enables them with its next wait.  So there
 * is always something for everybody, and what is measured is how threads that
 * share a queue get in each other's way.  A pass starts the threads, lets them
 * serve a number of events together, and joins them.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "workloads.h"

#define BATCH       16
#define EVENTS      20000 /* in a phase of a pass */
#define THREADS_MAX 4

static const char *const threads_phases[] = { "1 thread", "2 threads", "4 threads", NULL };

struct threads_state {
	struct loop loop;
	const struct bench_pairs *pairs;
	atomic_long left; /* events to serve */
	pthread_mutex_t gate; /* held until all threads are there */
};

struct threads_worker {
	struct threads_state *state;
	struct loop_hand hand;
	pthread_t id;
	int rc;
	uint64_t calls;
};

static int threads_open(void *opened, void *setup, const struct bench_way *way)
{
	struct threads_state *state = opened;
	struct loop_field *field = setup;
	int rc;

	state->pairs = &field->pairs;
	pthread_mutex_init(&state->gate, NULL);
	rc = loop_open_on(&state->loop, way, field, BATCH);
	if (rc >= 0)
		rc = loop_change_all(&state->loop, LOOP_ADD, state->pairs->len);
	for (int i = 0; i < state->pairs->len && rc >= 0; i++)
		rc = bench_give(&state->pairs->at[i]);
	return rc;
}

/* Take and put back the bytes of these; their ids, to be enabled, go to ids. */
static int threads_serve(struct threads_worker *worker, int count, int *ids)
{
	const struct bench_pairs *pairs = worker->state->pairs;

	for (int i = 0; i < count; i++) {
		const struct bench_pair *pair = &pairs->at[worker->hand.ready[i].id];
		int rc = bench_take(pair);

		if (rc == 0)
			rc = bench_give(pair);
		if (rc < 0)
			return rc;
		ids[i] = worker->hand.ready[i].id;
	}
	return 0;
}

static int threads_work(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	struct loop loop = { state->loop.ops, state->loop.state, worker->hand };
	int ids[BATCH];
	int ids_len = 0;
	int rc = 0;

	while (rc >= 0 && atomic_load(&state->left) > 0) {
		int count = loop_wait(&loop, ids, ids_len, true);

		if (count < 0)
			return count;
		rc = threads_serve(worker, count, ids);
		ids_len = count;
		atomic_fetch_sub(&state->left, count);
	}
	if (rc >= 0) /* whoever still waits finds these, and sees that it is over */
		rc = loop_change(&loop, LOOP_ENABLE, ids, ids_len);
	return rc;
}

static void *threads_main(void *argument)
{
	struct threads_worker *worker = argument;

	pthread_mutex_lock(&worker->state->gate);
	pthread_mutex_unlock(&worker->state->gate);
	worker->rc = threads_work(worker);
	worker->calls = bench_calls;
	return NULL;
}

/* They get no signals: those are for the thread that joins them. */
static int threads_start(struct threads_worker *worker, struct threads_state *state)
{
	sigset_t all;
	sigset_t old;
	int rc = loop_hand_open(&worker->hand, state->loop.ops, BATCH);

	if (rc < 0)
		return rc;
	worker->state = state;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&worker->id, NULL, threads_main, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0)
		loop_hand_close(&worker->hand);
	return rc;
}

static int threads_join(struct threads_worker *workers, int count, uint64_t *calls)
{
	int rc = 0;

	for (int i = 0; i < count; i++) {
		pthread_join(workers[i].id, NULL);
		loop_hand_close(&workers[i].hand);
		*calls += workers[i].calls;
		if (rc == 0)
			rc = workers[i].rc;
	}
	return rc;
}

static int threads_phase(struct threads_state *state, int threads,
                         struct bench_sample *sample)
{
	struct threads_worker workers[THREADS_MAX] = { 0 };
	uint64_t before = loop_syscalls(&state->loop);
	uint64_t calls = 0;
	int64_t start_ns;
	int started = 0;
	int rc = 0;
	int joined;

	state->left = EVENTS;
	pthread_mutex_lock(&state->gate);
	while (started < threads && rc == 0) {
		rc = threads_start(&workers[started], state);
		if (rc == 0)
			started++;
	}
	if (rc < 0)
		state->left = 0;
	start_ns = bench_elapsed_ns(&bench_threads);
	pthread_mutex_unlock(&state->gate);
	joined = threads_join(workers, started, &calls);
	if (rc == 0)
		rc = joined;
	sample->elapsed_ns = (uint64_t)(bench_elapsed_ns(&bench_threads) - start_ns);
	sample->operations = (uint64_t)(EVENTS - state->left);
	sample->syscalls = calls + loop_syscalls(&state->loop) - before;
	sample->bytes = 0;
	return rc;
}

static int threads_pass(void *opened, struct bench_sample *samples)
{
	int rc = 0;

	for (int i = 0; threads_phases[i] != NULL && rc >= 0; i++) {
		rc = threads_phase(opened, 1 << i, &samples[i]);
		bench_signals_progress();
	}
	return rc;
}

static const struct bench_ops threads_ops = {
	.size = sizeof(struct threads_state),
	.open = threads_open,
	.pass = threads_pass,
	.close = loop_close,
};

const struct bench_workload bench_threads = {
	.name = "threads",
	.summary = "1, 2 and 4 threads share one queue in dispatch mode",
	.help =
		"Each of N pipes holds a byte.  The threads share a queue.  Each waits for up to\n"
		"16 pipes, reads the byte, writes it back, and enables the pipe with its next\n"
		"wait.  An event disables its pipe, so it goes to one thread only.\n"
		LOOP_HELP
		"\n"
		"If there are fewer processors than threads, the threads take turns.\n",
	.unit = "event",
	.items = "pipes",
	.n_default = 256,
	.phases = threads_phases,
	.references = { "raw-epoll" },
	.by_clock = true,
	.queue = &threads_ops,
	.loops = LOOP_DISPATCH | LOOP_THREADS,
};

/*
 * The engine of workloads in which many threads wait, mostly in one queue.
 *
 * For each number of threads a pass starts them, has them do a number of operations, which alone is
 * measured, and joins them.  The kinds of work differ in what a thread does when its wait has
 * returned (step) and in what the thread that measures does meanwhile (drive).
 *
 * Where descriptors are active all the time, a round ends after LIMIT_MS even if fewer operations
 * were done, so a library that makes no progress has a low result and does not hang.
 */
#include <sys/eventfd.h>

#include "threads.h"

#define LIMIT_MS 2000

/*
 * Count the operations that a worker has done.  The worker that does the last one of a round writes
 * to `done`.
 */
void threads_served(struct threads_state *state, int count)
{
	long left = atomic_fetch_sub(&state->left, count);

	atomic_fetch_add(&state->served, (uint64_t)count);
	if (left > 0 && left <= count)
		(void)eventfd_write(state->done, 1);
}

int busy_drive(struct threads_state *state, int count)
{
	struct pollfd done = { .fd = state->done, .events = POLLIN };
	int rc;

	atomic_store(&state->left, count);
	do
		rc = poll(&done, 1, LIMIT_MS);
	while (rc < 0 && bench_goes_on(errno));
	atomic_store(&state->left, 0);
	if (rc < 0)
		return -errno;
	return rc > 0 ? bench_await(state->done) : 0;
}

/* Cause one event after the other; the worker that takes it writes to `done`. */
int one_drive(struct threads_state *state, int count)
{
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		atomic_store(&state->left, 1);
		rc = state->kind->cause(state);
	}
	return rc;
}

static void *worker_main(void *argument)
{
	struct threads_worker *worker = argument;
	struct threads_state *state = worker->state;

	while (worker->rc >= 0 && !state->stopping) {
		worker->rc = state->kind->step(worker);
		atomic_store_explicit(&worker->calls, bench_calls, memory_order_relaxed);
	}
	/* The pass is over: enable the targets for the next pass, and wake the next thread. */
	if (worker->rc >= 0)
		worker->rc = loop_enable(&worker->loop, worker->served, worker->enable_len);
	if (!state->kind->own && state->kind->prepare == NULL)
		(void)state->turn->loop.ops->wake(state->turn->loop.state);
	return NULL;
}

static int worker_open(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int room = state->kind->room > 0 ? state->kind->room : THREADS_BATCH;
	int rc;

	if (!state->kind->own) {
		worker->loop = state->turn->loop;
		return loop_hand_open(&worker->loop.hand, worker->loop.ops, room);
	}
	rc = loop_open(&worker->loop, state->turn->way, state->turn->field, THREADS_BATCH);
	return rc < 0 ? rc : loop_change_all(&worker->loop, LOOP_ADD, 1);
}

static void worker_close(struct threads_worker *worker)
{
	worker->state->kind->own ? loop_close(&worker->loop)
	                         : loop_hand_close(&worker->loop.hand);
}

static int worker_start(struct threads_state *state)
{
	struct threads_worker *worker = &state->workers[state->len];
	int rc;

	*worker = (struct threads_worker){ .state = state };
	rc = worker_open(worker);
	if (rc >= 0)
		rc = bench_thread_start(&worker->id, worker_main, worker);
	if (rc < 0)
		worker_close(worker);
	else
		state->len++;
	return rc;
}

static int workers_end(struct threads_state *state)
{
	int rc = 0;

	state->stopping = true;
	(void)eventfd_write(state->begin, THREADS_MAX);
	pthread_mutex_lock(&state->jobs_lock);
	pthread_cond_broadcast(&state->jobs_come);
	pthread_mutex_unlock(&state->jobs_lock);
	for (int i = 0; i < state->len; i++) {
		struct loop *loop = &state->workers[i].loop;

		if (state->kind->own || (i == 0 && state->kind->prepare == NULL))
			(void)loop->ops->wake(loop->state);
	}
	for (int i = 0; i < state->len; i++) {
		pthread_join(state->workers[i].id, NULL);
		worker_close(&state->workers[i]);
		if (rc >= 0)
			rc = state->workers[i].rc;
	}
	for (; state->jobs_out != state->jobs_in && rc >= 0; state->jobs_out++)
		rc = loop_enable(&state->turn->loop, &(struct loop_ready){
			state->jobs[state->jobs_out % JOBS_MAX], POLLIN }, 1);
	close(state->begin);
	close(state->done);
	pthread_cond_destroy(&state->jobs_come);
	pthread_mutex_destroy(&state->jobs_lock);
	state->len = 0;
	state->stopping = false;
	return rc;
}

/* Returns the number of system calls of all threads so far, or BENCH_UNKNOWN. */
static uint64_t threads_calls(const struct threads_state *state)
{
	uint64_t calls = state->kind->own ? bench_calls : loop_syscalls(&state->turn->loop);

	for (int i = 0; i < state->len; i++) {
		const struct threads_worker *worker = &state->workers[i];

		calls += atomic_load_explicit(&worker->calls, memory_order_relaxed);
		/* without the calls of this thread, which loop_syscalls includes */
		if (state->kind->own)
			calls += loop_syscalls(&worker->loop) - bench_calls;
	}
	return calls;
}

/*
 * Store the counts and the time so far.  Busy threads go on meanwhile: read all again if they have
 * done too many operations in between.
 */
static void threads_look(const struct threads_state *state, struct bench_sample *sample)
{
	int tries = 0;

	do {
		sample->operations = atomic_load(&state->served);
		sample->wakes = bench_sleeps();
		sample->syscalls = bench_counter();
		if (sample->syscalls == BENCH_UNKNOWN)
			sample->syscalls = threads_calls(state);
		sample->elapsed_ns = (uint64_t)bench_elapsed_ns(state->turn->way->workload);
	} while (atomic_load(&state->served) - sample->operations > THREADS_BATCH &&
	         ++tries < 1000);
}

/*
 * Do a round, and add its time and counts to the sample.  Returns the number of operations, or
 * -errno.
 */
static int threads_round(struct threads_state *state, struct bench_sample *sample)
{
	const struct threads_kind *kind = state->kind;
	int count = kind->count > 0 ? kind->count : state->len;
	int rc = kind->prepare != NULL ? kind->prepare(state) : 0;
	struct bench_sample before;
	struct bench_sample after;

	threads_look(state, &before);
	if (rc >= 0)
		rc = kind->drive(state, count);
	threads_look(state, &after);
	sample->elapsed_ns += after.elapsed_ns - before.elapsed_ns;
	sample->syscalls += after.syscalls - before.syscalls;
	sample->wakes += after.wakes - before.wakes;
	bench_signals_progress();
	if (rc < 0)
		return rc;
	return kind->full ? (int)(after.operations - before.operations) : count;
}

/* Write a byte to the active pairs, which are spread evenly.  Returns 0 or -errno. */
static int threads_fill(struct threads_state *state)
{
	struct bench_turn *turn = state->turn;
	int len = state->pairs->len;
	int k = turn->phase->how > 0 && turn->phase->how < len ? turn->phase->how : len;
	int rc = 0;

	if (!state->kind->full)
		return 0;
	bench_pairs_drain(state->pairs);
	for (int i = 0; i < len && rc >= 0; i++) {
		bool active = i % (len / k) == 0 && i / (len / k) < k;

		/* A socket is always writable, so watch idle ones for reading only. */
		if (turn->way->workload->loops & LOOP_SWITCHES)
			rc = loop_watch(&turn->loop, turn->field, i,
			                active ? POLLIN | POLLOUT : POLLIN);
		if (rc >= 0 && active)
			rc = bench_give(&state->pairs->at[i]);
	}
	return rc;
}

int threads_run(struct bench_turn *turn)
{
	struct threads_state *state = turn->own;
	struct bench_sample unused = { 0 };
	int threads = turn->phase->value + state->kind->reacts;
	int rounds = state->kind->count > 0 ? 1 : 5;
	int done = 0;
	int rc = threads_fill(state);
	int ended;

	pthread_cond_init(&state->jobs_come, NULL);
	pthread_mutex_init(&state->jobs_lock, NULL);
	state->begin = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	state->done = eventfd(0, EFD_CLOEXEC);
	if (state->begin < 0 || state->done < 0)
		rc = -errno;
	while (state->len < threads && rc >= 0)
		rc = worker_start(state);
	if (rc >= 0)
		/* the first round warms up, and is not measured */
		rc = threads_round(state, &unused);
	for (int i = 0; i < rounds && rc >= 0; i++) {
		rc = threads_round(state, turn->sample);
		done += rc;
	}
	ended = workers_end(state);
	return rc < 0 ? rc : ended < 0 ? ended : done;
}

int threads_open(struct bench_turn *turn)
{
	struct threads_state *state = turn->own;

	state->turn = turn;
	state->kind = turn->way->workload->threads;
	state->pairs = &turn->field->pairs;
	if (state->kind->own)
		return 0;
	return loop_change_all(&turn->loop, LOOP_ADD, state->pairs->len);
}

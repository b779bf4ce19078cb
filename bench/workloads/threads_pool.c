/*
 * threads, pool, pool-both, echo, reactor: descriptors are active all the time, and threads share
 * them.
 */
#include "threads.h"

/*
 * An event for which there is nothing to read is no error: if a library passes one event to two
 * threads, that shows as additional system calls.
 */

/* Read the byte of a pair, and write it back if the kind keeps pairs full. */
int pool_handle(struct threads_worker *worker, const struct loop_ready *ready)
{
	const struct threads_state *state = worker->state;
	const struct bench_pair *pair = &state->pairs->at[ready->id];
	int rc = bench_take(pair);

	worker->served[worker->enable_len++] = *ready;
	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	worker->served_len++;
	return state->kind->full ? bench_give(pair) : rc;
}

/*
 * Read the byte of a pair, write it back, and enable the pair at once, like a program whose threads
 * take one event a call.
 */
static int single_handle(struct threads_worker *worker, const struct loop_ready *ready)
{
	const struct bench_pair *pair = &worker->state->pairs->at[ready->id];
	int taken = bench_take(pair);
	int rc = taken == 0 || taken == -EAGAIN ? loop_enable(&worker->loop, ready, 1) : taken;

	if (rc < 0 || taken < 0)
		return rc;
	worker->served_len++;
	return bench_give(pair);
}

/*
 * Handle both directions of a socket: if it is writable, its peer is written to; if it is readable,
 * it is read.  The writers may be faster than the readers, so a full socket is no error.
 */
static int both_handle(struct threads_worker *worker, const struct loop_ready *ready)
{
	const struct bench_pair *pair = &worker->state->pairs->at[ready->id];
	char bytes[64];
	int rc = 0;

	if (ready->events & POLLIN) {
		bench_calls++;
		rc = read(pair->read_fd, bytes, sizeof bytes) < 0 && errno != EAGAIN ? -errno : 0;
	}
	if (rc == 0 && ready->events & POLLOUT)
		rc = bench_give(pair);
	if (rc == 0 || rc == -EAGAIN)
		rc = loop_enable(&worker->loop, ready, 1);
	worker->served_len++;
	return rc;
}

/* Answer a request; then, as the client, read the answer and send the next request. */
static int echo_handle(struct threads_worker *worker, const struct loop_ready *ready)
{
	const struct bench_pair *server = &worker->state->pairs->at[ready->id];
	const struct bench_pair back = { server->write_fd, server->read_fd };
	int rc = bench_take(server);

	worker->served[worker->enable_len++] = *ready;
	if (rc < 0)
		return rc == -EAGAIN ? 0 : rc;
	worker->served_len++;
	rc = bench_give(&back);
	if (rc == 0)
		rc = bench_take(&back);
	return rc == 0 ? bench_give(server) : rc;
}

int pool_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int count = loop_enable_and_wait(&worker->loop, worker->served, worker->enable_len, true);
	int rc = 0;

	worker->enable_len = worker->served_len = 0;
	for (int i = 0; i < count && rc >= 0; i++)
		if (worker->loop.hand.ready[i].id != LOOP_WOKEN)
			rc = state->kind->handle(worker, &worker->loop.hand.ready[i]);
	threads_served(state, worker->served_len);
	return count < 0 ? count : rc;
}

/* The first thread waits, and passes the ids of ready pairs to the workers. */
static int reactor_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	const struct loop_ready *ready = worker->loop.hand.ready;
	int count = loop_wait(&worker->loop, true);

	for (int i = 0; i < count; i++) {
		if (ready[i].id == LOOP_WOKEN)
			continue;
		pthread_mutex_lock(&state->jobs_lock);
		state->jobs[state->jobs_in++ % JOBS_MAX] = ready[i].id;
		pthread_cond_signal(&state->jobs_come);
		pthread_mutex_unlock(&state->jobs_lock);
	}
	return count;
}

/* `step` of reactor: a worker takes a job and does it; the first thread hands them out. */
static int job_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	struct loop_ready job = { .events = POLLIN };
	int rc;

	if (worker == state->workers)
		return reactor_step(worker);
	pthread_mutex_lock(&state->jobs_lock);
	while (state->jobs_in == state->jobs_out && !state->stopping)
		pthread_cond_wait(&state->jobs_come, &state->jobs_lock);
	if (state->jobs_in == state->jobs_out) {
		pthread_mutex_unlock(&state->jobs_lock);
		return 0;
	}
	job.id = state->jobs[state->jobs_out++ % JOBS_MAX];
	pthread_mutex_unlock(&state->jobs_lock);
	rc = single_handle(worker, &job);
	threads_served(state, worker->served_len);
	worker->served_len = 0;
	return rc;
}

/* Phases by number of threads and number k of active pairs. */
#define POOL_PHASES \
	.phases = { \
		PHASE("2 threads, k=1", 2, 1), PHASE("2 threads, k=4", 2, 4), \
		PHASE("2 threads, k=64", 2, 64), PHASE("4 threads, k=1", 4, 1), \
		PHASE("4 threads, k=4", 4, 4), PHASE("4 threads, k=64", 4, 64), \
		PHASE("16 threads, k=1", 16, 1), PHASE("16 threads, k=4", 16, 4), \
		PHASE("16 threads, k=64", 16, 64), \
	}

const struct bench_workload bench_threads = {
	THREADS,
	THREADS_KIND(pool_step, busy_drive, NULL, 3000, .handle = pool_handle, .full = true),
	.name = "threads", .unit = "event", .items = "pipes", .n_default = 256,
	.summary = "1 to 32 threads share one queue in dispatch mode",
	.help =
		"Each of N pipes holds a byte.  Each thread waits for up to 16 of them, reads the\n"
		"byte, writes it back, and enables the pipe with its next wait.\n"
		POOL_HELP,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_pool = {
	THREADS_SHARED,
	POOL_PHASES,
	THREADS_KIND(pool_step, busy_drive, NULL, 3000, .handle = single_handle, .room = 1,
	             .full = true),
	.name = "pool", .unit = "event", .items = "pipes", .n_default = 64,
	.summary = "2 to 16 threads take one event a call, in dispatch mode",
	.help =
		"k of N pipes hold a byte.  Each thread waits for one event, reads the byte,\n"
		"enables the pipe and writes the byte back.\n"
		POOL_HELP,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_pool_both = {
	THREADS_SHARED,
	POOL_PHASES,
	THREADS_KIND(pool_step, busy_drive, NULL, 3000, .handle = both_handle, .room = 1,
	             .full = true),
	.name = "pool-both", .unit = "event", .items = "sockets", .n_default = 64,
	.summary = "as pool, with reading and writing of each socket",
	.help =
		"As pool, on k socket pairs of N whose first ends are registered for reading and\n"
		"for writing, each direction in dispatch mode.  When one is writable, its peer\n"
		"writes a byte to it; when it is readable, it is read.\n"
		POOL_HELP,
	.kind = BENCH_SOCKETS,
	.events = POLLOUT,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE | LOOP_SWITCHES,
};

const struct bench_workload bench_echo = {
	THREADS_SHARED,
	.phases = {
		PHASE("1 active", 4, 1), PHASE("64 active", 4, 64),
		PHASE("all active", 4, 0),
	},
	THREADS_KIND(pool_step, busy_drive, NULL, 3000, .handle = echo_handle, .full = true),
	.name = "echo", .unit = "request", .items = "connections", .n_default = 1000,
	.summary = "an echo server with four threads, in dispatch mode",
	.help =
		"Four threads wait for up to 16 of N connections, read a byte and write it back.\n"
		"The same thread then is the client: it reads the answer and sends a request.\n"
		POOL_HELP,
	.kind = BENCH_SOCKETS,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_reactor = {
	THREADS_SHARED,
	.phases = {
		PHASE("1 worker, k=1", 1, 1), PHASE("1 worker, k=64", 1, 64),
		PHASE("4 workers, k=1", 4, 1), PHASE("4 workers, k=64", 4, 64),
	},
	THREADS_KIND(job_step, busy_drive, NULL, 1000, .full = true, .reacts = true),
	.name = "reactor", .unit = "event", .items = "pipes", .n_default = 64, .n_max = JOBS_MAX,
	.summary = "one thread waits, others read and enable",
	.help =
		"One thread waits for up to 16 of N pipes and hands them to 1 or 4 workers, which\n"
		"read the byte, enable the pipe and write the byte back.\n"
		POOL_HELP,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

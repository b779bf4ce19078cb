/*
 * threads, hand-off, changes, wake-all: 1 to 32 threads that wait in a queue.
 *
 * A pass goes through the numbers of threads.  For each it starts them, has a number of
 * operations done, which alone is measured, and joins them.  They differ in what a
 * thread does when its wait has returned (step) and in what the thread that measures
 * does meanwhile (drive); listener.c has one more.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "workloads.h"

const char *const threads_phases[] = {
	"1 thread", "2 threads", "4 threads", "8 threads", "16 threads", "32 threads", NULL
};

void threads_served(struct threads_state *state, int count)
{
	long left = atomic_fetch_sub(&state->left, count);

	atomic_fetch_add(&state->served, (uint64_t)count);
	if (left > 0 && left <= count)
		(void)eventfd_write(state->done, 1);
}

int threads_await(int fd)
{
	eventfd_t value;

	while (eventfd_read(fd, &value) < 0)
		if (!bench_goes_on(errno))
			return -errno;
	return 0;
}

/* --- What threads do with pipes, in a queue of all --------------------------- */

static int pool_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int count = loop_wait(&worker->loop, worker->ids, worker->ids_len, true);
	int rc = 0;

	worker->ids_len = 0;
	for (int i = 0; i < count && rc == 0; i++) {
		int id = worker->loop.hand.ready[i].id;

		if (id == LOOP_WOKEN)
			continue;
		rc = bench_take(&state->pairs->at[id]);
		if (rc == 0 && state->kind->full)
			rc = bench_give(&state->pairs->at[id]);
		worker->ids[worker->ids_len++] = id;
	}
	threads_served(state, worker->ids_len);
	return count < 0 ? count : rc;
}

static int busy_drive(struct threads_state *state, int count)
{
	atomic_store(&state->left, count);
	return threads_await(state->done);
}

static int handoff_drive(struct threads_state *state, int count)
{
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		atomic_store(&state->left, 1);
		rc = bench_give(&state->pairs->at[state->next]);
		state->next = (state->next + 1) % state->pairs->len;
		if (rc == 0)
			rc = threads_await(state->done);
	}
	return rc;
}

static int changes_drive(struct threads_state *state, int count)
{
	int rc = 0;

	for (int i = 0; i < count && rc >= 0; i++) {
		rc = loop_change(&state->loop, i % 2 == 0 ? LOOP_DISABLE : LOOP_ENABLE,
		                 &state->next, 1);
		if (i % 2 != 0)
			state->next = (state->next + 1) % state->pairs->len;
	}
	return rc < 0 ? rc : 0;
}

/* --- All of them are woken ---------------------------------------------------- */

static int woken_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int rc = threads_await(state->begin);

	if (rc == 0 && !state->stopping)
		rc = loop_wait(&worker->loop, NULL, 0, true);
	if (rc >= 0)
		threads_served(state, 1);
	return rc;
}

/* All are to sleep in their wait; where nobody says that they do, they most likely do. */
static int woken_prepare(struct threads_state *state)
{
	const struct timespec while_they_go = { .tv_nsec = 100000 + 20000 * state->len };
	const struct loop_ops *ops = state->loop.ops;

	state->waits += (uint64_t)state->len;
	if (eventfd_write(state->begin, (eventfd_t)state->len) < 0)
		return -errno;
	do
		nanosleep(&while_they_go, NULL);
	while (ops->waits != NULL && ops->waits(state->loop.state) < state->waits &&
	       bench_interrupted() == 0);
	return 0;
}

static int woken_drive(struct threads_state *state, int count)
{
	int rc;

	atomic_store(&state->left, count);
	rc = state->loop.ops->wake_all(state->loop.state, true);
	if (rc >= 0)
		rc = threads_await(state->done);
	return rc < 0 ? rc : state->loop.ops->wake_all(state->loop.state, false);
}

/* --- Threads, and what they share ---------------------------------------------- */

static void *worker_main(void *argument)
{
	struct threads_worker *worker = argument;
	struct threads_state *state = worker->state;

	while (worker->rc >= 0 && !state->stopping) {
		worker->rc = state->kind->step(worker);
		atomic_store_explicit(&worker->calls, bench_calls, memory_order_relaxed);
	}
	/* It is over: enabled for the next ones, and the next thread is woken. */
	if (worker->rc >= 0)
		worker->rc = loop_change(&worker->loop, LOOP_ENABLE, worker->ids, worker->ids_len);
	if (!state->kind->own && state->kind->prepare == NULL)
		(void)state->loop.ops->wake(state->loop.state);
	return NULL;
}

static int worker_open(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	struct loop_setup setup = {
		.targets = state->field->targets, .len = 1, .wakes = true,
		.mode = state->way->workload->loops & LOOP_MODES,
	};
	int first = 0;
	int rc;

	if (!state->kind->own) {
		worker->loop = state->loop;
		return loop_hand_open(&worker->loop.hand, state->loop.ops, THREADS_BATCH);
	}
	rc = loop_open(&worker->loop, state->way, &setup, THREADS_BATCH);
	return rc < 0 ? rc : loop_change(&worker->loop, LOOP_ADD, &first, 1);
}

static void worker_close(struct threads_worker *worker)
{
	if (worker->state->kind->own)
		loop_close(&worker->loop);
	else
		loop_hand_close(&worker->loop.hand);
}

/* They get no signals: those are for the thread that measures. */
static int worker_start(struct threads_state *state)
{
	struct threads_worker *worker = &state->workers[state->len];
	sigset_t all;
	sigset_t old;
	int rc;

	*worker = (struct threads_worker){ .state = state };
	rc = worker_open(worker);
	if (rc >= 0) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		rc = -pthread_create(&worker->id, NULL, worker_main, worker);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
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
	close(state->begin);
	close(state->done);
	state->len = 0;
	state->stopping = false;
	return rc;
}

/* Calls that were made so far, by whomever, or BENCH_UNKNOWN. */
static uint64_t threads_calls(const struct threads_state *state)
{
	uint64_t calls = state->kind->own ? bench_calls : loop_syscalls(&state->loop);

	for (int i = 0; i < state->len; i++) {
		const struct threads_worker *worker = &state->workers[i];

		calls += atomic_load_explicit(&worker->calls, memory_order_relaxed);
		if (state->kind->own) /* which has those of this thread in it */
			calls += loop_syscalls(&worker->loop) - bench_calls;
	}
	return calls;
}

/* What there was so far; threads that are always busy do not stop for this one. */
static void threads_look(const struct threads_state *state, struct bench_sample *sample)
{
	int tries = 0;

	do {
		sample->operations = atomic_load(&state->served);
		sample->syscalls = threads_calls(state);
		sample->elapsed_ns = (uint64_t)bench_elapsed_ns(state->way->workload);
	} while (atomic_load(&state->served) - sample->operations > THREADS_BATCH &&
	         ++tries < 1000);
}

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
	sample->operations += kind->full ? after.operations - before.operations : (uint64_t)count;
	bench_signals_progress();
	return rc;
}

static int threads_phase(struct threads_state *state, int threads,
                         struct bench_sample *sample)
{
	struct bench_sample unused = { 0 };
	int rc = 0;
	int ended;

	state->begin = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	state->done = eventfd(0, EFD_CLOEXEC);
	if (state->begin < 0 || state->done < 0)
		rc = -errno;
	while (state->len < threads && rc >= 0)
		rc = worker_start(state);
	if (rc >= 0)
		rc = threads_round(state, &unused); /* it warms up */
	for (int i = 0; i < state->kind->rounds && rc >= 0; i++)
		rc = threads_round(state, sample);
	ended = workers_end(state);
	return rc < 0 ? rc : ended;
}

static int threads_pass(void *opened, struct bench_sample *samples)
{
	int rc = 0;

	for (int i = 0; threads_phases[i] != NULL && rc >= 0; i++) {
		samples[i] = (struct bench_sample){ 0 };
		rc = threads_phase(opened, 1 << i, &samples[i]);
	}
	return rc;
}

static int threads_open_loop(struct threads_state *state)
{
	const struct loop_field *field = state->field;
	struct loop_setup setup = {
		.targets = field->targets, .len = field->pairs.len, .wakes = true,
		.mode = state->way->workload->loops & LOOP_MODES,
	};
	int rc = loop_open(&state->loop, state->way, &setup, THREADS_BATCH);

	if (rc >= 0)
		rc = loop_change_all(&state->loop, LOOP_ADD, field->pairs.len);
	for (int i = 0; i < field->pairs.len && rc >= 0 && state->kind->full; i++)
		rc = bench_give(&field->pairs.at[i]);
	return rc;
}

static int threads_open(void *opened, void *setup, const struct bench_way *way)
{
	struct threads_state *state = opened;

	state->kind = way->workload->threads;
	state->way = way;
	state->field = setup;
	state->pairs = &state->field->pairs;
	bench_pairs_drain(state->pairs);
	return state->kind->own ? 0 : threads_open_loop(state);
}

const struct bench_ops threads_ops = {
	.size = sizeof(struct threads_state),
	.open = threads_open,
	.pass = threads_pass,
	.close = loop_close,
};

/* --- The workloads ----------------------------------------------------------- */

const struct bench_workload bench_threads = {
	THREADS,
	.threads = &(const struct threads_kind){
		.step = pool_step, .drive = busy_drive, .rounds = 1, .count = 3000, .full = true,
	},
	.name = "threads",
	.summary = "1 to 32 threads share one queue in dispatch mode",
	.help =
		"Each of N pipes holds a byte.  The threads share a queue.  Each waits for up to\n"
		"16 pipes, reads the byte, writes it back, and enables the pipe with its next\n"
		"wait.  An event disables its pipe, so it goes to one thread only.\n"
		THREADS_HELP,
	.unit = "event",
	.items = "pipes",
	.n_default = 256,
	.by_clock = true,
	.loops = LOOP_DISPATCH | LOOP_THREADS,
};

const struct bench_workload bench_handoff = {
	THREADS,
	.threads = &(const struct threads_kind){
		.step = pool_step, .drive = handoff_drive, .rounds = 1, .count = 100,
	},
	.name = "hand-off",
	.summary = "one event at a time, for which 1 to 32 threads wait",
	.help =
		"Threads sleep in a queue, in dispatch mode.  One of N pipes gets a byte; one of\n"
		"them takes it out and says so; then the next pipe gets one.  It is processor\n"
		"time of all threads: those that are woken in vain show.\n"
		THREADS_HELP,
	.unit = "event",
	.items = "pipes",
	.n_default = 256,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_changes = {
	THREADS,
	.threads = &(const struct threads_kind){
		.step = pool_step, .drive = changes_drive, .rounds = 1, .count = 1000,
	},
	.name = "changes",
	.summary = "changes in a queue in which 1 to 32 threads wait",
	.help =
		"Threads sleep in a queue with N idle pipes, which another thread disables and\n"
		"enables one after the other.\n"
		THREADS_HELP,
	.unit = "change",
	.items = "pipes",
	.n_default = 256,
	.loops = LOOP_LEVEL | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_wake_all = {
	THREADS,
	.threads = &(const struct threads_kind){
		.step = woken_step, .prepare = woken_prepare, .drive = woken_drive, .rounds = 5,
	},
	.name = "wake-all",
	.summary = "1 to 32 threads that wait in a queue are all woken",
	.help =
		"Threads sleep in a queue with N idle pipes; xpoll_wake_all makes them all\n"
		"return.  By hand it is an eventfd that is read when the last one is out.  It is\n"
		"processor time of all threads, for each of them.\n"
		THREADS_HELP,
	.unit = "wake",
	.items = "pipes",
	.n_default = 16,
	.loops = LOOP_LEVEL | LOOP_THREADS | LOOP_WAKE,
};

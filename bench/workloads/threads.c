/*
 * threads, hand-off, changes, wake-all, listener: 1 to 32 threads wait, mostly in one queue.
 *
 * For each number of threads a pass starts them, has a number of operations done, which
 * alone is measured, and joins them.  Workloads differ in what a thread does when its wait
 * has returned (step) and in what the thread that measures does meanwhile (drive).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "loop.h"

#define THREADS_MAX   32
#define THREADS_BATCH 16

struct threads_state;

struct threads_worker {
	struct threads_state *state;
	struct loop loop; /* one of its own, or that of all with a hand of its own */
	int ids[THREADS_BATCH];   /* to be enabled with its next wait */
	int ids_len;
	pthread_t id;
	int rc;
	atomic_ullong calls;
};

struct threads_kind {
	int (*step)(struct threads_worker *worker);
	int (*prepare)(struct threads_state *state); /* what does not count; or NULL */
	int (*drive)(struct threads_state *state, int count);
	int (*cause)(struct threads_state *state); /* of one_drive: one, until it was taken */
	int count;  /* 0: one for each thread */
	bool full;  /* each pipe holds a byte all the time */
	bool own;   /* a queue for each thread, with one listener in all of them */
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
};

/* A worker has done so many: who does the last one says so. */
static void threads_served(struct threads_state *state, int count)
{
	long left = atomic_fetch_sub(&state->left, count);

	atomic_fetch_add(&state->served, (uint64_t)count);
	if (left > 0 && left <= count)
		(void)eventfd_write(state->done, 1);
}

static int pool_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int count = loop_enable_and_wait(&worker->loop, worker->ids, worker->ids_len, true);
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
	return bench_await(state->done);
}

static int pool_cause(struct threads_state *state)
{
	int rc = bench_give(&state->pairs->at[state->next]);

	state->next = (state->next + 1) % state->pairs->len;
	return rc < 0 ? rc : bench_await(state->done);
}

/* One after the other; who takes it says so. */
static int one_drive(struct threads_state *state, int count)
{
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		atomic_store(&state->left, 1);
		rc = state->kind->cause(state);
	}
	return rc;
}

static int changes_drive(struct threads_state *state, int count)
{
	int rc = 0;

	for (int i = 0; i < count && rc >= 0; i++) {
		rc = loop_change(&state->turn->loop, i % 2 == 0 ? LOOP_DISABLE : LOOP_ENABLE,
		                 &state->next, 1);
		if (i % 2 != 0)
			state->next = (state->next + 1) % state->pairs->len;
	}
	return rc < 0 ? rc : 0;
}

static int woken_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int rc = bench_await(state->begin);

	if (rc == 0 && !state->stopping)
		rc = loop_wait(&worker->loop, true);
	if (rc >= 0)
		threads_served(state, 1);
	return rc;
}

/* All are to sleep; where nobody says that they do, they most likely do. */
static int woken_prepare(struct threads_state *state)
{
	const struct timespec while_they_go = { .tv_nsec = 100000 + 20000 * state->len };
	const struct loop_ops *ops = state->turn->loop.ops;

	state->waits += (uint64_t)state->len;
	if (eventfd_write(state->begin, (eventfd_t)state->len) < 0)
		return -errno;
	do
		nanosleep(&while_they_go, NULL);
	while (ops->waits != NULL && ops->waits(state->turn->loop.state) < state->waits &&
	       bench_interrupted() == 0);
	return 0;
}

static int woken_drive(struct threads_state *state, int count)
{
	int rc;

	atomic_store(&state->left, count);
	rc = state->turn->loop.ops->wake_all(state->turn->loop.state, true);
	if (rc >= 0)
		rc = bench_await(state->done);
	return rc < 0 ? rc : state->turn->loop.ops->wake_all(state->turn->loop.state, false);
}

#define BACKLOG 16

static void listener_close(struct bench_field *field)
{
	if (field->targets->fd >= 0)
		close(field->targets->fd);
}

static int listener_open(struct bench_field *field)
{
	int rc = bench_listen(AF_UNIX, SOCK_NONBLOCK, BACKLOG, field->own);

	*field->targets = (struct loop_target){ rc, POLLIN };
	return rc < 0 ? rc : 0;
}

static int listener_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int count = loop_wait(&worker->loop, true);
	int fd;

	if (count <= 0 || worker->loop.hand.ready[0].id == LOOP_WOKEN)
		return count;
	fd = accept4(state->turn->field->targets->fd, NULL, NULL, SOCK_CLOEXEC);
	bench_calls++;
	if (fd < 0)
		return errno == EAGAIN ? 0 : -errno; /* another thread was faster */
	close(fd);
	bench_calls++;
	threads_served(state, 1);
	return 0;
}

static int listener_cause(struct threads_state *state)
{
	const struct bench_address *address = state->turn->field->own;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 || connect(fd, &address->to.any, address->len) < 0 ? -errno : 0;

	if (rc == 0)
		rc = bench_await(state->done);
	if (fd >= 0)
		close(fd);
	bench_calls += 3;
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
	/* It is over: enabled for the next ones, and the next thread is woken. */
	if (worker->rc >= 0)
		worker->rc = loop_change(&worker->loop, LOOP_ENABLE, worker->ids, worker->ids_len);
	if (!state->kind->own && state->kind->prepare == NULL)
		(void)state->turn->loop.ops->wake(state->turn->loop.state);
	return NULL;
}

static int worker_open(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int rc;

	if (!state->kind->own) {
		worker->loop = state->turn->loop;
		return loop_hand_open(&worker->loop.hand, worker->loop.ops, THREADS_BATCH);
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
	uint64_t calls = state->kind->own ? bench_calls : loop_syscalls(&state->turn->loop);

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
		sample->elapsed_ns = (uint64_t)bench_elapsed_ns(state->turn->way->workload);
	} while (atomic_load(&state->served) - sample->operations > THREADS_BATCH &&
	         ++tries < 1000);
}

/* How many operations; or -errno. */
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
	bench_signals_progress();
	if (rc < 0)
		return rc;
	return kind->full ? (int)(after.operations - before.operations) : count;
}

static int threads_run(struct bench_turn *turn)
{
	struct threads_state *state = turn->own;
	struct bench_sample unused = { 0 };
	int rounds = state->kind->count > 0 ? 1 : 5;
	int done = 0;
	int rc = 0;
	int ended;

	state->begin = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	state->done = eventfd(0, EFD_CLOEXEC);
	if (state->begin < 0 || state->done < 0)
		rc = -errno;
	while (state->len < turn->phase->value && rc >= 0)
		rc = worker_start(state);
	if (rc >= 0)
		rc = threads_round(state, &unused); /* it warms up */
	for (int i = 0; i < rounds && rc >= 0; i++) {
		rc = threads_round(state, turn->sample);
		done += rc;
	}
	ended = workers_end(state);
	return rc < 0 ? rc : ended < 0 ? ended : done;
}

static int threads_open(struct bench_turn *turn)
{
	struct threads_state *state = turn->own;
	int rc;

	state->turn = turn;
	state->kind = turn->way->workload->threads;
	state->pairs = &turn->field->pairs;
	if (state->kind->own)
		return 0;
	rc = loop_change_all(&turn->loop, LOOP_ADD, state->pairs->len);
	for (int i = 0; i < state->pairs->len && rc >= 0 && state->kind->full; i++)
		rc = bench_give(&state->pairs->at[i]);
	return rc;
}

#define PHASE(count, name_) { .name = name_, .value = (count), .run = threads_run }

#define THREADS \
	.phases = { \
		PHASE(1, "1 thread"), PHASE(2, "2 threads"), PHASE(4, "4 threads"), \
		PHASE(8, "8 threads"), PHASE(16, "16 threads"), PHASE(32, "32 threads"), \
	}, \
	.references = { "raw-epoll" }, \
	.ops = { \
		.size = sizeof(struct threads_state), .room = THREADS_BATCH, .passes = true, \
		.open = threads_open, \
	}

#define THREADS_KIND(step_, drive_, cause_, count_, ...) \
	.threads = &(const struct threads_kind){ \
		.step = step_, .drive = drive_, .cause = cause_, .count = count_, __VA_ARGS__ \
	}

#define SLEEPERS_HELP \
	"Threads sleep in the meantime; it is processor time of all of them.\n"

#define THREADS_HELP LOOP_HELP "\nThreads take turns if there are fewer processors.\n"

const struct bench_workload bench_threads = {
	THREADS,
	THREADS_KIND(pool_step, busy_drive, NULL, 3000, .full = true),
	.name = "threads", .unit = "event", .items = "pipes", .n_default = 256,
	.summary = "1 to 32 threads share one queue in dispatch mode",
	.help =
		"Each of N pipes holds a byte.  Each thread waits for up to 16 of them, reads the\n"
		"byte, writes it back, and enables the pipe with its next wait.\n"
		THREADS_HELP,
	.by_clock = true,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_handoff = {
	THREADS,
	THREADS_KIND(pool_step, one_drive, pool_cause, 100, .full = false),
	.name = "hand-off", .unit = "event", .items = "pipes", .n_default = 256,
	.summary = "one event at a time, for which 1 to 32 threads wait",
	.help =
		"One of N pipes gets a byte; one thread takes it; then the next pipe gets one.\n"
		SLEEPERS_HELP
		THREADS_HELP,
	.loops = LOOP_DISPATCH | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_changes = {
	THREADS,
	THREADS_KIND(pool_step, changes_drive, NULL, 1000, .full = false),
	.name = "changes", .unit = "change", .items = "pipes", .n_default = 256,
	.summary = "changes in a queue in which 1 to 32 threads wait",
	.help =
		"Another thread disables and enables N idle pipes one after the other.\n"
		SLEEPERS_HELP
		THREADS_HELP,
	.loops = LOOP_LEVEL | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_wake_all = {
	THREADS,
	THREADS_KIND(woken_step, woken_drive, NULL, 0, .prepare = woken_prepare),
	.name = "wake-all", .unit = "wake", .items = "pipes", .n_default = 16,
	.summary = "1 to 32 threads that wait in a queue are all woken",
	.help =
		"xpoll_wake_all; by hand an eventfd that is read when the last one is out.\n"
		SLEEPERS_HELP
		THREADS_HELP,
	.loops = LOOP_LEVEL | LOOP_THREADS | LOOP_WAKE,
};

const struct bench_workload bench_listener = {
	THREADS,
	THREADS_KIND(listener_step, one_drive, listener_cause, 100, .own = true),
	.name = "listener", .unit = "connection", .items = "listeners", .n_default = 1,
	.n_max = 1,
	.summary = "a listener in the queues of 1 to 32 threads",
	.help =
		"Each thread has a queue with the listener, with XPOLL_NOTE_EXCLUSIVE or\n"
		"EPOLLEXCLUSIVE.  One connection after the other is accepted.  N has no effect.\n"
		SLEEPERS_HELP
		THREADS_HELP,
	.fds_more = 5 * THREADS_MAX,
	.kind = BENCH_TARGETS,
	.setup_size = sizeof(struct bench_address),
	.open = listener_open,
	.close = listener_close,
	.loops = LOOP_EXCLUSIVE | LOOP_THREADS | LOOP_WAKE,
};

/*
 * hand-off, changes, wake-all, listener: threads sleep, and there is one event or wake-up at a
 * time.
 */
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "threads.h"

static int pool_cause(struct threads_state *state)
{
	int rc = bench_give(&state->pairs->at[state->next]);

	state->next = (state->next + 1) % state->pairs->len;
	return rc < 0 ? rc : bench_await(state->done);
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

/*
 * Let all threads sleep.  A loop that counts its waits shows when they do; with others they most
 * likely do after this time.
 */
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

	*field->targets = (struct loop_target){ .fd = rc, .events = POLLIN };
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

const struct bench_workload bench_handoff = {
	THREADS,
	THREADS_KIND(pool_step, one_drive, pool_cause, 100, .handle = pool_handle),
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
	THREADS_KIND(pool_step, changes_drive, NULL, 1000, .handle = pool_handle),
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

/*
 * listener: one listener in the queues of 1 to 32 threads.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "workloads.h"

#define BACKLOG 16

struct listener {
	struct loop_field field; /* without pairs */
	struct loop_target target;
	struct sockaddr_un address; /* a name that is not in the file system */
	socklen_t len;
};

static void listener_close(void *setup)
{
	struct listener *test = setup;

	if (test->target.fd >= 0)
		close(test->target.fd);
}

static int listener_open(const struct bench_options *options, void *setup)
{
	struct listener *test = setup;
	struct sockaddr *address = (struct sockaddr *)&test->address;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)options;
	test->target = (struct loop_target){ fd, POLLIN };
	test->field.targets = &test->target;
	test->len = sizeof test->address;
	address->sa_family = AF_UNIX;
	if (fd < 0 || bind(fd, address, sizeof address->sa_family) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, address, &test->len) < 0)
		return -errno;
	return 0;
}

static int listener_step(struct threads_worker *worker)
{
	struct threads_state *state = worker->state;
	int count = loop_wait(&worker->loop, NULL, 0, true);
	int fd;

	if (count <= 0 || worker->loop.hand.ready[0].id == LOOP_WOKEN)
		return count;
	fd = accept4(state->field->targets->fd, NULL, NULL, SOCK_CLOEXEC);
	bench_calls++;
	if (fd < 0)
		return errno == EAGAIN ? 0 : -errno; /* another thread was faster */
	close(fd);
	bench_calls++;
	threads_served(state, 1);
	return 0;
}

static int listener_drive(struct threads_state *state, int count)
{
	const struct listener *test = (const struct listener *)state->field;
	const struct sockaddr *address = (const struct sockaddr *)&test->address;
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		atomic_store(&state->left, 1);
		if (connect(fd, address, test->len) < 0)
			rc = -errno;
		if (rc == 0)
			rc = threads_await(state->done);
		close(fd);
		bench_calls += 3;
	}
	return rc;
}

const struct bench_workload bench_listener = {
	THREADS,
	.threads = &(const struct threads_kind){
		.step = listener_step, .drive = listener_drive, .rounds = 1, .count = 100,
		.own = true,
	},
	.name = "listener",
	.summary = "a listener in the queues of 1 to 32 threads",
	.help =
		"Each thread has a queue; a listener is in all of them, with\n"
		"XPOLL_NOTE_EXCLUSIVE or EPOLLEXCLUSIVE.  A connection comes, one thread accepts\n"
		"and closes it and says so; then the next one comes.  It is processor time of\n"
		"all threads: those that are woken in vain show.  N is without effect.\n"
		THREADS_HELP,
	.unit = "connection",
	.items = "listeners",
	.n_default = 1,
	.n_max = 1,
	.fds_more = 5 * THREADS_MAX,
	.setup_size = sizeof(struct listener),
	.open = listener_open,
	.close = listener_close,
	.loops = LOOP_EXCLUSIVE | LOOP_THREADS | LOOP_WAKE,
};

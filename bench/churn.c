/*
 * churn: accept, register, one request, close.
 *
 * A server and its clients in one thread, over TCP on the loopback.  In a round n
 * clients connect and send a request; the server accepts and registers each,
 * reads the request, answers and closes; the clients read the answer and close.
 *
 * Trap: the side that closes first keeps the port for a minute, and there are
 * but 28000 of them.  So the clients end with a reset, which forgets both sides.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "workloads.h"

#define LISTENER 0 /* its id; connections have those from 1 on */

struct churn {
	struct bench_address address;
	int listener;
	int n;
};

struct churn_state {
	struct loop loop;
	const struct churn *test;
	struct loop_target *targets;
	int *clients;
	int *unused; /* ids of no connection */
	int unused_len;
	int len; /* connections that there may be */
};

static void churn_close_setup(void *setup)
{
	struct churn *test = setup;

	if (test->listener >= 0)
		close(test->listener);
}

static int churn_open_setup(const struct bench_options *options, void *setup)
{
	struct churn *test = setup;

	test->n = options->n;
	test->listener = bench_listen(AF_INET, SOCK_NONBLOCK, test->n, &test->address);
	return test->listener < 0 ? test->listener : 0;
}

static void churn_close(void *opened)
{
	struct churn_state *state = opened;

	loop_close(opened);
	for (int id = 1; id <= state->len; id++) {
		if (state->targets[id].fd >= 0) /* after a failure */
			close(state->targets[id].fd);
		if (state->clients[id - 1] >= 0)
			close(state->clients[id - 1]);
	}
	free(state->targets);
	free(state->clients);
	free(state->unused);
}

static int churn_prepare(struct churn_state *state)
{
	size_t n = (size_t)state->test->n;

	state->targets = calloc(n + 1, sizeof *state->targets);
	state->clients = calloc(n, sizeof *state->clients);
	state->unused = calloc(n, sizeof *state->unused);
	if (state->targets == NULL || state->clients == NULL || state->unused == NULL)
		return -ENOMEM;
	state->targets[LISTENER] = (struct loop_target){ state->test->listener, POLLIN };
	for (int id = 1; id <= state->test->n; id++) {
		state->targets[id] = (struct loop_target){ -1, POLLIN };
		state->clients[id - 1] = -1;
		state->unused[state->unused_len++] = id;
	}
	state->len = state->test->n;
	return 0;
}

static int churn_open(void *opened, void *setup, const struct bench_way *way)
{
	struct churn_state *state = opened;
	struct loop_setup loop_setup = { .mode = LOOP_LEVEL };
	int listener = LISTENER;
	int rc;

	state->test = setup;
	rc = churn_prepare(state);
	if (rc < 0)
		return rc;
	loop_setup.targets = state->targets;
	loop_setup.len = state->test->n + 1;
	rc = loop_open(&state->loop, way, &loop_setup, 64);
	return rc < 0 ? rc : loop_change(&state->loop, LOOP_ADD, &listener, 1);
}

/* The watchdog's signal may strike while it waits: then it goes on by itself. */
static int churn_connect_one(const struct churn *test, int client)
{
	struct pollfd connected = { .fd = client, .events = POLLOUT };
	int rc = connect(client, &test->address.to.any, test->address.len);

	if (rc < 0 && bench_goes_on(errno))
		rc = poll(&connected, 1, 1000) == 1 ? 0 : -1;
	return rc;
}

static int churn_connect(const struct churn *test, int *client)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	*client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*client < 0 || churn_connect_one(test, *client) < 0 ||
	    setsockopt(*client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) < 0 ||
	    write(*client, "?", 1) != 1)
		return -errno;
	bench_calls += 4;
	return 0;
}

static int churn_accept(struct churn_state *state)
{
	for (;;) {
		int fd = accept4(state->test->listener, NULL, NULL,
		                 SOCK_NONBLOCK | SOCK_CLOEXEC);
		int id;
		int rc;

		bench_calls++;
		if (fd < 0)
			return errno == EAGAIN || bench_goes_on(errno) ? 0 : -errno;
		id = state->unused[--state->unused_len];
		state->targets[id].fd = fd;
		rc = loop_change(&state->loop, LOOP_ADD, &id, 1);
		if (rc < 0)
			return rc;
	}
}

/* How many connections were served, or -errno. */
static int churn_serve(struct churn_state *state, int id)
{
	char request;
	int rc;

	if (id == LISTENER)
		return churn_accept(state);
	bench_calls += 2;
	if (read(state->targets[id].fd, &request, 1) != 1 ||
	    write(state->targets[id].fd, "!", 1) != 1)
		return -errno;
	rc = loop_change(&state->loop, LOOP_CLOSE, &id, 1);
	if (rc < 0)
		return rc;
	state->targets[id].fd = -1;
	state->unused[state->unused_len++] = id;
	return 1;
}

static int churn_finish(int *client)
{
	char answer;
	ssize_t len;
	int rc;

	do
		len = read(*client, &answer, 1);
	while (len < 0 && bench_goes_on(errno));
	rc = len == 1 ? 0 : -EIO;
	close(*client);
	*client = -1;
	bench_calls += 2;
	return rc;
}

static int churn_round(void *opened, int n)
{
	struct churn_state *state = opened;
	int left = n;
	int rc = 0;

	for (int i = 0; i < n && rc >= 0; i++)
		rc = churn_connect(state->test, &state->clients[i]);
	while (left > 0 && rc >= 0) {
		int count = loop_wait(&state->loop, NULL, 0, true);

		if (count < 0)
			return count;
		for (int i = 0; i < count && rc >= 0; i++) {
			rc = churn_serve(state, state->loop.hand.ready[i].id);
			left -= rc;
		}
	}
	for (int i = 0; i < n && rc >= 0; i++)
		rc = churn_finish(&state->clients[i]);
	return rc;
}

static int churn_run(void *state, uint64_t count)
{
	return serve_rounds(state, count, ((struct churn_state *)state)->test->n, churn_round);
}

static const struct bench_ops churn_ops = {
	.size = sizeof(struct churn_state),
	.open = churn_open,
	.run = churn_run,
	.syscalls = loop_syscalls,
	.close = churn_close,
};

const struct bench_workload bench_churn = {
	.name = "churn",
	.summary = "accept, register, one request, close",
	.help =
		"Clients and a server in one thread, over TCP on the loopback.  In a round N\n"
		"clients connect and send a byte; the server accepts, registers, reads,\n"
		"answers and closes.\n"
		LOOP_HELP,
	.unit = "connection",
	.items = "clients",
	.n_default = 16,
	.n_max = 10000,
	.references = { "raw-epoll", "raw-poll", "raw-select" },
	.fds_each = 2,
	.fds_more = 1,
	.setup_size = sizeof(struct churn),
	.open = churn_open_setup,
	.close = churn_close_setup,
	.queue = &churn_ops,
	.loops = LOOP_LEVEL | LOOP_CLOSES,
};

/*
 * churn: accept, register, one request, close.
 *
 * A server and its clients in one thread, over TCP on the loopback.  In a round n clients connect
 * and send a request; the server accepts and registers each connection, reads the request, answers
 * and closes; the clients read the answer and close.
 *
 * Caution: the side that closes first keeps the port for a minute, and there are only 28000 ports.
 * So the clients close with a reset, after which neither side keeps it.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "loop.h"

#define LISTENER 0 /* the listener's id; connections have ids from 1 on */

struct churn {
	struct bench_address address;
	int *clients;
	int *unused; /* ids that no connection has */
	int unused_len;
};

/* Close all sockets, also those that a failed variant has left open. */
static void churn_close(struct bench_field *field)
{
	const struct churn *test = field->own;

	for (int id = 0; id < field->len && test->unused != NULL; id++) {
		if (field->targets[id].fd >= 0)
			close(field->targets[id].fd);
		if (test->clients[id] >= 0)
			close(test->clients[id]);
	}
	free(test->clients);
	free(test->unused);
}

static int churn_open(struct bench_field *field)
{
	struct churn *test = field->own;
	size_t len = (size_t)field->len;
	int rc;

	test->clients = malloc(len * sizeof *test->clients);
	test->unused = test->clients == NULL ? NULL : malloc(len * sizeof *test->unused);
	if (test->unused == NULL)
		return -ENOMEM;
	for (int id = 0; id < field->len; id++) {
		field->targets[id] = (struct loop_target){ .fd = -1, .events = POLLIN };
		test->clients[id] = -1;
		if (id != LISTENER)
			test->unused[test->unused_len++] = id;
	}
	rc = bench_listen(AF_INET, SOCK_NONBLOCK, field->options->n, &test->address);
	field->targets[LISTENER].fd = rc;
	return rc < 0 ? rc : 0;
}

static int churn_begin(struct bench_turn *turn)
{
	static const int listener = LISTENER;

	return loop_change(&turn->loop, LOOP_ADD, &listener, 1);
}

/*
 * Connect a client.  If a signal of the watchdog interrupts connect(2), the kernel goes on
 * connecting: wait for that.
 */
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

static int churn_accept(struct bench_turn *turn)
{
	struct churn *test = turn->field->own;

	for (;;) {
		int fd = accept4(turn->field->targets[LISTENER].fd, NULL, NULL,
		                 SOCK_NONBLOCK | SOCK_CLOEXEC);
		int id;
		int rc;

		bench_calls++;
		if (fd < 0)
			return errno == EAGAIN || bench_goes_on(errno) ? 0 : -errno;
		id = test->unused[--test->unused_len];
		turn->field->targets[id].fd = fd;
		rc = loop_change(&turn->loop, LOOP_ADD, &id, 1);
		if (rc < 0)
			return rc;
	}
}

/* Serve an event.  Returns the number of connections that were served completely, or -errno. */
static int churn_serve(struct bench_turn *turn, int id)
{
	struct churn *test = turn->field->own;
	int *fd = &turn->field->targets[id].fd;
	char request;
	int rc;

	if (id == LISTENER)
		return churn_accept(turn);
	bench_calls += 2;
	if (read(*fd, &request, 1) != 1 || write(*fd, "!", 1) != 1)
		return -errno;
	rc = loop_change(&turn->loop, LOOP_CLOSE, &id, 1);
	if (rc < 0)
		return rc;
	*fd = -1;
	test->unused[test->unused_len++] = id;
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

/* Do a round. */
static int churn_run(struct bench_turn *turn)
{
	struct churn *test = turn->field->own;
	int n = bench_round(turn);
	int left = n;
	int rc = 0;

	for (int i = 0; i < n && rc >= 0; i++)
		rc = churn_connect(test, &test->clients[i]);
	while (left > 0 && rc >= 0) {
		int count = loop_wait(&turn->loop, true);

		if (count < 0)
			return count;
		for (int i = 0; i < count && rc >= 0; i++) {
			rc = churn_serve(turn, turn->loop.hand.ready[i].id);
			left -= rc;
		}
	}
	for (int i = 0; i < n && rc >= 0; i++)
		rc = churn_finish(&test->clients[i]);
	return rc < 0 ? rc : n;
}

const struct bench_workload bench_churn = {
	.name = "churn", .unit = "connection", .items = "clients", .n_default = 16,
	.n_max = 10000,
	.summary = "accept, register, one request, close",
	.help =
		"Clients and a server in one thread, over TCP on the loopback.  In a round N\n"
		"clients connect and send a byte; the server accepts, registers, reads,\n"
		"answers and closes.\n"
		LOOP_HELP,
	.references = { "raw-epoll", "raw-poll" },
	.fds_each = 2,
	.kind = BENCH_TARGETS,
	.targets_more = 1,
	.setup_size = sizeof(struct churn),
	.open = churn_open,
	.close = churn_close,
	.ops = { .room = 64, .open = churn_begin, .run = churn_run },
	.loops = LOOP_LEVEL | LOOP_CLOSES,
};

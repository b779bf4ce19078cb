/*
 * http: a small web server, HTTP/1.1 with persistent connections, on any loop.
 *
 * The server is this process, whose processor time is measured; another process has the clients.
 * Of n connections k are busy: the clients send a request on each of them, read all answers, and
 * begin again.  In the last two phases a connection is watched for either reading or writing, like
 * in servers that write when a socket is writable and read no further request before.  So interest
 * changes twice for each request.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "loop.h"

#define REQUEST_MAX 512

static const char request[] =
	"GET /hello HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
static const char answer[] =
	"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\n"
	"Hello, xpoll!\n";
static const char not_found[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

enum { HTTP_AT_ONCE, HTTP_TURNS };

struct http_connection {
	int len;              /* bytes of `request` that have arrived */
	const char *reply;    /* answer to write when the socket is writable; NULL: none */
	char request[REQUEST_MAX];
};

struct http {
	struct http_connection *connections;
	int len; /* number of open connections */
	int clients; /* pipe from which the clients' process reads orders */
	pid_t pid;
};

/* An order to the clients: `count` requests on `busy` connections. */
struct http_order {
	int busy;
	int count;
};

/* --- The server ---------------------------------------------------------------- */

/* Returns the answer to the first request in the buffer; NULL: it has not arrived completely. */
static const char *http_parse(struct http_connection *connection)
{
	char *end = memmem(connection->request, (size_t)connection->len, "\r\n\r\n", 4);
	bool found;

	if (end == NULL)
		return NULL;
	end += 4;
	found = strncmp(connection->request, "GET /hello ", 11) == 0;
	connection->len -= (int)(end - connection->request);
	memmove(connection->request, end, (size_t)connection->len);
	return found ? answer : not_found;
}

static struct http_connection *http_connection(const struct bench_turn *turn, int id)
{
	return &((const struct http *)turn->field->own)->connections[id];
}

/* Write the answer.  Returns 1, the number of answered requests, or -errno. */
static int http_reply(struct bench_turn *turn, int id)
{
	struct http_connection *connection = http_connection(turn, id);
	size_t len = strlen(connection->reply);
	ssize_t written = send(turn->field->targets[id].fd, connection->reply, len,
	                       MSG_NOSIGNAL);

	bench_calls++;
	connection->reply = NULL;
	if (written != (ssize_t)len)
		/* the answer fits, because clients read each one */
		return written < 0 ? -errno : -EIO;
	return 1;
}

static int http_read(struct bench_turn *turn, int id)
{
	struct http_connection *connection = http_connection(turn, id);
	ssize_t len = read(turn->field->targets[id].fd, connection->request + connection->len,
	                   (size_t)(REQUEST_MAX - connection->len));

	bench_calls++;
	if (len <= 0)
		return len < 0 ? -errno : -EPIPE;
	connection->len += (int)len;
	connection->reply = http_parse(connection);
	if (connection->reply == NULL)
		return connection->len < REQUEST_MAX ? 0 : -EMSGSIZE;
	return turn->phase->how == HTTP_TURNS
		? loop_watch(&turn->loop, turn->field, id, POLLOUT) : http_reply(turn, id);
}

static int http_serve(struct bench_turn *turn, int id)
{
	int rc;

	if (http_connection(turn, id)->reply == NULL)
		return http_read(turn, id);
	rc = http_reply(turn, id);
	if (rc > 0) {
		int watched = loop_watch(&turn->loop, turn->field, id, POLLIN);

		rc = watched < 0 ? watched : rc;
	}
	return rc;
}

static int http_run(struct bench_turn *turn)
{
	const struct http *test = turn->field->own;
	int n = turn->field->len;
	int busy = turn->phase->value;
	struct http_order order = { busy < n ? busy : n, turn->count };

	if (write(test->clients, &order, sizeof order) != sizeof order)
		return -EPIPE;
	for (int left = turn->count; left > 0;) {
		int ready = loop_wait(&turn->loop, true);

		if (ready < 0)
			return ready;
		for (int i = 0; i < ready; i++) {
			int rc = http_serve(turn, turn->loop.hand.ready[i].id);

			if (rc < 0)
				return rc;
			left -= rc;
		}
	}
	return turn->count;
}

static int http_open(struct bench_turn *turn)
{
	for (int i = 0; i < turn->field->len; i++)
		turn->field->targets[i].events = POLLIN;
	return loop_change_all(&turn->loop, LOOP_ADD, turn->field->len);
}

/* --- The clients ----------------------------------------------------------------- */

static int client_finish(int fd)
{
	char reply[sizeof answer];
	size_t len = 0;

	while (len < sizeof answer - 1) {
		ssize_t more = read(fd, reply + len, sizeof answer - 1 - len);

		if (more <= 0)
			return -1;
		len += (size_t)more;
	}
	return memcmp(reply, answer, len);
}

/*
 * Send order->count requests on `busy` connections, which are spread evenly, and check the answers.
 */
static int clients_obey(const int *fds, int len, const struct http_order *order)
{
	int step = len / order->busy;

	for (int left = order->count; left > 0;) {
		int now = left < order->busy ? left : order->busy;

		for (int i = 0; i < now; i++)
			if (write(fds[i * step], request, sizeof request - 1) < 0)
				return -1;
		for (int i = 0; i < now; i++)
			if (client_finish(fds[i * step]) != 0)
				return -1;
		left -= now;
	}
	return 0;
}

/* The clients' process: connects, and obeys orders until the pipe is closed. */
static void clients_main(const struct bench_address *address, int len, int orders)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int *fds = calloc((size_t)len, sizeof *fds);
	struct http_order order;

	for (int i = 0; i < len && fds != NULL; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[i] < 0 || connect(fds[i], &address->to.any, address->len) < 0 ||
		    setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &reset, sizeof reset) < 0)
			_exit(1);
	}
	while (fds != NULL && read(orders, &order, sizeof order) == sizeof order)
		if (clients_obey(fds, len, &order) < 0)
			_exit(1);
	_exit(0);
}

static int http_accept(struct bench_field *field, int listener)
{
	struct http *test = field->own;

	for (; test->len < field->len; test->len++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return -errno;
		field->targets[test->len] = (struct loop_target){ .fd = fd, .events = POLLIN };
	}
	return 0;
}

static void http_close_setup(struct bench_field *field)
{
	const struct http *test = field->own;

	if (test->pid > 0) {
		kill(test->pid, SIGKILL);
		waitpid(test->pid, NULL, 0);
		close(test->clients);
	}
	for (int i = 0; i < test->len; i++)
		close(field->targets[i].fd);
	free(test->connections);
}

static int http_open_setup(struct bench_field *field)
{
	struct http *test = field->own;
	struct bench_address address;
	int orders[2];
	int listener;
	int rc;

	test->connections = calloc((size_t)field->len, sizeof *test->connections);
	if (test->connections == NULL || pipe2(orders, O_CLOEXEC) < 0)
		return -ENOMEM;
	listener = bench_listen(AF_INET, 0, field->len, &address);
	test->clients = orders[1];
	test->pid = bench_fork();
	if (test->pid == 0)
		clients_main(&address, field->len, orders[0]);
	close(orders[0]);
	rc = listener < 0 || test->pid < 0 ? -errno : http_accept(field, listener);
	if (listener >= 0)
		close(listener);
	return rc;
}

const struct bench_workload bench_http = {
	.name = "http", .unit = "request", .items = "connections", .n_default = 9010,
	.summary = "a web server with idle connections, in processor time",
	.help =
		"A small HTTP/1.1 server with N connections that stay.  Clients, in another\n"
		"process, send a request on each of 10 or 1000 of them and read the answers.\n"
		"In turns: the server watches a connection for reading or for writing, as those\n"
		"do that write when it is writable; so interest changes twice for each request.\n"
		"It is processor time of the server alone.\n"
		LOOP_HELP,
	.phases = {
		{ .name = "10 busy", .value = 10, .how = HTTP_AT_ONCE },
		{ .name = "1000 busy", .value = 1000, .how = HTTP_AT_ONCE },
		{ .name = "10 in turns", .value = 10, .how = HTTP_TURNS },
		{ .name = "1000 in turns", .value = 1000, .how = HTTP_TURNS },
	},
	.references = { "raw-epoll", "raw-poll", "libuv" },
	.fds_each = 1,
	.kind = BENCH_TARGETS,
	.setup_size = sizeof(struct http),
	.open = http_open_setup,
	.close = http_close_setup,
	.ops = { .room = 256, .open = http_open, .run = http_run },
	.loops = LOOP_LEVEL | LOOP_SWITCHES,
};

/* pause, unread, proxy: programs that change interest in ways that are common. */
#include <stdlib.h>
#include <sys/socket.h>

#include "loop.h"

/* --- pause: one socket of n is disabled at every M-th of its events ------------- */

struct pause_state {
	int events; /* number of events of the first socket, which is paused at times */
	int next;   /* the other socket that was served last */
};

static int pause_open(struct bench_turn *turn)
{
	return loop_change_all(&turn->loop, LOOP_ADD, turn->field->len);
}

/* Take the event of this socket, and read its byte. */
static int pause_take(struct bench_turn *turn, int id)
{
	int count = loop_await(&turn->loop);

	if (count < 0)
		return count;
	if (count != 1 || turn->loop.hand.ready[0].id != id)
		return -EPROTO;
	return bench_take(&turn->field->pairs.at[id]);
}

/* Disable the first socket, which has data; serve the other one; enable the first one again. */
static int pause_other(struct bench_turn *turn, int other)
{
	static const int first = 0;
	int rc = loop_change(&turn->loop, LOOP_DISABLE, &first, 1);

	if (rc >= 0)
		rc = bench_give(&turn->field->pairs.at[other]);
	if (rc >= 0)
		rc = pause_take(turn, other);
	if (rc >= 0)
		rc = loop_change(&turn->loop, LOOP_ENABLE, &first, 1);
	return rc < 0 ? rc : pause_take(turn, first);
}

/* Do two operations: an event of the first socket and one of another socket. */
static int pause_run(struct bench_turn *turn)
{
	struct pause_state *state = turn->own;
	const struct bench_pairs *pairs = &turn->field->pairs;
	int other = 1 + state->next % (pairs->len - 1);
	int rc = bench_give(&pairs->at[0]);

	state->next = other;
	if (rc == 0 && ++state->events % turn->phase->value == 0) {
		rc = pause_other(turn, other);
		return rc < 0 ? rc : 2;
	}
	if (rc == 0)
		rc = pause_take(turn, 0);
	if (rc == 0)
		rc = bench_give(&pairs->at[other]);
	if (rc == 0)
		rc = pause_take(turn, other);
	return rc < 0 ? rc : 2;
}

/* --- unread: a byte stays unread while interest in writing is toggled ------------- */

static int unread_open(struct bench_turn *turn)
{
	int len = turn->field->len;
	int rc = loop_change_all(&turn->loop, LOOP_ADD, len);

	for (int i = 0; i < len && rc >= 0; i++) {
		rc = bench_give(&turn->field->pairs.at[i]);
		if (rc >= 0)
			rc = loop_await(&turn->loop);
	}
	return rc < 0 ? rc : 0;
}

/*
 * Wait until the socket is reported as writable.  `wakes` counts the waits that returned something.
 */
static int unread_writable(struct bench_turn *turn, int id)
{
	for (;;) {
		int count = loop_await(&turn->loop);

		if (count < 0)
			return count;
		turn->sample->wakes++;
		for (int i = 0; i < count; i++)
			if (turn->loop.hand.ready[i].id == id &&
			    turn->loop.hand.ready[i].events & POLLOUT)
				return 0;
	}
}

static int unread_run(struct bench_turn *turn)
{
	int *next = turn->own;
	int id = *next;
	int rc = loop_watch(&turn->loop, turn->field, id, POLLIN | POLLOUT);

	*next = (id + 1) % turn->field->len;
	if (rc >= 0)
		rc = unread_writable(turn, id);
	if (rc >= 0)
		rc = loop_watch(&turn->loop, turn->field, id, POLLIN);
	if (rc >= 0)
		rc = loop_wait(&turn->loop, false);
	turn->sample->wakes += rc > 0;
	return rc < 0 ? rc : 1;
}

/* --- proxy: two sockets a session, back pressure in both directions -------------- */

#define PIECE   4096
#define PIECES  8    /* pieces that each peer sends in a round */
#define SENDING 8192 /* size of the send buffers of the proxy's sockets */
#define ROOM    256

/* A socket of the proxy.  The two sockets of session s have the ids 2s and 2s + 1. */
struct proxy_side {
	int at; /* how much of `data` was written to the session's other socket */
	int len;
	char data[PIECE]; /* read from this socket */
};

static int proxy_open_setup(struct bench_field *field)
{
	const int sending = SENDING;

	for (int i = 0; i < field->pairs.len; i++)
		if (setsockopt(field->pairs.at[i].read_fd, SOL_SOCKET, SO_SNDBUF, &sending,
		               sizeof sending) < 0)
			return -errno;
	return 0;
}

static int proxy_open(struct bench_turn *turn)
{
	struct proxy_side **sides = turn->own;

	*sides = calloc((size_t)turn->field->len + 1, sizeof **sides);
	for (int i = 0; i < turn->field->len; i++)
		turn->field->targets[i].events = POLLIN;
	return *sides == NULL ? -ENOMEM : loop_change_all(&turn->loop, LOOP_ADD, turn->field->len);
}

static void proxy_close(struct bench_turn *turn)
{
	free(*(struct proxy_side **)turn->own);
}

/*
 * Write the data that was read from this side to the other one.  Returns 1 if all is written, 0 if
 * the other one is full, or -errno.
 */
static int proxy_write(struct bench_turn *turn, int from)
{
	struct proxy_side *side = *(struct proxy_side **)turn->own + from;
	ssize_t written = write(turn->field->targets[from ^ 1].fd, side->data + side->at,
	                        (size_t)(side->len - side->at));

	bench_calls++;
	if (written < 0)
		return errno == EAGAIN ? 0 : -errno;
	side->at += (int)written;
	return side->at == side->len;
}

/*
 * Read a piece and write it to the other side.  If that side is full, stop reading here, and wait
 * until it is writable.
 */
static int proxy_readable(struct bench_turn *turn, int id)
{
	const struct loop_target *targets = turn->field->targets;
	struct proxy_side *side = *(struct proxy_side **)turn->own + id;
	ssize_t len = read(targets[id].fd, side->data, PIECE);
	int rc;

	bench_calls++;
	if (len <= 0)
		return len < 0 ? -errno : -EPIPE;
	side->at = 0;
	side->len = (int)len;
	rc = proxy_write(turn, id);
	if (rc != 0)
		return rc;
	rc = loop_watch(&turn->loop, turn->field, id, targets[id].events & ~POLLIN);
	return rc < 0 ? rc : loop_watch(&turn->loop, turn->field, id ^ 1,
	                                targets[id ^ 1].events | POLLOUT);
}

/* Write the remaining data to this side, and then read from the other side again. */
static int proxy_writable(struct bench_turn *turn, int id)
{
	const struct loop_target *targets = turn->field->targets;
	int rc = proxy_write(turn, id ^ 1);

	if (rc <= 0)
		return rc;
	rc = loop_watch(&turn->loop, turn->field, id, targets[id].events & ~POLLOUT);
	return rc < 0 ? rc : loop_watch(&turn->loop, turn->field, id ^ 1,
	                                targets[id ^ 1].events | POLLIN);
}

/* Serve an event, unless an earlier event of the same wait has changed the socket's interest. */
static int proxy_serve(struct bench_turn *turn, const struct loop_ready *ready)
{
	const struct loop_target *target = &turn->field->targets[ready->id];
	int rc = 0;

	if (ready->events & target->events & POLLIN)
		rc = proxy_readable(turn, ready->id);
	if (rc >= 0 && ready->events & target->events & POLLOUT)
		rc = proxy_writable(turn, ready->id);
	return rc;
}

/* Read at the peers of these sockets.  Returns the number of bytes, or -errno. */
static int proxy_receive(const struct bench_turn *turn, int sockets)
{
	char bytes[4 * SENDING];
	int received = 0;

	for (int i = 0; i < sockets; i++) {
		ssize_t len = read(turn->field->pairs.at[i].write_fd, bytes, sizeof bytes);

		bench_calls++;
		if (len < 0 && errno != EAGAIN)
			return -errno;
		received += len > 0 ? (int)len : 0;
	}
	return received;
}

static int proxy_send(const struct bench_turn *turn, int sockets)
{
	static const char piece[PIECE];

	for (int i = 0; i < sockets * PIECES; i++) {
		bench_calls++;
		if (write(turn->field->pairs.at[i / PIECES].write_fd, piece, PIECE) != PIECE)
			return -EIO;
	}
	return 0;
}

/* Do a round: the peers send all pieces, and read only when the proxy has nothing to do. */
static int proxy_run(struct bench_turn *turn)
{
	int sockets = 2 * turn->phase->value < turn->field->len ? 2 * turn->phase->value
	                                                        : turn->field->len & ~1;
	int left = sockets * PIECES * PIECE;
	int rc = proxy_send(turn, sockets);

	while (left > 0 && rc >= 0) {
		int count = loop_wait(&turn->loop, false);

		if (count < 0)
			return count;
		for (int i = 0; i < count && rc >= 0; i++)
			rc = proxy_serve(turn, &turn->loop.hand.ready[i]);
		if (count > 0 || rc < 0)
			continue;
		rc = proxy_receive(turn, sockets);
		if (rc == 0)
			return -EPROTO; /* an event is missing */
		left -= rc;
	}
	return rc < 0 ? rc : sockets * PIECES;
}

/* --- The workloads ------------------------------------------------------------------ */

#define PAUSE(name_, every) { .name = name_, .value = (every), .run = pause_run }

const struct bench_workload bench_pause = {
	.name = "pause", .unit = "event", .items = "sockets", .n_default = 1000,
	.summary = "one socket of n is disabled at some of its events",
	.help =
		"Of N sockets, at least 2, one gets every other byte, the others the rest.  At\n"
		"every M-th event of that one it is disabled while it has data, another is\n"
		"served, and it is enabled.\n"
		LOOP_HELP,
	.phases = {
		PAUSE("M=1", 1), PAUSE("M=2", 2), PAUSE("M=4", 4), PAUSE("M=8", 8),
		PAUSE("M=64", 64),
	},
	.references = { "raw-epoll", "libev", "kevent" },
	.kind = BENCH_SOCKETS,
	.ops = { .size = sizeof(struct pause_state), .room = 8, .open = pause_open },
	.loops = LOOP_LEVEL,
};

const struct bench_workload bench_unread = {
	.name = "unread", .unit = "toggle", .items = "sockets", .n_default = 1,
	.summary = "writing is toggled beside an unread byte in edge mode",
	.help =
		"Each of N sockets has a byte that was reported edge-triggered and stays unread.\n"
		"Interest in writing is added; the event of writing is taken; interest is\n"
		"removed; a wait finds nothing.  wakes: waits that returned something, 1 at best.\n"
		LOOP_HELP
		"raw-epoll    one entry for both directions, edge-triggered: each change reports\n"
		"             the byte again\n",
	.phases = { { .run = unread_run } },
	.references = { "raw-epoll", "kevent", "libkqueue" },
	.tells_wakes = true,
	.kind = BENCH_SOCKETS,
	.ops = { .size = sizeof(int), .room = 8, .open = unread_open },
	.loops = LOOP_EDGE | LOOP_SWITCHES,
};

#define BUSY(name_, sessions) { .name = name_, .value = (sessions), .run = proxy_run }

const struct bench_workload bench_proxy = {
	.name = "proxy", .unit = "piece", .items = "sockets", .n_default = 2000,
	.summary = "a proxy with back pressure in both directions",
	.help =
		"A proxy with N sockets, two for each session.  In a round the peers of 1, 64 or\n"
		"1000 sessions send 8 pieces of 4 KiB each, which is more than a socket takes.\n"
		"They read when the proxy has nothing more to do.  While one side of a session is\n"
		"full the proxy waits for it to be writable and does not watch the other for\n"
		"reading.\n"
		LOOP_HELP,
	.phases = { BUSY("1 busy", 1), BUSY("64 busy", 64), BUSY("1000 busy", 1000) },
	.references = { "raw-epoll", "raw-poll", "libuv" },
	.kind = BENCH_SOCKETS,
	.open = proxy_open_setup,
	.ops = {
		.size = sizeof(struct proxy_side *), .room = ROOM, .open = proxy_open,
		.close = proxy_close,
	},
	.loops = LOOP_LEVEL | LOOP_SWITCHES,
};

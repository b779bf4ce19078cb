/*
 * user: registrations without a descriptor, from a few to ten millions.
 *
 * A pass goes through the life of a queue with n of them: it is opened; all are added; some
 * are triggered and returned, one at a time, and disabled and enabled; half are deleted;
 * the queue is closed with the other half in it.  What is touched is all over the table, so
 * with many of them it is memory that takes the time: by-hand shows how much.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "loop.h"

#define BATCH    64
#define OPENINGS 16
#define SOME_MAX 20000
#define TRIGGER  (-1) /* where others are an enum loop_change */

enum { ALL, HALF, SOME }; /* are touched in a phase */

/* --- By hand: an array, a list of those triggered, an eventfd ------------------- */

struct user_loop {
	int epoll;
	int event;
	struct user {
		struct user *next;
		uint64_t ident;
		bool enabled;
		char rest[56]; /* so that it is as large as one of xpoll's */
	} *all, *triggered;
};

static void hand_close(void *opened)
{
	struct user_loop *loop = opened;

	free(loop->all);
	if (loop->event >= 0)
		close(loop->event);
	if (loop->epoll >= 0)
		close(loop->epoll);
}

static int hand_open(void *opened, const struct bench_field *field,
                     const struct bench_way *way)
{
	struct user_loop *loop = opened;
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	(void)way;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->all = malloc((size_t)field->len * sizeof *loop->all);
	if (loop->all == NULL)
		return -ENOMEM;
	bench_calls += 3;
	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->event, &event) < 0 ? -errno : 0;
}

static int hand_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct user_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		struct user *user = &loop->all[ids[i]];

		if (change == LOOP_ADD)
			*user = (struct user){ .ident = (uint64_t)ids[i], .enabled = true };
		else
			user->enabled = change == LOOP_ENABLE;
	}
	return 0;
}

static int hand_trigger(void *opened, int id)
{
	struct user_loop *loop = opened;
	struct user *user = &loop->all[id];
	struct epoll_event event;

	user->next = loop->triggered;
	loop->triggered = user;
	bench_calls += 2;
	if (eventfd_write(loop->event, 1) < 0 || epoll_wait(loop->epoll, &event, 1, 0) != 1)
		return -EPROTO;
	loop->triggered = user->next;
	return 0;
}

static const struct loop_ops loop_user = {
	.size = sizeof(struct user_loop),
	.open = hand_open,
	.change = hand_change,
	.trigger = hand_trigger,
	.close = hand_close,
};

/* --- A pass --------------------------------------------------------------------- */

static int user_open(struct bench_turn *turn)
{
	int rc = 0;

	for (int i = 0; i < OPENINGS && rc >= 0; i++) {
		loop_close(&turn->loop);
		rc = loop_open(&turn->loop, turn->way, turn->field, 1);
	}
	return rc < 0 ? rc : OPENINGS;
}

static int user_destroy(struct bench_turn *turn)
{
	loop_close(&turn->loop);
	return (turn->field->len + 1) / 2;
}

static int user_batch(struct bench_turn *turn, const int *ids, int len)
{
	int change = turn->phase->value;
	int rc = 0;

	for (int i = 0; i < len && rc >= 0 && change == TRIGGER; i++)
		rc = turn->loop.ops->trigger(turn->loop.state, ids[i]);
	if (change != TRIGGER)
		rc = loop_change(&turn->loop, (enum loop_change)change, ids, len);
	if (rc >= 0 && change == LOOP_DISABLE)
		rc = loop_change(&turn->loop, LOOP_ENABLE, ids, len);
	return rc;
}

/* Those that are touched are one after the other, but far from each other. */
static int user_run(struct bench_turn *turn)
{
	int n = turn->field->len;
	int count = turn->phase->how == ALL ? n : turn->phase->how == HALF ? (n + 1) / 2
	            : n < SOME_MAX ? n : SOME_MAX;
	int rc = 0;

	for (int done = 0; done < count && rc >= 0;) {
		int ids[BATCH];
		int len = 0;

		for (; len < BATCH && done < count; len++, done++)
			ids[len] = (int)((uint64_t)done * 2654435761u % (uint64_t)n);
		rc = user_batch(turn, ids, len);
	}
	return rc < 0 ? rc : count;
}

/* Those of a queue that was closed are gone with it. */
static uint64_t user_syscalls(const struct bench_turn *turn)
{
	return turn->phase->run == user_open ? BENCH_UNKNOWN : loop_syscalls(&turn->loop);
}

static const struct bench_variant user_limit = { .name = "by-hand", .loop = &loop_user };

const struct bench_workload bench_user = {
	.name = "user", .unit = "operation", .items = "events", .n_default = 10000,
	.summary = "registrations without a descriptor: open to destroy",
	.help =
		"A queue with N user events, in passes of six phases.  open: an empty one is\n"
		"opened, and closed.  add: all are added.  trigger: one is triggered and\n"
		"returned by the same call.  change: it is disabled, and enabled.  delete: half\n"
		"are deleted.  destroy: the queue is closed with the other half in it.\n"
		"\n"
		"xpoll-NAME   USER in a queue on a back end, 64 changes in a call\n"
		"by-hand      an array of N, a list of those that are triggered, an eventfd\n"
		"\n"
		"bytes: memory for each, after the phase.\n",
	.rounds_default = 5,
	.phases = {
		{ .name = "open", .run = user_open },
		{ .name = "add", .run = user_run, .value = LOOP_ADD, .how = ALL },
		{ .name = "trigger", .run = user_run, .value = TRIGGER, .how = SOME },
		{ .name = "change", .run = user_run, .value = LOOP_DISABLE, .how = SOME },
		{ .name = "delete", .run = user_run, .value = LOOP_DELETE, .how = HALF },
		{ .name = "destroy", .run = user_destroy },
	},
	.references = { "by-hand" },
	.tells_bytes = true,
	.kind = BENCH_NOTHING,
	.ops = { .passes = true, .syscalls = user_syscalls },
	.loops = LOOP_USERS,
	.limit = &user_limit,
};

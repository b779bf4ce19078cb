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
#define TOUCHED  20000 /* at most so many, in a pass */
#define OPENINGS 16

enum { USER_OPEN, USER_ADD, USER_TRIGGER, USER_CHANGE, USER_DELETE, USER_DESTROY };

static const char *const user_phases[] = {
	"open", "add", "trigger", "change", "delete", "destroy", NULL
};

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

static int hand_users(void *opened, enum loop_change change, const uint32_t *ids, int len)
{
	struct user_loop *loop = opened;

	for (int i = 0; i < len; i++) {
		struct user *user = &loop->all[ids[i]];

		if (change == LOOP_ADD)
			*user = (struct user){ .ident = ids[i], .enabled = true };
		else
			user->enabled = change == LOOP_ENABLE;
	}
	return 0;
}

static int hand_trigger(void *opened, uint32_t id)
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
	.users = hand_users,
	.trigger = hand_trigger,
	.close = hand_close,
};

/* --- A pass --------------------------------------------------------------------- */

static int user_open_many(struct bench_turn *turn)
{
	int rc = 0;

	for (int i = 0; i < OPENINGS && rc >= 0; i++) {
		loop_close(&turn->loop);
		rc = loop_open(&turn->loop, turn->way, turn->field, 1);
	}
	return rc < 0 ? rc : OPENINGS;
}

/* Those that are touched are one after the other, but far from each other. */
static int user_some(struct bench_turn *turn, int phase, int first, int len)
{
	const struct loop_ops *ops = turn->loop.ops;
	void *loop = turn->loop.state;
	uint32_t ids[BATCH];
	int rc = 0;

	for (int i = 0; i < len; i++)
		ids[i] = (uint32_t)((uint64_t)(first + i) * 2654435761u %
		                    (uint64_t)turn->field->len);
	for (int i = 0; i < len && rc == 0 && phase == USER_TRIGGER; i++)
		rc = ops->trigger(loop, ids[i]);
	if (phase == USER_ADD || phase == USER_DELETE)
		rc = ops->users(loop, phase == USER_ADD ? LOOP_ADD : LOOP_DELETE, ids, len);
	if (phase == USER_CHANGE) {
		rc = ops->users(loop, LOOP_DISABLE, ids, len);
		if (rc >= 0)
			rc = ops->users(loop, LOOP_ENABLE, ids, len);
	}
	return rc;
}

static int64_t user_step(void *opened, int phase)
{
	struct bench_turn *turn = opened;
	int n = turn->field->len;
	int half = (n + 1) / 2;
	int count = phase == USER_ADD ? n : phase == USER_DELETE ? half
	            : n < TOUCHED ? n : TOUCHED;
	int rc = 0;

	if (phase == USER_OPEN)
		return user_open_many(turn);
	if (phase == USER_DESTROY) {
		loop_close(&turn->loop);
		return half;
	}
	for (int done = 0; done < count && rc >= 0; done += BATCH)
		rc = user_some(turn, phase, done, count - done < BATCH ? count - done : BATCH);
	return rc < 0 ? rc : count;
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
	.phases = user_phases,
	.references = { "by-hand" },
	.tells_bytes = true,
	.kind = BENCH_NOTHING,
	.ops = { .step = user_step },
	.loops = LOOP_USERS,
	.limit = &user_limit,
};

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

#include "workloads.h"

#define BATCH    64
#define TOUCHED  20000 /* at most so many, in a pass */
#define OPENINGS 16

enum user_phase {
	USER_OPEN, USER_ADD, USER_TRIGGER, USER_CHANGE, USER_DELETE, USER_DESTROY
};

static const char *const user_phases[] = {
	"open", "add", "trigger", "change", "delete", "destroy", NULL
};

struct user_state;

/* Each returns 0 or -errno. */
struct user_steps {
	int (*open)(struct user_state *state);
	int (*change)(struct user_state *state, enum user_phase phase, int first, int count);
	void (*close)(struct user_state *state);
};

struct user_state {
	const struct user_steps *steps;
	const char *backend;
	int n;
	bool opened;
	struct xpoll *queue;
	/* By hand. */
	int epoll;
	int event;
	struct user_hand {
		struct user_hand *next;
		uint64_t ident;
		bool enabled;
		char rest[56]; /* so that it is as large as one of xpoll's */
	} *all, *triggered;
};

/* The i-th to be touched: one after the other, but far from each other. */
static uint64_t user_ident(const struct user_state *state, int i)
{
	return (uint64_t)i * 2654435761u % (uint64_t)state->n;
}

/* --- On xpoll ------------------------------------------------------------------ */

static int queue_open(struct user_state *state)
{
	state->queue = queue_on(state->backend);
	return state->queue == NULL ? -errno : 0;
}

static void queue_close(struct user_state *state)
{
	xpoll_destroy(state->queue);
}

static int queue_submit(struct user_state *state, int flags, int first, int count)
{
	struct xpoll_event changes[BATCH];

	for (int i = 0; i < count; i++)
		xpoll_set(&changes[i], user_ident(state, first + i), XPOLL_FILT_USER, flags, 0, 0,
		          NULL);
	return xpoll_event(state->queue, changes, count, NULL, 0, 0) < 0 ? -errno : 0;
}

static int queue_trigger(struct user_state *state, int index)
{
	struct xpoll_event event;
	uint64_t ident = user_ident(state, index);

	xpoll_set(&event, ident, XPOLL_FILT_USER, 0, XPOLL_NOTE_TRIGGER, 0, NULL);
	if (xpoll_event(state->queue, &event, 1, &event, 1, 0) != 1 || event.ident != ident)
		return -EPROTO;
	return 0;
}

static int queue_change(struct user_state *state, enum user_phase phase, int first, int count)
{
	int rc = 0;

	switch (phase) {
	case USER_ADD:
		return queue_submit(state, XPOLL_ADD | XPOLL_CLEAR, first, count);
	case USER_DELETE:
		return queue_submit(state, XPOLL_DELETE, first, count);
	case USER_CHANGE:
		rc = queue_submit(state, XPOLL_DISABLE, first, count);
		return rc < 0 ? rc : queue_submit(state, XPOLL_ENABLE, first, count);
	default:
		for (int i = first; i < first + count && rc == 0; i++)
			rc = queue_trigger(state, i);
		return rc;
	}
}

static const struct user_steps queue_steps = { queue_open, queue_change, queue_close };

/* --- By hand: an array, a list of those triggered, an eventfd ------------------- */

static void hand_close(struct user_state *state)
{
	free(state->all);
	if (state->event >= 0)
		close(state->event);
	close(state->epoll);
}

static int hand_open(struct user_state *state)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	state->epoll = epoll_create1(EPOLL_CLOEXEC);
	state->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	state->all = malloc((size_t)state->n * sizeof *state->all);
	if (state->all == NULL)
		return -ENOMEM;
	bench_calls += 3;
	return epoll_ctl(state->epoll, EPOLL_CTL_ADD, state->event, &event) < 0 ? -errno : 0;
}

static int hand_trigger(struct user_state *state, struct user_hand *user)
{
	struct epoll_event event;

	user->next = state->triggered;
	state->triggered = user;
	bench_calls += 2;
	if (eventfd_write(state->event, 1) < 0 || epoll_wait(state->epoll, &event, 1, 0) != 1)
		return -EPROTO;
	state->triggered = user->next;
	return 0;
}

static int hand_change(struct user_state *state, enum user_phase phase, int first, int count)
{
	int rc = 0;

	for (int i = first; i < first + count && rc == 0; i++) {
		uint64_t ident = user_ident(state, i);
		struct user_hand *user = &state->all[ident];

		if (phase == USER_ADD)
			*user = (struct user_hand){ .ident = ident };
		else if (phase == USER_TRIGGER)
			rc = hand_trigger(state, user);
		else
			user->enabled = !user->enabled;
	}
	return rc;
}

static const struct user_steps hand_steps = { hand_open, hand_change, hand_close };

/* --- A pass --------------------------------------------------------------------- */

static void user_close(void *opened)
{
	struct user_state *state = opened;

	if (state->opened)
		state->steps->close(state);
	state->opened = false;
}

static int user_open_many(struct user_state *state)
{
	int rc = 0;

	for (int i = 0; i < OPENINGS && rc == 0; i++) {
		user_close(state);
		rc = state->steps->open(state);
		state->opened = rc == 0;
	}
	return rc;
}

static int64_t user_step(void *opened, int phase)
{
	struct user_state *state = opened;
	int half = (state->n + 1) / 2;
	int some = state->n < TOUCHED ? state->n : TOUCHED;
	int count = phase == USER_ADD ? state->n : phase == USER_DELETE ? half : some;
	int rc = 0;

	if (phase == USER_DESTROY)
		user_close(state);
	if (phase == USER_OPEN)
		rc = user_open_many(state);
	if (phase == USER_OPEN || phase == USER_DESTROY)
		return rc < 0 ? rc : phase == USER_OPEN ? OPENINGS : half;
	for (int done = 0; done < count && rc == 0; done += BATCH)
		rc = state->steps->change(state, (enum user_phase)phase, done,
		                          count - done < BATCH ? count - done : BATCH);
	return rc < 0 ? rc : count;
}

static uint64_t user_syscalls(const void *opened)
{
	const struct user_state *state = opened;

	return state->opened && state->queue != NULL ? queue_calls(state->queue) : bench_calls;
}

static int user_open(void *opened, void *setup, const struct bench_way *way)
{
	struct user_state *state = opened;

	(void)setup;
	state->steps = way->steps;
	state->backend = way->backend;
	state->n = way->options->n;
	return 0;
}

static const struct bench_ops user_ops = {
	.size = sizeof(struct user_state),
	.open = user_open,
	.step = user_step,
	.syscalls = user_syscalls,
	.close = user_close,
};

static const struct bench_variant user_limit = { .name = "by-hand", .steps = &hand_steps };

const struct bench_workload bench_user = {
	.name = "user",
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
	.unit = "operation",
	.items = "events",
	.n_default = 10000,
	.rounds_default = 5,
	.phases = user_phases,
	.references = { "by-hand" },
	.tells_bytes = true,
	.open = bench_no_setup,
	.queue = &user_ops,
	.steps = &queue_steps,
	.limit = &user_limit,
};

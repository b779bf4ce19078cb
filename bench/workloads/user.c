/*
 * user: registrations without a descriptor, from a few to ten millions.
 *
 * A pass goes through the life of a queue with n user events: it is opened; all are added; some are
 * triggered and returned, one at a time, and disabled and enabled; half are deleted; the queue is
 * closed with the other half in it.  The events that are touched are spread over the table, so with
 * many events memory takes most of the time.  The variant by-hand shows how much: like xpoll it
 * finds events by an ident of 64 bits.  In the variant array nothing is searched.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "loop.h"

#define BATCH    64
#define OPENINGS 16
#define SOME_MAX 20000
#define TRIGGER  (-1) /* value of the phase that triggers; others have an enum loop_change */

enum { ALL, HALF, SOME }; /* how many events a phase touches */

/* --- By hand: a list of those triggered, an eventfd; a hash table, or just an array --- */

struct user {
	struct user *next; /* the next in the list of triggered or of free ones */
	uint64_t ident;
	bool enabled;
	char rest[40]; /* makes it as large as a registration of xpoll */
};

struct user_loop {
	int epoll;
	int event;
	struct user *all, *triggered;
	/*
	 * The hash table, with linear probing: each event is at the first place that was free, from
	 * the one that its hash selects.
	 */
	struct place {
		uint64_t ident;
		struct user *user; /* NULL: the place is free */
	} *table;
	size_t len; /* number of places: a power of two, at least twice `count` */
	size_t count;
	struct user *free;
};

static void hand_close(void *opened)
{
	struct user_loop *loop = opened;

	free(loop->table);
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

static int array_change(void *opened, enum loop_change change, const int *ids, int len)
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

/*
 * Trigger an event, and take it.  An eventfd wakes the thread that waits, because in a program
 * another thread may trigger.
 */
static int hand_trigger(struct user_loop *loop, struct user *user)
{
	struct epoll_event event;

	user->next = loop->triggered;
	loop->triggered = user;
	bench_calls += 2;
	if (eventfd_write(loop->event, 1) < 0 || epoll_wait(loop->epoll, &event, 1, 0) != 1)
		return -EPROTO;
	loop->triggered = user->next;
	return 0;
}

static int array_trigger(void *opened, int id)
{
	struct user_loop *loop = opened;

	return hand_trigger(loop, &loop->all[id]);
}

static const struct loop_ops loop_array = {
	.size = sizeof(struct user_loop),
	.open = hand_open,
	.change = array_change,
	.trigger = array_trigger,
	.close = hand_close,
};

static size_t table_place(const struct user_loop *loop, uint64_t ident)
{
	uint64_t hash = ident * 0x9e3779b97f4a7c15u;

	return (size_t)(hash ^ hash >> 32) & (loop->len - 1);
}

/* Returns the place of the event; if there is none, the free place for it. */
static size_t table_find(const struct user_loop *loop, uint64_t ident)
{
	size_t at = table_place(loop, ident);

	while (loop->table[at].user != NULL && loop->table[at].ident != ident)
		at = (at + 1) & (loop->len - 1);
	return at;
}

static int table_grow(struct user_loop *loop)
{
	struct place *old = loop->table;
	size_t old_len = loop->len;

	loop->len = old_len != 0 ? 2 * old_len : 64;
	loop->table = calloc(loop->len, sizeof *loop->table);
	for (size_t i = 0; i < old_len && loop->table != NULL; i++)
		if (old[i].user != NULL)
			loop->table[table_find(loop, old[i].ident)] = old[i];
	free(old);
	return loop->table == NULL ? -ENOMEM : 0;
}

static int table_add(struct user_loop *loop, uint64_t ident)
{
	int rc = 2 * (loop->count + 1) > loop->len ? table_grow(loop) : 0;
	struct user *user = loop->free;
	size_t at;

	if (rc < 0)
		return rc;
	at = table_find(loop, ident);
	if (loop->table[at].user != NULL)
		return -EEXIST;
	if (user != NULL)
		loop->free = user->next;
	else
		user = &loop->all[loop->count];
	*user = (struct user){ .ident = ident, .enabled = true };
	loop->table[at] = (struct place){ ident, user };
	loop->count++;
	return 0;
}

/*
 * Remove the event at this place.  Events behind it move into the gap if a search for them would
 * end there.
 */
static void table_remove(struct user_loop *loop, size_t at)
{
	struct user *user = loop->table[at].user;
	size_t next = at;

	user->next = loop->free;
	loop->free = user;
	loop->count--;
	loop->table[at].user = NULL;
	for (;;) {
		size_t own;

		next = (next + 1) & (loop->len - 1);
		if (loop->table[next].user == NULL)
			return;
		own = table_place(loop, loop->table[next].ident);
		if (((next - own) & (loop->len - 1)) < ((next - at) & (loop->len - 1)))
			continue;
		loop->table[at] = loop->table[next];
		loop->table[next].user = NULL;
		at = next;
	}
}

static int table_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct user_loop *loop = opened;
	int rc = 0;

	for (int i = 0; i < len && rc >= 0; i++) {
		size_t at;

		if (change == LOOP_ADD) {
			rc = table_add(loop, (uint64_t)ids[i]);
			continue;
		}
		at = table_find(loop, (uint64_t)ids[i]);
		if (loop->table[at].user == NULL)
			return -ENOENT;
		if (change == LOOP_DELETE)
			table_remove(loop, at);
		else
			loop->table[at].user->enabled = change == LOOP_ENABLE;
	}
	return rc;
}

static int table_trigger(void *opened, int id)
{
	struct user_loop *loop = opened;
	struct user *user = loop->table[table_find(loop, (uint64_t)id)].user;

	return user == NULL ? -ENOENT : hand_trigger(loop, user);
}

static const struct loop_ops loop_table = {
	.size = sizeof(struct user_loop),
	.open = hand_open,
	.change = table_change,
	.trigger = table_trigger,
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

/* Make the phase's change of a number of events, each far from the one before in the table. */
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

/*
 * Returns the number of system calls; unknown in the phase `open`, whose queues are closed again,
 * with their counts.
 */
static uint64_t user_syscalls(const struct bench_turn *turn)
{
	return turn->phase->run == user_open ? BENCH_UNKNOWN : loop_syscalls(&turn->loop);
}

static const struct bench_variant user_peers[] = {
	{ .name = "by-hand", .loop = &loop_table }, { 0 },
};
static const struct bench_variant user_limit = { .name = "array", .loop = &loop_array };

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
		"by-hand      a hash table by 64-bit idents, a list of those that are triggered,\n"
		"             an eventfd\n"
		"array        the limit: the ident is the index of an array, so nothing is looked\n"
		"             for, and a change does not find out if there is such an event\n"
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
	.references = { "by-hand", "array" },
	.tells_bytes = true,
	.kind = BENCH_NOTHING,
	.ops = { .passes = true, .syscalls = user_syscalls },
	.loops = LOOP_USERS,
	.peers = user_peers,
	.limit = &user_limit,
};

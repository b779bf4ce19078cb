/*
 * Goal: a call delivers all events that are ready when it is made, as far as
 * there is room: if it returns fewer, no more were ready (S11).
 * Method: thousands of descriptors are ready, and the arrays are larger than
 * any chunk in which the library takes reports.  The test counts the events of
 * one call, checks that all differ, and that nothing is written beyond the
 * array.
 */
#include "xt.h"

enum { MANY = XT_SLOW ? 1500 : 10000, FILES = 2 * MANY, BEYOND = 4 };

static const int counts[] = {
	1, 63, 64, 65, 255, 256, 257, 288, 511, 513, 1000, MANY - 100,
};

enum { COUNTS = sizeof counts / sizeof *counts };

/* Each descriptor has its own file, which is readable and writable. */
struct room {
	struct xpoll *queue;
	struct xt_pair *files; /* without eventfd(2) a file takes two descriptors */
	int count;
	struct xpoll_event *array;
	int cap;
	unsigned char *seen; /* indexed by descriptor */
	int numbers;
};

static struct xt_pair ready_file(void)
{
	struct xt_pair file = {.r = xt_eventfd(), .w = -1};
	uint64_t one = 1;

	if (file.r >= 0) {
		(void)XT_EXPECT_EQ(write(file.r, &one, sizeof one), sizeof one);
	} else {
		file = xt_socketpair(SOCK_STREAM);
		xt_put(file.w);
	}
	return file;
}

static void room_make(struct room *room, int count)
{
	*room = (struct room){.count = count, .cap = 2 * count + 1};
	room->queue = xt_open_quiet();
	room->files = calloc((size_t)count, sizeof *room->files);
	room->array = calloc((size_t)(room->cap + BEYOND), sizeof *room->array);
	for (int i = 0; i < count; i++) {
		room->files[i] = ready_file();
		if (room->files[i].r >= room->numbers)
			room->numbers = room->files[i].r + 1;
	}
	room->seen = calloc((size_t)room->numbers, 1);
}

static void room_free(struct room *room)
{
	xt_destroy(room->queue);
	for (int i = 0; i < room->count; i++) {
		xt_close(room->files[i].r);
		if (room->files[i].w >= 0)
			xt_close(room->files[i].w);
	}
	free(room->files);
	free(room->array);
	free(room->seen);
}

static void room_add(struct room *room, int filter, int flags)
{
	for (int i = 0; i < room->count; i++)
		XT_OK(xt_add(room->queue, room->files[i].r, filter, flags));
}

static void room_flag(struct room *room, int filter, int flags)
{
	for (int i = 0; i < room->count; i++)
		XT_OK(xt_flag(room->queue, (uint64_t)room->files[i].r, filter, flags));
}

/*
 * The kqueue(2) of this model is the library on epoll, which checks reported descriptors again
 * before it reports the rest, so a level may be repeated too early.
 */
static bool too_many(int events)
{
	return events > 256 && xt_is("kqueue");
}

/*
 * Make one call with room for cap events, and check that exactly `expected` events come, all
 * different.
 */
static void room_take(struct room *room, int cap, int expected)
{
	struct xpoll_event none;

	memset(&none, 0x5a, sizeof none);
	for (int i = 0; i < BEYOND; i++)
		room->array[cap + i] = none;
	memset(room->seen, 0, (size_t)room->numbers);
	XT_EQ(xpoll_event(room->queue, NULL, 0, room->array, cap, 0), expected);
	for (int i = 0; i < BEYOND; i++)
		XT_EQ(memcmp(&room->array[cap + i], &none, sizeof none), 0);
	for (int i = 0; i < expected; i++) {
		const struct xpoll_event *event = &room->array[i];
		unsigned char bit = event->filter == READ ? 1 : 2;

		XT_CHECK(event->filter == READ || event->filter == WRITE);
		XT_CHECK(event->ident < (uint64_t)room->numbers);
		XT_CHECK(!(room->seen[event->ident] & bit));
		room->seen[event->ident] |= bit;
	}
}

static void run(int count, int flags)
{
	bool again = !(flags & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH));
	struct room room;

	if (flags != XPOLL_CLEAR && too_many(count))
		return;
	room_make(&room, count);
	XT_CALL(room_add(&room, READ, flags));
	XT_CALL(room_take(&room, 2 * count, count));
	XT_CALL(room_take(&room, 2 * count, again ? count : 0));
	room_free(&room);
}

XT_TEST(one_call_delivers_all_that_is_ready)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

	XT_FILES(FILES);
	for (int i = 0; i < COUNTS; i++)
		for (int k = 0; k < 4; k++)
			XT_CALL(run(counts[i], modes[k]));
}

/* Each descriptor has two events; the second ones find no room in a short array. */
XT_TEST(one_call_delivers_both_filters_of_all)
{
	XT_FILES(FILES);
	for (int i = 0; i < COUNTS; i++) {
		struct room room;

		if (too_many(4 * counts[i]))
			break;
		room_make(&room, counts[i]);
		XT_CALL(room_add(&room, READ, 0));
		XT_CALL(room_add(&room, WRITE, 0));
		for (int k = 0; k < 4; k++) {
			XT_CALL(room_take(&room, 2 * counts[i], 2 * counts[i]));
			XT_CALL(room_take(&room, counts[i], counts[i]));
		}
		room_free(&room);
	}
}

/* The second edge-triggered filter has an entry in another epoll set. */
XT_TEST(one_call_delivers_edges_of_both_filters)
{
	XT_FILES(FILES);
	for (int i = 0; i < COUNTS; i++) {
		int all = 2 * counts[i];
		struct room room;

		room_make(&room, counts[i]);
		XT_CALL(room_add(&room, READ, XPOLL_CLEAR));
		XT_CALL(room_take(&room, all, counts[i]));
		XT_CALL(room_add(&room, WRITE, XPOLL_CLEAR));
		XT_CALL(room_take(&room, all, counts[i]));
		XT_CALL(room_take(&room, all, 0));
		room_free(&room);
	}
}

/* The library itself checks filters that were just enabled. */
XT_TEST(one_call_delivers_what_was_enabled)
{
	XT_FILES(FILES);
	for (int i = 0; i < COUNTS; i++) {
		struct room room;

		if (too_many(counts[i]))
			break;
		room_make(&room, counts[i]);
		XT_CALL(room_add(&room, READ, 0));
		for (int k = 0; k < 3; k++) {
			XT_CALL(room_flag(&room, READ, XPOLL_DISABLE));
			XT_CALL(room_take(&room, counts[i], 0));
			XT_CALL(room_flag(&room, READ, XPOLL_ENABLE));
			XT_CALL(room_take(&room, counts[i], counts[i]));
			XT_CALL(room_take(&room, counts[i] + 1, counts[i]));
		}
		room_free(&room);
	}
}

XT_TEST(short_array_is_filled_and_what_is_left_comes_next)
{
	XT_FILES(FILES);
	for (int cap = XT_SLOW ? 31 : 1; cap < MANY / 2; cap = 3 * cap - 1) {
		struct room room;

		room_make(&room, 2 * cap + 1);
		XT_CALL(room_add(&room, READ, XPOLL_ONESHOT));
		XT_CALL(room_take(&room, cap, cap));
		XT_CALL(room_take(&room, cap, cap));
		XT_CALL(room_take(&room, cap, 1));
		XT_CALL(room_take(&room, cap, 0));
		room_free(&room);
	}
}

/* If there is room left, a call that delivers earlier events also delivers new ones. */
XT_TEST(what_has_become_ready_comes_beside_what_was_left)
{
	struct xt_pair late = xt_pipe();
	struct room room;

	XT_FILES(300);
	room_make(&room, 100);
	XT_CALL(room_add(&room, READ, 0));
	XT_OK(xt_add(room.queue, late.r, READ, 0));
	XT_CALL(room_take(&room, 60, 60));
	xt_put(late.w);
	XT_EQ(xpoll_event(room.queue, NULL, 0, room.array, 102, 0), 101);
	XT_CHECK(xt_find(room.array, 101, (uint64_t)late.r, READ) >= 0);
	room_free(&room);
}

/* The mode of one filter's event does not affect other events of the call. */
static void all_come_together(const int *flags, bool later)
{
	static const int filters[] = {READ, WRITE, EXCEPT};
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair tcp = xt_tcp();
	struct xpoll_event events[8];
	int count = xt_has_except() ? 3 : 2;

	XT_EQ(send(tcp.w, "u", 1, MSG_OOB), 1);
	xt_put(tcp.w);
	XT_CHECK(xt_poll_until(tcp.r, POLLIN | POLLPRI, POLLIN | POLLPRI));
	for (int i = 0; i < count; i++)
		XT_OK(xt_add(queue, tcp.r, filters[i],
		             flags[i] | (later ? XPOLL_DISABLE : 0)));
	for (int i = 0; i < count && later; i++)
		XT_OK(xt_flag(queue, (uint64_t)tcp.r, filters[i], XPOLL_ENABLE));
	XT_EQ(xpoll_event(queue, NULL, 0, events, 8, 0), count);
	for (int i = 0; i < count; i++)
		XT_CHECK(xt_find(events, count, (uint64_t)tcp.r, filters[i]) >= 0);
	xt_destroy(queue);
	xt_shut(tcp);
}

XT_TEST(one_call_delivers_all_filters_whatever_their_modes)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH,
	                            XPOLL_CLEAR | XPOLL_DISPATCH};

	for (int i = 0; i < 2 * 5 * 5 * 5; i++) {
		int flags[] = {modes[i / 2 % 5], modes[i / 10 % 5], modes[i / 50]};

		XT_CALL(all_come_together(flags, i % 2));
	}
}

/* Level-triggered and edge-triggered filters, which some back ends keep in two kernel objects. */
static void both_places(int levels, int edges)
{
	struct room room;

	if (too_many(levels + edges))
		return;
	room_make(&room, levels + edges);
	for (int i = 0; i < room.count; i++)
		XT_OK(xt_add(room.queue, room.files[i].r, READ, i < levels ? 0 : XPOLL_CLEAR));
	XT_CALL(room_take(&room, room.count + 1, room.count));
	XT_CALL(room_take(&room, room.count + 1, levels));
	room_free(&room);
}

XT_TEST(one_call_delivers_levels_and_edges)
{
	static const int some[] = {1, 63, 64, 65, 200, 400};

	XT_FILES(FILES);
	for (int i = 0; i < 36; i++)
		XT_CALL(both_places(some[i % 6], some[i / 6]));
}

/* After a call without room for a second filter, the library requests fewer reports at first. */
XT_TEST(one_call_delivers_all_after_a_crowded_one)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct xt_pair crowd = xt_socketpair(SOCK_STREAM);
	struct xt_pair level = xt_pipe(), edge = xt_pipe();
	struct xpoll_event events[3];

	XT_OK(xt_add(queue, crowd.r, READ, 0));
	XT_OK(xt_add(queue, crowd.r, WRITE, 0));
	xt_put(crowd.w);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 1, 0), 1);
	XT_OK(xt_flag(queue, (uint64_t)crowd.r, READ, XPOLL_DELETE));
	XT_OK(xt_flag(queue, (uint64_t)crowd.r, WRITE, XPOLL_DELETE));
	XT_OK(xt_add(queue, level.r, READ, 0));
	XT_OK(xt_add(queue, edge.r, READ, XPOLL_CLEAR));
	xt_put(level.w);
	for (int i = 0; i < 8; i++) {
		XT_EQ(xpoll_event(queue, NULL, 0, events, 2 + i % 2, 0), 1);
		xt_put(edge.w);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 2 + i % 2, 0), 2);
	}
}

/* A back end that checks its array in parts may find a descriptor twice. */
XT_TEST(xpoll_wait_returns_each_once_after_a_full_batch)
{
	enum { COUNT = 300 };
	static struct xt_pair pipes[COUNT];
	struct xpoll *queue = xt_open();
	void *data;
	char byte;

	for (int i = 0; i < COUNT; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipes[i].r, &pipes[i]));
		xt_put(pipes[i].w);
	}
	for (int round = 0; round < 3; round++) {
		int returned[COUNT] = {0};

		XT_EXPECT(xpoll_wait(queue, -1) > 0);
		while (xpoll_revents(queue, &data)) {
			const struct xt_pair *pipe = data;

			XT_EXPECT_EQ(returned[pipe - pipes]++, 0);
			if (round == 0)
				XT_EXPECT_EQ(read(pipe->r, &byte, 1), 1);
		}
	}
}

/*
 * A program has room for one event, and all descriptors are always ready.  One of them is enabled
 * together with an ADD, so the wait checks it and calls the kernel as well.  The reports without
 * room must not make later waits check descriptors before they call the kernel.
 */
XT_TEST(array_of_one_beside_many_that_are_ready_costs_one_call_for_each_event)
{
	enum { PIPES = 65, WAITS = 512 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_stats before, after;
	struct xt_pair pipes[PIPES];
	struct xpoll_event event;
	uint64_t calls;

	if (!xt_is("epoll"))
		return; /* on other back ends the kernel checks all descriptors in each wait */
	for (int i = 0; i < PIPES; i++) {
		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
	}
	XT_OK(xt_add(queue, pipes[0].r, READ, XPOLL_DISABLE));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	for (int i = 1; i < PIPES; i++)
		XT_OK(xt_add(queue, pipes[i].r, READ, 0));
	XT_OK(xt_flag(queue, (uint64_t)pipes[0].r, READ, XPOLL_ENABLE));
	before = xt_stats(queue);
	for (int i = 0; i < WAITS; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	after = xt_stats(queue);
	calls = after.syscalls_wait - before.syscalls_wait +
		after.syscalls_check - before.syscalls_check;
	xt_note("%ju calls, %d events", (uintmax_t)calls, WAITS);
	XT_EXPECT(calls <= WAITS + WAITS / 4);
}

/*
 * Goal: a ready registration is delivered within a bounded number of waits,
 * however busy others are (S11, hazard 6).
 * Method: registrations that are ready in every wait, and others that become
 * ready once; count the waits until the last of these is delivered.
 */
#include "xt.h"

enum { QUIET = 100 };

/*
 * Number of waits with room for one event that are allowed for each ready registration: every 16th
 * calls the kernel, and a busy registration may take its turn in between.
 */
#define BOUND_EACH 64

struct mix {
	struct xpoll *queue;
	struct xt_pair quiet[QUIET];
	int waits;
};

/*
 * Add a pipe that is always ready; toggled: after disabling and enabling it, so that the library
 * checks it itself.
 */
static void add_busy(struct xpoll *queue, int toggled)
{
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(xt_change(queue, (uint64_t)pipe.r, READ, XPOLL_ADD, 0, 0,
	                (void *)UINTPTR_MAX));
	if (!toggled)
		return;
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
}

static void add_quiet(struct mix *mix, int mode, int toggled)
{
	for (int i = 0; i < QUIET; i++) {
		uint64_t ident;

		mix->quiet[i] = xt_pipe();
		ident = (uint64_t)mix->quiet[i].r;
		XT_OK(xt_change(mix->queue, ident, READ, XPOLL_ADD | mode, 0, 0,
		                (void *)(uintptr_t)i));
		if (!toggled)
			continue;
		XT_OK(xt_flag(mix->queue, ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(mix->queue, ident, READ, XPOLL_ENABLE));
	}
}

/* Wait until each quiet registration was delivered once. */
static void collect(struct mix *mix, int slots)
{
	unsigned char seen[QUIET] = {0};
	int missing = QUIET;

	while (missing > 0 && mix->waits < BOUND_EACH * (QUIET + 1)) {
		struct xpoll_event events[8];
		int rc = xpoll_event(mix->queue, NULL, 0, events, slots, 0);

		XT_CHECK(rc > 0);
		mix->waits++;
		for (int i = 0; i < rc; i++) {
			uintptr_t number = (uintptr_t)events[i].udata;

			if (number >= QUIET)
				continue;
			missing -= !seen[number];
			seen[number] = 1;
			(void)xt_drain((int)events[i].ident);
		}
	}
	if (missing > 0)
		xt_fail(__FILE__, __LINE__, "%d of %d not seen in %d waits",
		        missing, QUIET, mix->waits);
}

static void run_mix(int busy, int toggled, int mode, int slots)
{
	struct mix mix = {.queue = xt_open_quiet()};

	for (int i = 0; i < busy; i++)
		XT_CALL(add_busy(mix.queue, toggled));
	XT_CALL(add_quiet(&mix, mode, toggled));
	/*
	 * Wait a few times, so that the library's candidates and lists are in their normal state.
	 */
	struct xpoll_event event;
	for (int i = 0; i < 8; i++)
		XT_CHECK(xpoll_event(mix.queue, NULL, 0, &event, 1, 0) == 1);
	for (int i = 0; i < QUIET; i++)
		xt_put(mix.quiet[i].w);
	XT_CALL(collect(&mix, slots));
	xt_note("%d busy%s, mode 0x%x, %d slots: %d waits for %d", busy,
	        toggled ? " (toggled)" : "", (unsigned)mode, slots, mix.waits,
	        QUIET);
	xt_destroy(mix.queue);
}

/* Complaint: Events are lost if the array is short. */
XT_TEST(hazard_06_one_busy_100_ready_all_come)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH};

	XT_FILES(4000);
	for (int i = 0; i < 4; i++) {
		XT_CALL(run_mix(1, 0, modes[i], 1));
		XT_CALL(run_mix(1, 1, modes[i], 1));
	}
}

XT_TEST(hazard_06_busy_more_than_slots_100_ready_all_come)
{
	XT_FILES(4000);
	XT_CALL(run_mix(16, 1, XPOLL_DISPATCH, 4));
	XT_CALL(run_mix(16, 0, XPOLL_CLEAR, 4));
	XT_CALL(run_mix(40, 1, 0, 1));
	XT_CALL(run_mix(40, 0, 0, 1));
}

enum { SOCKETS = 4, SHARED_WAITS = 500 };

/* A pipe and sockets are all ready: each must get its share of the events. */
static void share(int sockets, int room)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int fds[SOCKETS + 1] = {pipe.r};
	int seen[SOCKETS + 1] = {0};
	struct xpoll_event events[SOCKETS];

	for (int i = 1; i <= sockets; i++) {
		fds[i] = xt_socketpair(SOCK_STREAM).r;
		XT_OK(xt_add(queue, fds[i], WRITE, 0));
	}
	XT_EXPECT(xpoll_event(queue, NULL, 0, events, room, 0) > 0);
	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	for (int i = 0; i < SHARED_WAITS; i++) {
		int count = xpoll_event(queue, NULL, 0, events, room, 0);

		XT_CHECK(count > 0);
		for (int k = 0; k < count; k++)
			for (int n = 0; n <= sockets; n++)
				seen[n] += events[k].ident == (uint64_t)fds[n];
	}
	for (int n = 0; n <= sockets; n++)
		XT_CHECK(seen[n] >= SHARED_WAITS / BOUND_EACH);
	xt_destroy(queue);
}

/*
 * select watches some descriptors in a helper set: neither group must be delivered first each time.
 */
XT_TEST(hazard_06_writable_sockets_and_a_readable_pipe_share_the_room)
{
	for (int sockets = 1; sockets <= SOCKETS; sockets++)
		for (int room = 1; room <= sockets; room++)
			XT_CALL(share(sockets, room));
}

/*
 * Slots whose events found no room are checked first, but if none of them is ready the wait must go
 * on to call the kernel (S4, S8).  Here the slot is a socket that was never connected.
 */
XT_TEST(silent_one_that_found_no_room_does_not_hide_a_ready_one)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair first = xt_pipe();
	struct xt_pair second = xt_pipe();
	int silent = xt_socket(AF_INET, SOCK_STREAM);
	struct xpoll_event events[8];

	xt_put(first.w);
	XT_OK(xt_add(queue, first.r, READ, 0));
	XT_OK(xt_add(queue, silent, READ, 0));
	XT_OK(xt_add(queue, second.r, READ, 0));
	XT_EQ(xpoll_event(queue, NULL, 0, events, 1, XT_SOON), 1);
	XT_EQ(events[0].ident, (uint64_t)first.r);
	XT_EQ(xt_drain(first.r), 1);
	xt_put(second.w);
	XT_EQ(xpoll_event(queue, NULL, 0, events, 8, 0), 1);
	XT_EQ(events[0].ident, (uint64_t)second.r);
}

/* Deliver a triggered USER and these descriptors, which stay ready, with room for one event. */
static void share_one_slot(struct xpoll *queue, const int *fds, int len)
{
	int seen[4] = {0};
	int seen_user = 0;
	int waits = 0;

	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	XT_OK(xt_trigger(queue, 1));
	for (; waits < 1000; waits++) {
		struct xpoll_event event;

		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 1);
		seen_user += event.filter == USER;
		for (int i = 0; i < len; i++)
			seen[i] += event.ident == (uint64_t)fds[i];
	}
	/* Each descriptor is delivered within BOUND_EACH waits, on average. */
	XT_CHECK(seen_user >= waits / BOUND_EACH);
	for (int i = 0; i < len; i++)
		XT_CHECK(seen[i] >= waits / BOUND_EACH);
}

/* Descriptors and events that the library finds without the kernel do not delay each other. */
XT_TEST(hazard_06_user_file_and_pipe_share_one_slot)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int fds[] = {pipe.r, xt_file("text")};

	xt_put(pipe.w);
	for (int i = 0; i < 2; i++)
		XT_OK(xt_add(queue, fds[i], READ, 0));
	XT_CALL(share_one_slot(queue, fds, 2));
}

#ifdef __linux__
enum { STATES = 40 };

/* Add a mount table in /proc: it is always ready, and a poll(2) of it would clear its news. */
static int add_state(struct xpoll *queue)
{
	int mounts = xt_open_path("/proc/self/mounts", O_RDONLY);

	XT_EXPECT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, mounts, NULL), 0);
	return mounts;
}

/* Files of this kind, which every wait reports again, do not delay other events either. */
XT_TEST(hazard_06_states_that_last_leave_room_for_the_others)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int fds[] = {add_state(queue), add_state(queue), pipe.r};

	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_CALL(share_one_slot(queue, fds, 3));
}

/* Closed files of this kind report nothing, and must not hide the one that is open. */
XT_TEST(many_closed_states_do_not_hide_one_that_is_ready)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[STATES];
	int states[STATES];

	for (int i = 0; i < STATES; i++)
		states[i] = add_state(queue);
	XT_EQ(xpoll_event(queue, NULL, 0, events, STATES, XT_SOON), STATES);
	for (int i = 0; i < STATES - 1; i++)
		xt_close(states[i]);
	XT_EQ(xpoll_event(queue, NULL, 0, events, STATES, 0), 1);
	XT_EQ(events[0].ident, (uint64_t)states[STATES - 1]);
}
#endif

/*
 * With XPOLL_ALL_READY the next wait returns the event together with all that the queue knows
 * without the kernel: toggled descriptors and a trigger.  Only the kernel knows that the pipe is
 * ready.
 */
XT_TEST(all_ready_returns_what_only_the_kernel_knows_beside_what_is_at_hand)
{
	struct xpoll *queue = xt_open_flags(XPOLL_ALL_READY);
	struct xt_pair busy = xt_pipe();
	struct xt_pair quiet = xt_pipe();
	struct xpoll_event events[4];

	XT_CHECK(queue);
	xt_put(busy.w);
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	XT_OK(xt_trigger(queue, 1));
	XT_OK(xt_add(queue, quiet.r, READ, 0));
	XT_OK(xt_add(queue, busy.r, READ, 0));
	for (int i = 0; i < 100; i++) {
		XT_OK(xt_flag(queue, (uint64_t)busy.r, READ, XPOLL_DISABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, XT_SOON), 1);
		XT_OK(xt_flag(queue, (uint64_t)busy.r, READ, XPOLL_ENABLE));
		xt_put(quiet.w);
		XT_EQ(xpoll_event(queue, NULL, 0, events, 4, XT_SOON), 3);
		XT_EQ(xt_drain(quiet.r), 1);
	}
}

/* At the poll-like level every ready descriptor is delivered within a bounded number of waits. */
/* toggled: each delivered descriptor is disabled and enabled again, so it is a candidate */
static void take_one_of_each_batch(int toggled)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipes[QUIET];
	int missing = QUIET;
	unsigned char seen[QUIET] = {0};

	for (int i = 0; i < QUIET; i++) {
		pipes[i] = xt_pipe();
		xt_put(pipes[i].w);
		XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLIN, pipes[i].r,
		                &pipes[i]),
		      0);
	}
	/* The program takes one record of each xpoll_wait: the remaining ones must not be lost. */
	for (int waits = 0; waits < BOUND_EACH * QUIET && missing; waits++) {
		void *data = NULL;

		XT_CHECK(xpoll_wait(queue, 0) >= 1);
		XT_EQ(xpoll_revents(queue, &data), POLLIN);
		int number = (int)((struct xt_pair *)data - pipes);
		missing -= !seen[number];
		seen[number] = 1;
		for (int i = 0; i < toggled; i++)
			XT_EQ(xpoll_ctl(queue, i % 2 ? XPOLL_ENABLE : XPOLL_DISABLE,
			                POLLIN, pipes[number].r, NULL), 0);
	}
	XT_EQ(missing, 0);
	xt_destroy(queue);
}

XT_TEST(hazard_06_poll_like_level_all_come)
{
	for (int toggled = 0; toggled <= 6; toggled += 2)
		XT_CALL(take_one_of_each_batch(toggled));
}

/*
 * Goal: a change that the back end collects for its next wait reaches the
 * kernel before a call returns, if another thread sleeps: that thread began its
 * wait without the change (S16, S17).
 * Method: a back end of the test, whose sleeping thread only a wake-up ends,
 * and which records whether a collected change was flushed.
 */
#include "xt.h"

#include <sched.h>

#include "base/time.h"
#include "posix/system.h"
#include "sys/backend.h"
#include "sys/system.h"

enum { FILES = 2 };

static uint64_t tokens[FILES]; /* of the files, in the order in which they were attached */
static int attached;
static bool fires;           /* all files have an edge, which the next wait reports */
static atomic_bool collected; /* a change was made that the kernel does not have yet */
static atomic_int asleep;    /* number of sleeps that have begun */
static atomic_bool woken;    /* the sleeping thread has to return */

static int collecting_attach(void *state, int fd, uint32_t watch, uint64_t token)
{
	(void)state, (void)fd, (void)watch;
	tokens[attached++] = token;
	return 0;
}

static int collecting_change(void *state, int fd, uint32_t watch, uint64_t token)
{
	(void)state, (void)fd, (void)watch, (void)token;
	atomic_store(&collected, true);
	return 0;
}

static int collecting_detach(void *state, int fd)
{
	(void)state, (void)fd;
	return 0;
}

static bool collecting_has_pending(const void *state)
{
	(void)state;
	return atomic_load(&collected);
}

static int collecting_flush(void *state, struct xp_fired *fired, int cap)
{
	(void)state, (void)fired, (void)cap;
	atomic_store(&collected, false);
	return 0;
}

static int collecting_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                           struct xp_fired *fired, int cap)
{
	int count = 0;

	(void)state, (void)mask;
	if (deadline_ns > XP_NOW) {
		atomic_fetch_add(&asleep, 1);
		while (!atomic_exchange(&woken, false))
			(void)sched_yield();
		fired[0] = (struct xp_fired){.token = XP_TOKEN_WAKE};
		return 1;
	}
	atomic_store(&collected, false);
	for (; fires && count < attached && count < cap; count++)
		fired[count] = (struct xp_fired){.token = tokens[count], .events = POLLIN};
	fires = fires && count == 0;
	return count;
}

static void collecting_wake(void *state)
{
	(void)state;
	atomic_store(&woken, true);
}

static struct xp_backend_ops collecting;
const struct xp_system xp_system = {.backends = {&collecting}};

/* A constructor, because the harness looks for the back end by name before it runs tests. */
__attribute__((constructor)) static void collecting_make(void)
{
	collecting = xp_backend_poll;
	collecting.caps = XP_CAP_CONCURRENT | XP_CAP_FREE_CHANGE | XP_CAP_EXCEPT;
	collecting.attach = collecting_attach;
	collecting.change = collecting_change;
	collecting.detach = collecting_detach;
	collecting.has_pending = collecting_has_pending;
	collecting.flush = collecting_flush;
	collecting.wait = collecting_wait;
	collecting.wake = collecting_wake;
}

/*
 * An edge finds no room in the array of one thread, while another sleeps.  The queue changes the
 * entry, so that the kernel reports the edge to the sleeping thread: the change must not wait for
 * the next call.
 */
XT_TEST(edge_without_room_is_left_to_the_sleeping_thread)
{
	struct xt_sleeper sleeper = {.queue = xt_open_quiet(), .timeout_ns = -1};
	struct xt_thread *thread;
	struct xpoll_event trigger, events[2];

	for (int i = 0; i < FILES; i++)
		XT_OK(xt_add(sleeper.queue, xt_socketpair(SOCK_STREAM).r, READ, XPOLL_CLEAR));
	XT_OK(xt_flag(sleeper.queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
	thread = xt_start(xt_sleep, &sleeper);
	xt_until(&asleep, 1);
	/* Beside an event of a source the queue requests more reports than it has room for. */
	(void)xpoll_set(&trigger, 1, USER, 0, XPOLL_NOTE_TRIGGER, 0, NULL);
	fires = true;
	XT_EQ(xpoll_event(sleeper.queue, &trigger, 1, events, 2, 0), 2);
	XT_EXPECT(!fires && !atomic_load(&woken));
	XT_EXPECT(!atomic_load(&collected));
	xt_send_home(sleeper.queue, thread);
}

/*
 * Goal: with several waiting threads, each mark that is reached is delivered,
 * and none too early (S10, S16, S17).
 * Method: random writes; the thread with an event reads a part of the data.  At
 * the end each descriptor has less data than its mark.
 */
#include "xt.h"

#include <sched.h>
#include <sys/ioctl.h>

enum {
	PAIRS = 8,
	WAITERS = 3,
	MARK = 100,
	WRITES = XT_SLOW ? 3000 : 20000,
};

struct flow {
	struct xpoll *queue;
	struct xt_pair pairs[PAIRS];
	atomic_bool over;
};

static int unread(int fd)
{
	int count = 0;

	(void)ioctl(fd, FIONREAD, &count);
	return count;
}

static void drink(void *opaque)
{
	struct flow *flow = opaque;
	struct xpoll_event event;
	char text[MARK];

	while (!atomic_load(&flow->over)) {
		int rc = xpoll_event(flow->queue, NULL, 0, &event, 1, XT_SOON);

		if (rc == 0)
			continue; /* woken to leave */
		if (!XT_EXPECT_EQ(rc, 1))
			return;
		/* With DISPATCH no other thread reads from this descriptor until it is enabled. */
		XT_EXPECT(unread((int)event.ident) >= MARK);
		XT_EXPECT_EQ(read((int)event.ident, text, MARK), MARK);
		XT_EXPECT_STATUS(xt_flag(flow->queue, event.ident, READ,
		                         XPOLL_ENABLE), 0);
	}
}

static bool some_mark_is_reached(const struct flow *flow)
{
	for (int i = 0; i < PAIRS; i++)
		if (unread(flow->pairs[i].r) >= MARK)
			return true;
	return false;
}

static void no_mark_is_missed(struct xt_pair (*make)(void))
{
	struct flow flow = {.queue = xt_open_quiet()};
	struct xt_thread *threads[WAITERS];
	uint64_t seed = xt_seed();
	static const char text[64];

	for (int i = 0; i < PAIRS; i++) {
		flow.pairs[i] = make();
		XT_OK(xt_change(flow.queue, (uint64_t)flow.pairs[i].r, READ,
		                XPOLL_ADD | XPOLL_DISPATCH, XPOLL_NOTE_LOWAT, MARK,
		                NULL));
	}
	for (int i = 0; i < WAITERS; i++)
		threads[i] = xt_start(drink, &flow);
	for (int i = 0; i < WRITES && !xt_failures(); i++) {
		int fd = flow.pairs[xt_random(&seed) % PAIRS].w;
		size_t size = 1 + xt_random(&seed) % sizeof text;

		while (write(fd, text, size) < 0 && errno == EAGAIN)
			(void)sched_yield();
	}
	while (some_mark_is_reached(&flow) && !xt_failures())
		(void)sched_yield();
	atomic_store(&flow.over, true);
	for (int i = 0; i < WAITERS; i++)
		xt_send_home(flow.queue, threads[i]);
	xt_destroy(flow.queue);
}

static struct xt_pair stream(void)
{
	return xt_socketpair(SOCK_STREAM);
}

XT_TEST(no_mark_of_pipes_is_missed)
{
	no_mark_is_missed(xt_pipe);
}

XT_TEST(no_mark_of_unix_sockets_is_missed)
{
	no_mark_is_missed(stream);
}

XT_TEST(no_mark_of_tcp_sockets_is_missed)
{
	no_mark_is_missed(xt_tcp);
}

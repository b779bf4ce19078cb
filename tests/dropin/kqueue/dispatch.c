/*
 * Goal: with EV_DISPATCH an event is delivered to one thread, no other thread
 * gets the descriptor until this one enables it, and there is something to
 * read.
 * Method: one byte is passed around in each ring of pipes, and many threads
 * share a queue.  A thread with an event must be the only one for that pipe,
 * and must find the byte.
 */
#include <fcntl.h>

#include "kit.h"

enum {
	PIPES = 4,
	THREADS = 8,
	BATCH = 3,
	EVENTS = XT_SANITIZED ? 4000 : 20000,
};

struct ring {
	int kq;
	bool with_wait; /* changes are passed with the next wait */
	struct xt_pair pipes[PIPES];
	atomic_int holders[PIPES];
	atomic_int events;
	atomic_int shared; /* number of events that two threads had at the same time */
	atomic_int empty;  /* number of events without a byte */
};

static struct kevent enabling(const struct ring *ring, int i)
{
	struct kevent change;

	EV_SET(&change, ring->pipes[i].r, EVFILT_READ, EV_ENABLE, 0, 0, (void *)(intptr_t)i);
	return change;
}

/* The next byte may arrive before or after the descriptor is enabled: both orders must work. */
static void handle(struct ring *ring, int i, struct kevent *changes, int *len)
{
	struct kevent change = enabling(ring, i);
	char byte;

	if (atomic_fetch_add(&ring->holders[i], 1) != 0)
		atomic_fetch_add(&ring->shared, 1);
	if (read(ring->pipes[i].r, &byte, 1) != 1)
		atomic_fetch_add(&ring->empty, 1);
	atomic_fetch_add(&ring->events, 1);
	atomic_fetch_sub(&ring->holders[i], 1);
	if (ring->with_wait)
		changes[(*len)++] = change;
	else
		(void)kevent(ring->kq, &change, 1, NULL, 0, NULL);
	xt_put(ring->pipes[i].w);
}

static void serve(void *opaque)
{
	const struct timespec soon = {.tv_nsec = 50000000};
	struct ring *ring = opaque;
	struct kevent changes[BATCH], events[BATCH];
	int len = 0;

	while (atomic_load(&ring->events) < EVENTS) {
		int count = kevent(ring->kq, changes, len, events, BATCH, &soon);

		len = 0;
		for (int i = 0; i < count; i++)
			handle(ring, (int)(intptr_t)events[i].udata, changes, &len);
	}
}

static void go_round(bool with_wait)
{
	struct ring ring = {.kq = kit_open(), .with_wait = with_wait};
	struct xt_thread *threads[THREADS];

	for (int i = 0; i < PIPES; i++) {
		ring.pipes[i] = xt_pipe();
		XT_EQ(fcntl(ring.pipes[i].r, F_SETFL, O_NONBLOCK), 0);
		XT_OK(kit_change(ring.kq, (uintptr_t)ring.pipes[i].r, EVFILT_READ,
		                 EV_ADD | EV_DISPATCH, 0, 0, (void *)(intptr_t)i));
		xt_put(ring.pipes[i].w);
	}
	for (int i = 0; i < THREADS; i++)
		threads[i] = xt_start(serve, &ring);
	for (int i = 0; i < THREADS; i++)
		xt_join(threads[i]);
	XT_EQ(ring.shared, 0);
	XT_EQ(ring.empty, 0);
}

XT_TEST(dispatched_event_is_one_threads_and_has_its_data)
{
	XT_CALL(go_round(false));
	XT_CALL(go_round(true));
}

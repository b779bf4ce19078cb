/* Timers by hand: a heap in an array, and a timerfd that is set to the earliest deadline. */
#include <stdlib.h>
#include <sys/timerfd.h>

#include "loop.h"

struct timerfd_loop {
	int fd;
	int len;
	int64_t set_ns;   /* time to which the timerfd is set; 0: not set */
	int64_t *due_ns;  /* deadlines, indexed by timer */
	/* heap of timers, from index 1 on; the first one has the earliest deadline */
	uint32_t *heap;
	uint32_t *places; /* index in the heap, indexed by timer; 0: not armed */
};

static void timerfd_close(void *opened)
{
	struct timerfd_loop *loop = opened;

	if (loop->fd >= 0)
		close(loop->fd);
	free(loop->due_ns);
	free(loop->heap);
	free(loop->places);
}

static int timerfd_open(void *opened, const struct bench_field *field,
                        const struct bench_way *way)
{
	struct timerfd_loop *loop = opened;
	size_t len = (size_t)field->len + 1;

	(void)way;
	loop->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	loop->due_ns = calloc(len, sizeof *loop->due_ns);
	loop->heap = calloc(len, sizeof *loop->heap);
	loop->places = calloc(len, sizeof *loop->places);
	if (loop->due_ns == NULL || loop->heap == NULL || loop->places == NULL)
		return -ENOMEM;
	return loop->fd < 0 ? -errno : 0;
}

static void heap_put(struct timerfd_loop *loop, uint32_t timer, uint32_t place)
{
	loop->heap[place] = timer;
	loop->places[timer] = place;
}

/*
 * Store a timer at this free index of the heap, or above or below it, where its deadline belongs.
 */
static void heap_sift(struct timerfd_loop *loop, uint32_t timer, uint32_t place)
{
	const int64_t *due_ns = loop->due_ns;
	uint32_t len = (uint32_t)loop->len;

	for (; place > 1 && due_ns[timer] < due_ns[loop->heap[place / 2]]; place /= 2)
		heap_put(loop, loop->heap[place / 2], place);
	for (uint32_t child; (child = 2 * place) <= len; place = child) {
		if (child < len && due_ns[loop->heap[child + 1]] < due_ns[loop->heap[child]])
			child++;
		if (due_ns[loop->heap[child]] >= due_ns[timer])
			break;
		heap_put(loop, loop->heap[child], place);
	}
	heap_put(loop, timer, place);
}

static void heap_remove(struct timerfd_loop *loop, uint32_t timer)
{
	uint32_t place = loop->places[timer];
	uint32_t last = loop->heap[loop->len];

	loop->places[timer] = 0;
	loop->len--;
	if (last != timer)
		heap_sift(loop, last, place);
}

static int timerfd_set(struct timerfd_loop *loop)
{
	int64_t first_ns = loop->len > 0 ? loop->due_ns[loop->heap[1]] : 0;
	struct itimerspec at = { .it_value = { first_ns / 1000000000, first_ns % 1000000000 } };

	if (first_ns == loop->set_ns)
		return 0;
	bench_calls++;
	loop->set_ns = first_ns;
	return timerfd_settime(loop->fd, TFD_TIMER_ABSTIME, &at, NULL) < 0 ? -errno : 0;
}

static int timerfd_timers(void *opened, const uint32_t *ids, const int64_t *ns, int len)
{
	struct timerfd_loop *loop = opened;
	int64_t now_ns = bench_now_ns();

	for (int i = 0; i < len; i++) {
		if (ns == NULL) {
			heap_remove(loop, ids[i]);
			continue;
		}
		loop->due_ns[ids[i]] = now_ns + ns[i];
		if (loop->places[ids[i]] == 0)
			loop->places[ids[i]] = (uint32_t)++loop->len;
		heap_sift(loop, ids[i], loop->places[ids[i]]);
	}
	return timerfd_set(loop);
}

static int timerfd_wait(void *opened, struct loop_hand *hand, bool block)
{
	struct timerfd_loop *loop = opened;
	int64_t now_ns = bench_now_ns();
	uint64_t times;
	int count = 0;
	int rc;

	(void)hand, (void)block; /* the descriptor is nonblocking, so this never waits */
	bench_calls++;
	if (read(loop->fd, &times, sizeof times) != sizeof times)
		return errno == EAGAIN ? 0 : -errno;
	for (; loop->len > 0 && loop->due_ns[loop->heap[1]] <= now_ns; count++)
		heap_remove(loop, loop->heap[1]);
	loop->set_ns = 0; /* the timerfd has expired */
	rc = loop->len > 0 ? timerfd_set(loop) : 0;
	return rc < 0 ? rc : count;
}

const struct loop_ops loop_timerfd = {
	.name = "timerfd",
	.can = LOOP_TIMERS,
	.size = sizeof(struct timerfd_loop),
	.open = timerfd_open,
	.wait = timerfd_wait,
	.timers = timerfd_timers,
	.close = timerfd_close,
};

/*
 * Stress: one queue with every mode at once.  Threads wait in different ways
 * while others write, enable and disable, delete, close, reopen the same
 * descriptors, keep duplicates, wake and interrupt; if the queue has an
 * xpoll_fd, some threads wait for it by poll(2) or in an edge-triggered epoll
 * set.
 * Oracle: S6, no wait returns a registration that had ended before the wait
 * began; S8 to S10, every byte written to a file that stays open is read in the
 * end.
 */
#include "xt.h"

#include <sched.h>
#include <sys/epoll.h>

enum { CELLS = 24, WAITERS = 4, CHURNERS = 2, FIRST_NUMBER = 400, EVENTS = 16 };

/* A descriptor that is closed and reused, and the file that it refers to now. */
struct cell {
	pthread_mutex_t lock;
	int writer;
	int mode;
	uint32_t note;
	uint64_t serial;          /* serial number of the present registration */
	_Atomic uint64_t retired; /* registrations up to this serial number have ended */
	atomic_long written, taken;
};

struct mixed {
	struct xpoll *queue;
	struct cell cells[CELLS];
	int edges; /* an edge-triggered epoll set that watches xpoll_fd; -1: not possible */
	atomic_int number, stop, draining;
	_Atomic long events;
	uint64_t seed;
};

static int number_of(int index)
{
	return FIRST_NUMBER + index;
}

static int change(struct mixed *mixed, int index, int flags)
{
	struct cell *cell = &mixed->cells[index];
	uint64_t tag = cell->serial << 8 | (uint64_t)index;

	return xt_change(mixed->queue, (uint64_t)number_of(index), READ, flags,
	                 flags & XPOLL_ADD ? cell->note : 0, 0,
	                 (void *)(uintptr_t)tag);
}

/*
 * Like `change`, but accepts that a ONESHOT registration was delivered, and so removed, just
 * before.
 */
static bool change_if_there(struct mixed *mixed, int index, int flags)
{
	int rc = change(mixed, index, flags);
	bool once = mixed->cells[index].mode & XPOLL_ONESHOT;

	return XT_EXPECT(rc == 0 || (rc == ENOENT && once));
}

static bool cell_open(struct mixed *mixed, int index, uint64_t *random)
{
	static const int modes[] = {0, 0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH, XPOLL_DISPATCH | XPOLL_CLEAR};
	struct cell *cell = &mixed->cells[index];
	int ends[2];
	int rc = xt_random(random) % 2 ? pipe(ends)
		: socketpair(AF_UNIX, SOCK_STREAM, 0, ends);

	if (!XT_EXPECT_EQ(rc, 0))
		return false;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	(void)dup2(ends[0], number_of(index));
	(void)close(ends[0]);
	cell->writer = ends[1];
	cell->serial++;
	cell->mode = modes[xt_random(random) % 6];
	cell->note = xt_random(random) % 4 ? 0 : XPOLL_NOTE_EXCLUSIVE;
	atomic_store(&cell->written, 0);
	atomic_store(&cell->taken, 0);
	return XT_EXPECT_STATUS(change(mixed, index, XPOLL_ADD | cell->mode), 0);
}

/* End a registration by DELETE or by xpoll_close_fd, perhaps with a duplicate that stays open. */
static void cell_close(struct mixed *mixed, int index, uint32_t how)
{
	struct cell *cell = &mixed->cells[index];
	int copy = how % 3 == 1 ? dup(number_of(index)) : -1;

	if (how % 3 == 0) {
		(void)change_if_there(mixed, index, XPOLL_DELETE);
		(void)close(number_of(index));
	} else {
		(void)XT_EXPECT_EQ(xpoll_close_fd(number_of(index)), 0);
	}
	atomic_store(&cell->retired, cell->serial);
	(void)close(cell->writer);
	if (copy >= 0)
		(void)close(copy);
}

/*
 * Handle an event: read as much as the registration's mode requires, and enable the registration
 * again.
 */
static void handle(struct mixed *mixed, int index, uint64_t serial, bool all)
{
	struct cell *cell = &mixed->cells[index];

	(void)pthread_mutex_lock(&cell->lock);
	if (cell->serial == serial && atomic_load(&cell->retired) < serial) {
		all |= (cell->mode & XPOLL_CLEAR) != 0;
		do {
			if (xt_get(number_of(index)) != 'x')
				break;
			atomic_fetch_add(&cell->taken, 1);
		} while (all);
		if (cell->mode & XPOLL_ONESHOT)
			(void)XT_EXPECT_STATUS(change(mixed, index, XPOLL_ADD |
			                              cell->mode), 0);
		else if (cell->mode & XPOLL_DISPATCH)
			(void)XT_EXPECT_STATUS(change(mixed, index,
			                              XPOLL_ENABLE), 0);
	}
	(void)pthread_mutex_unlock(&cell->lock);
}

static int take(struct mixed *mixed, int cap, int64_t timeout_ns, uint32_t random)
{
	uint64_t retired[CELLS];
	struct xpoll_event events[EVENTS];
	int count;

	for (int i = 0; i < CELLS; i++)
		retired[i] = atomic_load(&mixed->cells[i].retired);
	count = xpoll_event(mixed->queue, NULL, 0, events, cap, timeout_ns);
	(void)XT_EXPECT(count >= 0 || errno == EINTR);
	for (int i = 0; i < count; i++) {
		uint64_t tag = (uintptr_t)events[i].udata;
		int index = (int)(tag & 255);

		if (!XT_EXPECT(index < CELLS) ||
		    !XT_EXPECT_EQ(events[i].ident, number_of(index)))
			return -1;
		if (tag >> 8 <= retired[index])
			xt_fail(__FILE__, __LINE__, "registration %ju of cell %d "
			        "came, which was gone before", (uintmax_t)(tag >> 8),
			        index);
		handle(mixed, index, tag >> 8, random >> i % 16 & 1);
	}
	if (count > 0)
		atomic_fetch_add(&mixed->events, count);
	return count;
}

static void wait_and_take(void *argument)
{
	struct mixed *mixed = argument;
	int me = atomic_fetch_add(&mixed->number, 1);
	uint64_t random = mixed->seed + (uint64_t)me;

	while (!atomic_load(&mixed->stop) && !xt_failures()) {
		uint32_t what = xt_random(&random);
		int cap = 1 + (int)(what % EVENTS);
		struct epoll_event event;

		if (mixed->edges >= 0 && me == 0) {
			(void)epoll_wait(mixed->edges, &event, 1, 20);
			while (take(mixed, cap, 0, what / EVENTS) > 0)
				;
			continue;
		}
		if (mixed->edges >= 0 && me == 1) {
			struct pollfd look = {.fd = xpoll_fd(mixed->queue),
			                      .events = POLLIN};

			(void)poll(&look, 1, 20);
		}
		(void)take(mixed, cap, what % 3 ? 5000000 : 0, what / EVENTS);
	}
}

static void put(struct cell *cell)
{
	if (write(cell->writer, "x", 1) == 1)
		atomic_fetch_add(&cell->written, 1);
}

static void churn_cell(struct mixed *mixed, int index, uint64_t *random)
{
	struct cell *cell = &mixed->cells[index];
	uint32_t what = xt_random(random) % 32;

	if (what < 18) {
		put(cell);
	} else if (what < 20) {
		cell_close(mixed, index, xt_random(random));
		(void)cell_open(mixed, index, random);
	} else if (what < 26) {
		(void)change_if_there(mixed, index, XPOLL_DISABLE);
		if (what & 1)
			(void)sched_yield();
		put(cell);
		(void)change_if_there(mixed, index, XPOLL_ENABLE);
	} else if (what < 29) {
		if (what == 28)
			(void)change_if_there(mixed, index, XPOLL_DELETE);
		(void)XT_EXPECT_STATUS(change(mixed, index, XPOLL_ADD |
		                              XPOLL_ENABLE | cell->mode), 0);
	} else {
		(void)xpoll_wake(mixed->queue);
		if (what == 31)
			(void)xpoll_wake_all(mixed->queue);
	}
}

static void churn(void *argument)
{
	struct mixed *mixed = argument;
	uint64_t random = mixed->seed +
		(uint64_t)atomic_fetch_add(&mixed->number, 1);

	while (!atomic_load(&mixed->draining) && !xt_failures()) {
		int index = (int)(xt_random(&random) % CELLS);

		(void)pthread_mutex_lock(&mixed->cells[index].lock);
		churn_cell(mixed, index, &random);
		(void)pthread_mutex_unlock(&mixed->cells[index].lock);
		if (xt_random(&random) % 16 == 0)
			(void)poll(NULL, 0, 1);
	}
}

static void on_signal(int number)
{
	(void)number;
}

/* Interrupt the waiting threads for a while; then all written bytes must be read. */
static void disturb_and_drain(struct mixed *mixed, struct xt_thread **waiters,
                              double seconds)
{
	int64_t end_ns = xt_now() + (int64_t)(seconds * 1e9);
	uint64_t random = mixed->seed;

	while (xt_now() < end_ns && !xt_failures()) {
		(void)pthread_kill(xt_pthread(waiters[xt_random(&random) % WAITERS]),
		                   SIGUSR1);
		(void)poll(NULL, 0, 2);
	}
	atomic_store(&mixed->draining, 1);
}

static void check_all_was_taken(struct mixed *mixed)
{
	int64_t end_ns = xt_now() + XT_SOON;

	for (int i = 0; i < CELLS; i++) {
		struct cell *cell = &mixed->cells[i];

		while (atomic_load(&cell->taken) < atomic_load(&cell->written) &&
		       xt_now() < end_ns && !xt_failures())
			(void)poll(NULL, 0, 1);
		if (atomic_load(&cell->taken) != atomic_load(&cell->written))
			xt_fail(__FILE__, __LINE__, "cell %d, mode 0x%x: %ld of %ld "
			        "came", i, (unsigned)cell->mode,
			        atomic_load(&cell->taken),
			        atomic_load(&cell->written));
	}
}

static void begin(struct mixed *mixed)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	uint64_t random = mixed->seed;
	int fd = xpoll_fd(mixed->queue);

	(void)sigaction(SIGUSR1, &action, NULL);
	if (fd >= 0) {
		mixed->edges = xt_keep(epoll_create1(EPOLL_CLOEXEC));
		XT_EQ(epoll_ctl(mixed->edges, EPOLL_CTL_ADD, fd, &event), 0);
	}
	for (int i = 0; i < CELLS; i++) {
		XT_EQ(pthread_mutex_init(&mixed->cells[i].lock, NULL), 0);
		XT_CHECK(cell_open(mixed, i, &random));
	}
}

XT_TEST(stress_mixed_nothing_is_lost_or_stale)
{
	double seconds = xt_stress_seconds(0.7);
	static struct mixed mixed;
	struct xt_thread *threads[WAITERS + CHURNERS];

	xt_watchdog((unsigned)seconds + 40);
	mixed = (struct mixed){.queue = xt_open_quiet(), .edges = -1,
	                       .seed = xt_seed()};
	XT_CALL(begin(&mixed));
	for (int i = 0; i < WAITERS + CHURNERS; i++)
		threads[i] = xt_start(i < WAITERS ? wait_and_take : churn, &mixed);
	disturb_and_drain(&mixed, threads, seconds);
	for (int i = WAITERS; i < WAITERS + CHURNERS; i++)
		xt_join(threads[i]);
	check_all_was_taken(&mixed);
	atomic_store(&mixed.stop, 1);
	for (int i = 0; i < WAITERS; i++)
		xt_join(threads[i]);
	xt_note("%ld events, %ju stale dropped, seed %ju",
	        atomic_load(&mixed.events),
	        (uintmax_t)xt_stats(mixed.queue).stale_dropped,
	        (uintmax_t)mixed.seed);
	for (int i = 0; i < CELLS; i++)
		cell_close(&mixed, i, 2);
}

/*
 * Stress: a pool of threads shares a queue; each thread takes one event at a
 * time, reads or writes one byte, and enables the filter again (S10, S17).
 * Oracle: each byte causes its events, and xpoll_stats counts at most 4 waiting
 * and 4 changing system calls for each event.
 */
#include "xt.h"

#include <time.h>

enum {
	THREADS_MOST = 16,
	SOCKETS_MOST = 128,
	EACH = 4,    /* at most this many system calls of a kind for each event */
	EVENTS = 300,
	TIMES_MOST = 20, /* the test ends after this many times EVENTS, however long it takes */
	/* additional system calls of each kind, and EACH for each filter of a socket or thread */
	STARTUP = 32,
};

struct cell {
	int mode; /* 0, XPOLL_CLEAR, XPOLL_ONESHOT or XPOLL_DISPATCH */
	int filters;
	int threads;
	int sockets;
	int active; /* number of sockets that always have a byte on its way */
};

struct pool {
	const struct cell *cell;
	struct xpoll *queue;
	struct xt_pair sockets[SOCKETS_MOST];
	uint64_t events_most;
	_Atomic uint64_t events;
	atomic_int next;
	atomic_bool over;
	atomic_bool broken; /* a call failed */
	struct xpoll_stats stats; /* statistics when enough events had been delivered */
};

static void change(struct pool *pool, int which, int filter, int flags)
{
	struct xt_pair *socket = &pool->sockets[which];

	int rc = xt_change(pool->queue, (uint64_t)socket->r, filter, flags, 0, 0, socket);

	if (!XT_EXPECT_STATUS(rc, 0))
		atomic_store(&pool->broken, true);
}

/* Handle an event before the thread enables its filter again. */
static void handle(struct pool *pool, struct xt_pair *socket, int filter)
{
	char byte;

	if (filter == WRITE) {
		/* In mode CLEAR the next edge of WRITE comes when the peer has read the byte. */
		(void)!write(socket->r, "w", 1);
		(void)!read(socket->w, &byte, 1);
	} else if (read(socket->r, &byte, 1) == 1) {
		int next = atomic_fetch_add(&pool->next, 1) % pool->cell->sockets;

		(void)!write(pool->sockets[next].w, "r", 1);
	}
}

static void wants_again(struct pool *pool, const struct xt_pair *socket, int filter)
{
	int which = (int)(socket - pool->sockets);

	if (pool->cell->mode == XPOLL_ONESHOT)
		change(pool, which, filter, XPOLL_ADD | XPOLL_ONESHOT);
	else if (pool->cell->mode == XPOLL_DISPATCH)
		change(pool, which, filter, XPOLL_ENABLE);
}

static void work(void *argument)
{
	struct pool *pool = argument;
	struct xpoll_event event;

	while (!atomic_load(&pool->over)) {
		int count = xpoll_event(pool->queue, NULL, 0, &event, 1, -1);

		if (!XT_EXPECT(count >= 0))
			break;
		if (count == 0)
			continue;
		handle(pool, event.udata, event.filter);
		if (atomic_fetch_add(&pool->events, 1) + 1 == pool->events_most)
			(void)xpoll_stats(pool->queue, &pool->stats, sizeof pool->stats);
		wants_again(pool, event.udata, event.filter);
	}
}

static uint64_t allowed(const struct pool *pool, uint64_t events)
{
	const struct cell *cell = pool->cell;

	return EACH * (events + (uint64_t)((cell->threads + cell->sockets) * cell->filters)) +
		STARTUP;
}

static bool is_within(const struct pool *pool, const struct xpoll_stats *stats, uint64_t times)
{
	uint64_t most = times * allowed(pool, stats->events);

	return stats->syscalls_wait <= most && stats->syscalls_change <= most;
}

/*
 * Wait until there were enough events.  Returns false after far too many system calls, because a
 * queue with this fault might never get there.
 */
static bool watch(struct pool *pool)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (atomic_load(&pool->events) < pool->events_most && !atomic_load(&pool->broken)) {
		struct xpoll_stats stats = xt_stats(pool->queue);

		if (!is_within(pool, &stats, 10)) {
			pool->stats = stats;
			return false;
		}
		/* pause, so as not to use a whole processor */
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

static void begin(struct pool *pool)
{
	const struct cell *cell = pool->cell;
	int flags = XPOLL_ADD | cell->mode;

	pool->queue = xt_open_quiet();
	for (int i = 0; i < cell->sockets; i++) {
		pool->sockets[i] = xt_socketpair(SOCK_STREAM);
		change(pool, i, READ, flags);
		if (cell->filters > 1)
			change(pool, i, WRITE, flags);
	}
	for (int i = 0; i < cell->active; i++)
		xt_put(pool->sockets[i].w);
}

static void report(const struct pool *pool)
{
	const struct cell *cell = pool->cell;
	double events = (double)pool->stats.events;

	xt_note("mode 0x%x, %d filters, %d threads, %d of %d sockets active, %.0f events: "
	        "%.2f waits, %.2f changes, %.2f checks for each", (unsigned)cell->mode,
	        cell->filters, cell->threads, cell->active, cell->sockets, events,
	        (double)pool->stats.syscalls_wait / events,
	        (double)pool->stats.syscalls_change / events,
	        (double)pool->stats.syscalls_check / events);
}

static void run(const struct cell *cell, uint64_t events)
{
	struct pool pool = {.cell = cell, .events_most = events};
	struct xt_thread *threads[THREADS_MOST];
	bool ended;

	begin(&pool);
	xt_threads_reuse();
	for (int i = 0; i < cell->threads; i++)
		threads[i] = xt_start(work, &pool);
	ended = watch(&pool);
	atomic_store(&pool.over, true);
	for (int i = 0; i < cell->threads; i++)
		xt_send_home(pool.queue, threads[i]);
	if (!XT_EXPECT(ended && is_within(&pool, &pool.stats, 1)))
		report(&pool);
	xt_destroy(pool.queue);
	for (int i = 0; i < cell->sockets; i++)
		xt_shut(pool.sockets[i]);
}

static void run_all(int mode)
{
	static const int threads[] = {2, 4, 16};
	static const struct {
		int sockets, active;
	} loads[] = {{1, 1}, {16, 1}, {SOCKETS_MOST, SOCKETS_MOST}};
	double times = xt_stress_seconds(1);
	uint64_t events = (uint64_t)(EVENTS * (times < TIMES_MOST ? times : TIMES_MOST));

	xt_watchdog(600);
	for (int filters = 1; filters <= 2; filters++)
		for (size_t i = 0; i < 3; i++)
			for (size_t k = 0; k < 3; k++) {
				struct cell cell = {mode, filters, threads[i], loads[k].sockets,
				                    loads[k].active};

				run(&cell, events);
			}
}

XT_TEST(pool_level_bounds_its_system_calls)
{
	run_all(0);
}

XT_TEST(pool_clear_bounds_its_system_calls)
{
	run_all(XPOLL_CLEAR);
}

XT_TEST(pool_oneshot_bounds_its_system_calls)
{
	run_all(XPOLL_ONESHOT);
}

XT_TEST(pool_dispatch_bounds_its_system_calls)
{
	run_all(XPOLL_DISPATCH);
}

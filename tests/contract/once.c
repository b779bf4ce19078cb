/*
 * Goal: ONESHOT is delivered once and then deleted, DISPATCH once and then
 * disabled until ENABLE, for each filter, not each descriptor; of several
 * waiting threads exactly one gets the event (S10; hazard 5).
 * Method: each action that could cause a second delivery; and threads that
 * count.
 */
#include "xt.h"

XT_TEST(oneshot_unread_data_reports_once)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_ONESHOT));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_NONE(queue);
	XT_FAILS(xpoll_lookup(queue, (uint64_t)pipe.r, READ, &now), ENOENT);
	XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE), ENOENT);
	XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE), ENOENT);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_ONESHOT));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
}

XT_TEST(oneshot_hangup_reports_once_and_sleeps)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	struct xpoll_event event;

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_ONESHOT));
	xt_close(pair.w);
	XT_GETS(queue, NULL, pair.r, READ);
	struct xpoll_stats before = xt_stats(queue);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 20000000), 0);
	XT_CHECK(xt_stats(queue).syscalls_wait - before.syscalls_wait <= 8);
}

XT_TEST(oneshot_is_per_filter)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_ONESHOT));
	XT_GETS(queue, NULL, pair.r, WRITE);
	XT_NONE(queue);
	xt_put(pair.w);
	XT_GETS(queue, NULL, pair.r, READ);
	XT_GETS(queue, NULL, pair.r, READ);
}

XT_TEST(oneshot_disabled_waits_for_enable)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_ONESHOT | XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_STATUS(xt_flag(queue, (uint64_t)pipe.r, READ, XPOLL_DELETE), ENOENT);
}

XT_TEST(dispatch_unread_data_reports_once_until_enabled)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	xt_put(pipe.w);
	for (int i = 0; i < 20; i++) {
		XT_GETS(queue, NULL, ident, READ);
		XT_NONE(queue);
		xt_put(pipe.w);
		XT_NONE(queue);
		XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
		XT_EXPECT(now.flags & XPOLL_DISABLE);
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	}
}

XT_TEST(dispatch_drained_then_enabled_is_silent_until_data)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	for (int i = 0; i < 20; i++) {
		xt_put(pipe.w);
		XT_GETS(queue, NULL, ident, READ);
		XT_EQ(xt_get(pipe.r), 'x');
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_NONE(queue);
	}
}

XT_TEST(dispatch_is_per_filter)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);
	uint64_t ident = (uint64_t)pair.r;

	XT_OK(xt_add(queue, pair.r, READ, XPOLL_DISPATCH));
	XT_OK(xt_add(queue, pair.r, WRITE, XPOLL_DISPATCH));
	for (int i = 0; i < 10; i++) {
		XT_GETS(queue, NULL, ident, WRITE);
		xt_put(pair.w);
		XT_GETS(queue, NULL, ident, READ);
		XT_NONE(queue);
		XT_EQ(xt_get(pair.r), 'x');
		XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
		XT_NONE(queue);
		XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
	}
}

/* The BSDs do the same: ADD does not undo a DISABLE, so neither that of DISPATCH. */
XT_TEST(dispatch_delivered_then_added_stays_disabled)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH));
	XT_NONE(queue);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_NONE(queue);
}

/* The usual combination of DISPATCH and CLEAR */
XT_TEST(dispatch_with_clear_reports_once_until_enabled)
{
	struct xpoll *queue = xt_open();
	struct xt_pair pipe = xt_pipe();
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_DISPATCH | XPOLL_CLEAR));
	xt_put(pipe.w);
	XT_GETS(queue, NULL, ident, READ);
	xt_put(pipe.w);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, READ);
	XT_NONE(queue);
}

/*
 * S10, hazard 5: several threads wait for PIPES pipes; the thread that gets an event reads one byte
 * and enables the pipe again, or adds it again.  Until then no other thread may get that pipe; at
 * the end the number of events equals the number of bytes.
 */
enum { PIPES = 8, WAITERS = 4 };

struct pool {
	struct xpoll *queue;
	struct xt_pair pipes[PIPES];
	atomic_int out[PIPES]; /* number of threads that handle this pipe */
	atomic_int bytes;      /* number of bytes that were read */
	int total;             /* number of bytes to read in all */
	int mode;
	bool drains; /* the thread with the event reads until the pipe is empty */
	atomic_int stop;
};

static bool pool_arm(struct pool *pool, int number)
{
	uint64_t ident = (uint64_t)pool->pipes[number].r;
	void *udata = (void *)(uintptr_t)number;
	int rc = pool->mode & XPOLL_ONESHOT
	             ? xt_change(pool->queue, ident, READ,
	                         XPOLL_ADD | pool->mode, 0, 0, udata)
	             : xt_flag(pool->queue, ident, READ, XPOLL_ENABLE);

	return XT_EXPECT_STATUS(rc, 0);
}

static bool pool_handle(struct pool *pool, const struct xpoll_event *event)
{
	int number = (int)(uintptr_t)event->udata;

	if (!XT_EXPECT_EQ(atomic_fetch_add(&pool->out[number], 1), 0))
		return false;
	/* There is exactly one byte: the thread that reads it writes the next one. */
	if (!XT_EXPECT_EQ(xt_get(pool->pipes[number].r), 'x'))
		return false;
	if (pool->drains && !XT_EXPECT_EQ(xt_drain(pool->pipes[number].r), 0))
		return false;
	atomic_fetch_sub(&pool->out[number], 1);
	if (!pool_arm(pool, number))
		return false;
	if (atomic_fetch_add(&pool->bytes, 1) + 1 >= pool->total)
		atomic_store(&pool->stop, 1);
	else
		xt_put(pool->pipes[number].w);
	return true;
}

static void pool_wait(void *argument)
{
	struct pool *pool = argument;

	while (!atomic_load(&pool->stop)) {
		struct xpoll_event events[3];
		int rc = xpoll_event(pool->queue, NULL, 0, events, 3, -1);

		if (rc == 0)
			continue;
		if (!XT_EXPECT(rc > 0))
			break;
		for (int i = 0; i < rc; i++)
			if (!pool_handle(pool, &events[i]))
				break;
		if (xt_failures())
			break;
	}
	/* Wake the other threads, so that they see `stop`. */
	atomic_store(&pool->stop, 1);
	(void)xpoll_wake(pool->queue);
}

static void pool_run(int mode, int total, bool drains)
{
	struct pool pool = {
	    .queue = xt_open(), .mode = mode, .total = total, .drains = drains};
	struct xt_thread *threads[WAITERS];

	for (int i = 0; i < PIPES; i++) {
		pool.pipes[i] = xt_pipe();
		XT_OK(xt_change(pool.queue, (uint64_t)pool.pipes[i].r, READ,
		                XPOLL_ADD | mode, 0, 0, (void *)(uintptr_t)i));
	}
	for (int i = 0; i < WAITERS; i++)
		threads[i] = xt_start(pool_wait, &pool);
	for (int i = 0; i < PIPES; i++)
		xt_put(pool.pipes[i].w);
	for (int i = 0; i < WAITERS; i++)
		xt_join(threads[i]);
	XT_CHECK(!xt_failures());
	XT_CHECK(atomic_load(&pool.bytes) >= total);
	XT_CHECK(atomic_load(&pool.bytes) < total + WAITERS * 3 + PIPES);
}

#define TOTAL (XT_SANITIZED ? 10000 : XT_SLOW ? 1000 : 30000)

/* Complaint: Several waiting threads: all wake up, or only one may wait. */
XT_TEST(hazard_05_dispatch_several_waiters_exactly_one_gets_it)
{
	pool_run(XPOLL_DISPATCH, TOTAL, false);
}

XT_TEST(hazard_05_dispatch_clear_several_waiters_exactly_one_gets_it)
{
	pool_run(XPOLL_DISPATCH | XPOLL_CLEAR, TOTAL, false);
}

/* The same with CLEAR */
XT_TEST(hazard_05_dispatch_clear_several_waiters_read_all)
{
	pool_run(XPOLL_DISPATCH | XPOLL_CLEAR, TOTAL / 10, true);
}

XT_TEST(hazard_05_oneshot_several_waiters_exactly_one_gets_it)
{
	pool_run(XPOLL_ONESHOT, TOTAL, false);
}

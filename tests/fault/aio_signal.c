/*
 * Goal: a thread of the library signals the queue of a completed operation some
 * time after the completion, without a lock (S24).  By then the queue may have
 * delivered the operation's event, or may be in xpoll_destroy.
 * Method: the write to the queue's descriptor is wrapped at link time, and
 * waits until the test lets it continue.
 */
#include "xt.h"

#include <sched.h>

#include "base/time.h"
#include "sys/sys.h"
#include "sys/sys_threads.h"

static pthread_t program;
static atomic_bool held;
/* signals that wait at the wrapper, and signals that were written */
static atomic_int waiting, sent;

XT_WRAP(xp_sys_write);
int __wrap_xp_sys_write(int fd, const void *buffer, size_t size)
{
	int64_t end = xt_now() + XT_SOON;
	int rc;

	if (!atomic_load(&held) || pthread_equal(pthread_self(), program))
		return __real_xp_sys_write(fd, buffer, size);
	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&held) && xt_now() < end)
		(void)sched_yield();
	rc = __real_xp_sys_write(fd, buffer, size);
	XT_EXPECT(rc == (int)size);
	atomic_fetch_add(&sent, 1);
	return rc;
}

/* xpoll_destroy sleeps here with a timeout until the signal is sent, so let the signal continue. */
XT_WRAP(xp_sys_cond_wait);
int __wrap_xp_sys_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t deadline_ns)
{
	if (deadline_ns != XP_NEVER && pthread_equal(pthread_self(), program))
		atomic_store(&held, false);
	return __real_xp_sys_cond_wait(cond, mutex, deadline_ns);
}

static int submit(struct xpoll *queue, struct xpoll_aio *aio)
{
	*aio = (struct xpoll_aio){
		.size = sizeof *aio, .op = XPOLL_AIO_FSYNC, .fd = xt_make("f", "text"),
	};
	return xpoll_aio_submit(queue, aio) == 0 ? 0 : errno;
}

/*
 * Submit an operation, and return when it has completed and the signal for its queue is held back.
 */
static void submit_and_hold(struct xpoll *queue, struct xpoll_aio *aio)
{
	program = pthread_self();
	atomic_store(&waiting, 0);
	atomic_store(&sent, 0);
	atomic_store(&held, true);
	XT_OK(submit(queue, aio));
	while (atomic_load(&waiting) == 0)
		(void)sched_yield();
}

static void let_go(void)
{
	atomic_store(&held, false);
	while (atomic_load(&sent) == 0)
		(void)sched_yield();
}

XT_TEST(signal_that_comes_after_its_operation_was_taken_wakes_once)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	struct xpoll_stats before;
	struct xpoll_aio aio;

	if (!xpoll_supports(queue, XPOLL_FILT_AIO, 0))
		XT_SKIP("this way of AIO cannot be used here");
	XT_CALL(submit_and_hold(queue, &aio));
	/* A call that makes changes also collects completed operations. */
	XT_OK(xt_flag(queue, (uintptr_t)&aio, XPOLL_FILT_AIO, XPOLL_DELETE));
	XT_EXPECT_EQ(aio.result, 0);
	let_go();
	before = xt_stats(queue);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON / 100), 0);
	XT_EXPECT(xt_stats(queue).syscalls_wait - before.syscalls_wait < 10);
}

XT_TEST(destroy_waits_for_a_signal_that_is_under_way)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll *other = xt_open_quiet();
	struct xpoll_aio aio;

	if (!xpoll_supports(queue, XPOLL_FILT_AIO, 0))
		XT_SKIP("this way of AIO cannot be used here");
	/* Destroying this queue does not end the AIO threads while another queue uses AIO. */
	XT_OK(submit(other, &aio));
	XT_GETS(other, NULL, (uintptr_t)&aio, XPOLL_FILT_AIO);
	XT_CALL(submit_and_hold(queue, &aio));
	xt_destroy(queue);
	XT_EXPECT_EQ(aio.result, 0);
	let_go();
}

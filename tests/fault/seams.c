/*
 * Goal: a wait that sleeps several times in the kernel is one sleep to its
 * caller: a signal that is handled between two of these sleeps ends the wait
 * with EINTR, and the mask of xpoll_event_mask also holds between them (S15).
 * Method: the calls in which threads sleep are wrapped at link time.  The
 * test's thread sends itself the signal just after its first sleep, which found
 * no event.
 */
#include "xt.h"

#include "base/time.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <sched.h>
#include <sys/epoll.h>

/* Much longer than the test takes: a wait that lasts this long was not interrupted. */
#define LONG_NS (XT_SOON / 4)

/* Controls the first sleep of a thread, and records what happened in it. */
struct seam {
	bool armed;
	bool quiet;       /* send no signal after the first sleep */
	/*
	 * make the first sleep really; otherwise return at once, as from a sleep that ended early
	 */
	bool really;
	bool until_past;  /* after the first sleep spin until the deadline has passed */
	bool late;        /* the first sleep ended at its deadline, not before */
	int sleeps;       /* number of sleeps that were begun */
	int handled_then; /* number of handlers that had run when the second sleep began */
};

static _Thread_local struct seam seam;
static atomic_int handled, asleep;

XT_WRAP(xp_sys_poll_wait);
XT_WRAP(xp_sys_select_wait);
XT_WRAP(xp_sys_epoll_wait);

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static bool is_first_sleep(int64_t deadline_ns)
{
	if (!seam.armed || deadline_ns <= XP_NOW_UNLOCKED)
		return false;
	atomic_fetch_add(&asleep, 1);
	if (seam.sleeps++ == 0)
		return true;
	if (seam.sleeps == 2)
		seam.handled_then = atomic_load(&handled);
	return false;
}

/* Called between the first sleep of a wait and the second one. */
static void between(int64_t deadline_ns)
{
	seam.late = seam.really && xt_now() >= deadline_ns;
	if (!seam.quiet)
		(void)pthread_kill(pthread_self(), SIGUSR1);
	while (seam.until_past && xt_now() < deadline_ns)
		(void)sched_yield();
}

int __wrap_xp_sys_poll_wait(struct pollfd *fds, size_t count,
                            int64_t deadline_ns, const sigset_t *mask)
{
	bool first = is_first_sleep(deadline_ns);
	int rc = 0;

	if (!first || seam.really)
		rc = __real_xp_sys_poll_wait(fds, count, deadline_ns, mask);
	if (first)
		between(deadline_ns);
	return rc;
}

int __wrap_xp_sys_select_wait(int count, long *const sets[3],
                              int64_t deadline_ns, const sigset_t *mask)
{
	bool first = is_first_sleep(deadline_ns);
	int rc = 0;

	if (!first || seam.really)
		rc = __real_xp_sys_select_wait(count, sets, deadline_ns, mask);
	if (first)
		between(deadline_ns);
	return rc;
}

int __wrap_xp_sys_epoll_wait(int epoll_fd, struct epoll_event *events, int cap,
                             int64_t deadline_ns)
{
	bool first = is_first_sleep(deadline_ns);
	int rc = 0;

	if (!first || seam.really)
		rc = __real_xp_sys_epoll_wait(epoll_fd, events, cap, deadline_ns);
	if (first)
		between(deadline_ns);
	return rc;
}

/* A thread that makes one wait, and the wait's result. */
struct waiter {
	struct xpoll *queue;
	struct seam seam;
	int64_t timeout_ns;
	bool poll_level;
	const sigset_t *mask;
	int rc, error;
	bool mask_kept;
};

static void handle(void)
{
	struct sigaction action = {.sa_flags = SA_RESTART};

	action.sa_handler = on_signal;
	(void)sigemptyset(&action.sa_mask);
	XT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	atomic_store(&handled, 0);
	atomic_store(&asleep, 0);
}

static void waiter_run(void *argument)
{
	struct waiter *self = argument;
	struct xpoll_event event;
	sigset_t before, after;

	seam = self->seam;
	seam.armed = true;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &before);
	errno = 0;
	if (self->poll_level)
		self->rc = xpoll_wait(self->queue, (int)(self->timeout_ns / 1000000));
	else
		self->rc = xpoll_event_mask(self->queue, NULL, 0, &event, 1,
		                            self->timeout_ns, self->mask);
	self->error = errno;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &after);
	self->mask_kept = true;
	for (int i = 1; i < NSIG; i++)
		self->mask_kept &= sigismember(&before, i) == sigismember(&after, i);
	self->seam = seam;
}

static struct xt_thread *waiter_start(struct waiter *waiter, struct xpoll *queue)
{
	waiter->queue = queue;
	return xt_start(waiter_run, waiter);
}

/*
 * On epoll a sleep with a mask costs more, so the queue allows for a fruitless first sleep only
 * after it has had one: make that one.
 */
static struct xpoll *open_after_vain_sleep(void)
{
	struct xpoll *queue = xt_open_quiet();
	struct waiter waiter = {0};

	/* On a busy machine the deadline may come before a sleep. */
	for (int64_t ns = 2000000; waiter.seam.sleeps < 2; ns *= 2) {
		waiter = (struct waiter){.timeout_ns = ns, .seam.quiet = true};
		xt_join(waiter_start(&waiter, queue));
		XT_EXPECT_EQ(waiter.rc, 0);
	}
	XT_EXPECT_EQ(waiter.seam.sleeps, 2);
	atomic_store(&asleep, 0);
	return queue;
}

static void is_eintr(const struct waiter *waiter)
{
	XT_EQ(waiter->rc, -1);
	XT_EXPECT_STATUS(waiter->error, EINTR);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	XT_EXPECT(waiter->seam.sleeps >= 2);
	XT_EXPECT(waiter->mask_kept);
}

static void vain_sleep_then_signal(bool poll_level)
{
	struct waiter waiter = {.timeout_ns = LONG_NS, .poll_level = poll_level};

	handle();
	xt_join(waiter_start(&waiter, open_after_vain_sleep()));
	(void)signal(SIGUSR1, SIG_DFL);
	is_eintr(&waiter);
}

XT_TEST(signal_after_a_vain_sleep_is_eintr)
{
	XT_CALL(vain_sleep_then_signal(false));
}

XT_TEST(signal_after_a_vain_sleep_is_eintr_at_the_poll_like_level)
{
	XT_CALL(vain_sleep_then_signal(true));
}

/*
 * Wait, and cause a return from the kernel without an event: on epoll by the report of a disabled
 * filter, on poll and select by a change of another thread.  Then send the signal.
 */
static void reported_in_vain_then_signal(int64_t timeout_ns, bool until_past)
{
	struct waiter waiter = {
		.timeout_ns = timeout_ns,
		.seam = {.really = true, .until_past = until_past},
	};
	struct xpoll *queue = open_after_vain_sleep();
	struct xt_pair disabled = xt_pipe();
	struct xt_pair other = xt_pipe();
	struct xt_thread *thread;

	handle();
	XT_OK(xt_add(queue, disabled.r, READ, 0));
	XT_OK(xt_flag(queue, (uint64_t)disabled.r, READ, XPOLL_DISABLE));
	thread = waiter_start(&waiter, queue);
	xt_until(&asleep, 1);
	xt_asleep(thread);
	xt_put(disabled.w);
	XT_OK(xt_add(queue, other.r, READ, 0));
	xt_join(thread);
	(void)signal(SIGUSR1, SIG_DFL);
	/* On a busy machine the deadline may come before the report. */
	if (waiter.seam.late) {
		XT_CALL(reported_in_vain_then_signal(timeout_ns * 2, until_past));
		return;
	}
	is_eintr(&waiter);
}

XT_TEST(signal_after_a_vain_report_or_a_change_is_eintr)
{
	XT_CALL(reported_in_vain_then_signal(LONG_NS, false));
}

/*
 * The signal came before the deadline, so the wait ends with EINTR although the deadline has
 * passed.
 */
XT_TEST(signal_after_a_vain_report_or_a_change_until_the_deadline_is_eintr)
{
	XT_CALL(reported_in_vain_then_signal(200000000, true));
}

/*
 * The mask blocks the signal in the whole wait; it is handled after the call, because the thread
 * does not block it.
 */
static void mask_holds_after_a_vain_sleep(struct xpoll *queue)
{
	struct waiter waiter = {.timeout_ns = LONG_NS};
	struct xt_pair pipe = xt_pipe();
	struct xt_thread *thread;
	sigset_t block;

	handle();
	(void)sigemptyset(&block);
	(void)sigaddset(&block, SIGUSR1);
	waiter.mask = &block;
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	thread = waiter_start(&waiter, queue);
	xt_until(&asleep, 2);
	xt_put(pipe.w);
	xt_join(thread);
	(void)signal(SIGUSR1, SIG_DFL);
	XT_EXPECT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.seam.handled_then, 0);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	XT_EXPECT(waiter.mask_kept);
}

XT_TEST(mask_that_blocks_holds_after_a_vain_sleep)
{
	XT_CALL(mask_holds_after_a_vain_sleep(xt_open_quiet()));
}

XT_TEST(mask_that_blocks_holds_after_a_vain_sleep_if_the_queue_restarts)
{
	XT_CALL(mask_holds_after_a_vain_sleep(xt_open_flags(XPOLL_RESTART)));
}

/* A signal that the mask does not block is handled in the wait, which continues to its deadline. */
XT_TEST(mask_that_lets_in_ends_no_wait_if_the_queue_restarts)
{
	struct waiter waiter = {.timeout_ns = 5000000};
	struct xpoll *queue = xt_open_flags(XPOLL_RESTART);
	sigset_t none;

	handle();
	(void)sigemptyset(&none);
	waiter.mask = &none;
	xt_join(waiter_start(&waiter, queue));
	(void)signal(SIGUSR1, SIG_DFL);
	XT_EXPECT_EQ(waiter.rc, 0);
	XT_EXPECT_EQ(atomic_load(&handled), 1);
	XT_EXPECT(waiter.mask_kept);
}

/*
 * A follower's sleep for its turn as the leader has ended, but another thread has become the
 * leader, so the follower sleeps again.
 */
XT_TEST(signal_after_a_vain_sleep_for_the_turn_is_eintr)
{
	struct waiter leader = {.timeout_ns = -1};
	struct waiter follower = {.timeout_ns = LONG_NS};
	struct xpoll *queue = xt_open_quiet();
	struct xt_thread *threads[2];

	if (xt_is("epoll"))
		return; /* epoll has no leader */
	handle();
	leader.seam.really = true;
	leader.seam.sleeps = 1;
	threads[0] = waiter_start(&leader, queue);
	xt_until(&asleep, 1);
	threads[1] = waiter_start(&follower, queue);
	xt_join(threads[1]);
	xt_send_home(queue, threads[0]);
	(void)signal(SIGUSR1, SIG_DFL);
	is_eintr(&follower);
}

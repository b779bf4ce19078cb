/*
 * Stress: several threads create and destroy queues in which others wait, while
 * another thread closes descriptors of all queues and children are forked (S6,
 * S26).
 * Oracle: no descriptor stays open, no thread hangs, and each waiter gets its
 * event or EBADF; the sanitizers find no fault.
 */
#include "xt.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

enum { MAKERS = 2 };

struct life {
	int64_t end_ns;
	atomic_int makers_left;
	atomic_int closed;
	atomic_int made;
	atomic_int number;
};

struct waiter {
	struct xpoll *queue;
	atomic_int inside;
	int rc;
	int error;
};

static void *wait_once(void *argument)
{
	struct waiter *waiter = argument;
	struct xpoll_event event;

	atomic_store(&waiter->inside, 1);
	waiter->rc = xpoll_event(waiter->queue, NULL, 0, &event, 1, -1);
	waiter->error = errno;
	return NULL;
}

/* Create a queue with a waiter and some registrations, and destroy it while the waiter waits. */
static void live_once(struct life *life, uint32_t random)
{
	struct waiter waiter = {.queue = xpoll_open(NULL)};
	pthread_t thread;
	int ends[2];

	if (!XT_EXPECT(waiter.queue != NULL) || !XT_EXPECT(pipe(ends) == 0))
		return;
	for (uint64_t i = 0; i < random % 20; i++)
		(void)xt_flag(waiter.queue, i, USER, XPOLL_ADD);
	(void)XT_EXPECT_STATUS(xt_add(waiter.queue, ends[0], READ, 0), 0);
	(void)XT_EXPECT_STATUS(
	    xt_add(waiter.queue, ends[1], WRITE, XPOLL_DISABLE), 0);
	if (!XT_EXPECT(pthread_create(&thread, NULL, wait_once, &waiter) == 0))
		return;
	xt_until(&waiter.inside, 1);
	if (random % 2)
		(void)xpoll_close_fd(ends[0]);
	if (random % 3 == 0)
		(void)xpoll_wake(waiter.queue);
	if (random % 7 == 0)
		(void)xt_flag(waiter.queue, (uint64_t)ends[1], WRITE,
		              XPOLL_ENABLE);
	/*
	 * A call that begins after xpoll_destroy is undefined, so wait until the waiter's call has
	 * begun.
	 */
	while (xt_stats(waiter.queue).waits == 0)
		(void)sched_yield();
	xpoll_destroy(waiter.queue);
	(void)pthread_join(thread, NULL);
	(void)XT_EXPECT(waiter.rc >= 0 || waiter.error == EBADF);
	if (random % 2 == 0)
		(void)close(ends[0]);
	(void)close(ends[1]);
	atomic_fetch_add(&life->made, 1);
}

static void make_and_destroy(void *argument)
{
	struct life *life = argument;
	uint64_t seed =
	    xt_seed() + (uint64_t)atomic_fetch_add(&life->number, 1);

	while (xt_now() < life->end_ns && !xt_failures())
		live_once(life, xt_random(&seed));
	atomic_fetch_sub(&life->makers_left, 1);
}

/* Call xpoll_close_fd in a loop, because it walks over all queues of the process. */
static void close_all_the_time(void *argument)
{
	struct life *life = argument;

	while (atomic_load(&life->makers_left) > 0) {
		int ends[2];

		if (!XT_EXPECT(pipe(ends) == 0))
			return;
		(void)XT_EXPECT_EQ(xpoll_forget_fd(ends[0]), 0);
		(void)XT_EXPECT_EQ(xpoll_close_fd(ends[0]), 0);
		(void)XT_EXPECT_EQ(xpoll_close_fd(ends[1]), 0);
		atomic_fetch_add(&life->closed, 1);
	}
}

XT_TEST(stress_queues_come_and_go_under_waiters)
{
	double seconds = xt_stress_seconds(1);
	struct life life = {.makers_left = MAKERS};
	struct xt_thread *threads[MAKERS + 1];

	xt_watchdog((unsigned)seconds + 30);
	life.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	for (int i = 0; i < MAKERS; i++)
		threads[i] = xt_start(make_and_destroy, &life);
	threads[MAKERS] = xt_start(close_all_the_time, &life);
	for (int i = 0; i < MAKERS + 1; i++)
		xt_join(threads[i]);
	xt_note("%d queues, %d closes", atomic_load(&life.made),
	        atomic_load(&life.closed));
}

/* Forks while threads use the queue; the children only call xpoll_destroy or xpoll_reinit. */
struct family {
	struct xpoll *queue;
	struct xt_pair pipe;
	int64_t end_ns;
	atomic_int stop;
};

static void use_queue(void *argument)
{
	struct family *family = argument;
	uint64_t ident = (uint64_t)family->pipe.r;

	while (!atomic_load(&family->stop)) {
		struct xpoll_event event;

		(void)XT_EXPECT_STATUS(
		    xt_flag(family->queue, ident, READ, XPOLL_DISABLE), 0);
		(void)XT_EXPECT_STATUS(
		    xt_flag(family->queue, ident, READ, XPOLL_ENABLE), 0);
		(void)XT_EXPECT_STATUS(
		    xpoll_event(family->queue, NULL, 0, &event, 1, 10000), 0);
	}
}

/* Run the child.  Returns its exit code: 0 if all checks passed. */
static int child_life(struct family *family, int number)
{
	struct xpoll_event event;

	if (xpoll_wake(family->queue) == 0 || errno != EBADF)
		return 1;
	if (number % 2 == 0 && xpoll_reinit(family->queue) < 0 &&
	    errno != EBUSY)
		return 2;
	if (number % 4 == 0 &&
	    xpoll_event(family->queue, NULL, 0, &event, 1, 0) > 0)
		return 3;
	xpoll_destroy(family->queue);
	return 0;
}

/*
 * fork(2) of glibc 2.41 blocks all signals while it runs.  The SIGCHLD of a child that ends then
 * goes to another thread, whose sleep ends with EINTR although the signal is ignored.  Block
 * SIGCHLD, because the waits of this test must end by their timeouts only.
 */
static void block_child_signal(sigset_t *before)
{
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	(void)pthread_sigmask(SIG_BLOCK, &child, before);
}

XT_TEST(stress_forks_beside_users_of_the_queue)
{
	double seconds = xt_stress_seconds(0.7);
	struct family family = {.queue = xt_open_quiet(), .pipe = xt_pipe()};
	struct xt_thread *threads[2];
	sigset_t before;
	int forks = 0;

	if (XT_SANITIZED)
		XT_SKIP("sanitizers do not support forks beside threads");
	xt_watchdog((unsigned)seconds + 30);
	XT_OK(xt_add(family.queue, family.pipe.r, READ, 0));
	block_child_signal(&before);
	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(use_queue, &family);
	family.end_ns = xt_now() + (int64_t)(seconds * 1e9);
	(void)fflush(stdout);
	for (; xt_now() < family.end_ns && !xt_failures(); forks++) {
		int status = 0;
		pid_t child = fork();

		if (child == 0) {
			(void)alarm(20);
			_exit(child_life(&family, forks));
		}
		XT_EXPECT(child > 0 && waitpid(child, &status, 0) == child);
		XT_EXPECT_EQ(status, 0);
	}
	atomic_store(&family.stop, 1);
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	xt_put(family.pipe.w);
	XT_GETS(family.queue, NULL, family.pipe.r, READ);
	xt_note("%d forks", forks);
}

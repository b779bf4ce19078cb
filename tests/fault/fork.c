/*
 * Goal: a signal handler may fork while its thread waits.  The child that
 * returns from the handler has no other thread and must not wait for one, and
 * does nothing that the parent's threads could notice (S26, hazard 16).
 * Method: of several threads that sleep in a queue one gets a signal, and its
 * handler forks.  The child counts the library's operations on descriptors that
 * parent and child share.
 */
#include "xt.h"

#include "linux/sys_linux.h"
#include "sys/sys.h"

#include <sched.h>
#include <sys/wait.h>

enum { SLEEPERS = 3 };

/* Exit code of the child: FINE, or the check that has failed. */
enum { FINE, NOT_EINTR, TOUCHED, NOT_EBADF, REINIT, NOT_OWN, EARLY };

static atomic_int child, touched, held;
static volatile sig_atomic_t is_child;
static atomic_bool hold; /* makes the changer stay inside the queue, with the queue's lock */
static _Thread_local bool holds;

static void shared_call(void)
{
	touched += is_child;
	if (!holds)
		return;
	atomic_store(&held, 1);
	while (atomic_load(&hold))
		(void)sched_yield();
}

XT_WRAP(xp_sys_read);
XT_WRAP(xp_sys_write);
XT_WRAP(xp_sys_fstat);
XT_WRAP(xp_sys_epoll_ctl);

int __wrap_xp_sys_read(int fd, void *buffer, size_t size)
{
	shared_call();
	return __real_xp_sys_read(fd, buffer, size);
}

int __wrap_xp_sys_write(int fd, const void *buffer, size_t size)
{
	shared_call();
	return __real_xp_sys_write(fd, buffer, size);
}

int __wrap_xp_sys_fstat(int fd, struct stat *status)
{
	shared_call();
	return __real_xp_sys_fstat(fd, status);
}

int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events, uint64_t token)
{
	shared_call();
	return __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);
}

static void on_signal(int number)
{
	int saved = errno;
	pid_t pid = fork();

	(void)number;
	is_child = pid == 0;
	if (pid == 0)
		(void)alarm(3); /* ends a child that would hang */
	if (pid > 0)
		atomic_store(&child, (int)pid);
	errno = saved;
}

struct sleeper {
	struct xpoll *queue;
	struct xt_pair pipe;
	int cap; /* capacity of the array for xpoll_event; 0: use xpoll_wait, -1: xpoll_pwait */
	bool inside; /* another thread is inside the queue, with its lock, when this one forks */
	struct xt_thread *thread;
	atomic_int begun;
};

static int sleep_in(struct xpoll *queue, int cap, struct xpoll_event *event, int64_t timeout_ns)
{
	struct xpoll_ready ready;

	if (cap < 0)
		return xpoll_pwait(queue, &ready, 1, timeout_ns, NULL);
	return cap ? xpoll_event(queue, NULL, 0, event, cap, timeout_ns)
		: xpoll_wait(queue, timeout_ns < 0 ? -1 : 0);
}

static int child_of(const struct sleeper *sleeper, int rc)
{
	struct xpoll_event event;
	int error = errno;

	/*
	 * The child was forked before the sleep began, so its call fails because the queue is the
	 * parent's.
	 */
	if (rc == -1 && error == EBADF)
		return EARLY;
	if (rc != -1 || error != EINTR)
		return NOT_EINTR;
	if (atomic_load(&touched))
		return TOUCHED;
	if (sleep_in(sleeper->queue, sleeper->cap, &event, 0) != -1 || errno != EBADF)
		return NOT_EBADF;
	rc = xpoll_reinit(sleeper->queue);
	if (sleeper->inside ? rc != -1 || errno != EBUSY : rc != 0)
		return REINIT;
	if (!sleeper->inside) {
		/*
		 * After xpoll_reinit the child's queue works, whatever the parent's threads were
		 * doing in it.
		 */
		if (sleep_in(sleeper->queue, sleeper->cap, &event, 0) != 0)
			return NOT_OWN;
		xt_put(sleeper->pipe.w);
		if (sleep_in(sleeper->queue, sleeper->cap, &event, 0) != 1)
			return NOT_OWN;
	}
	xpoll_destroy(sleeper->queue);
	return FINE;
}

static void sleeper_run(void *argument)
{
	struct sleeper *sleeper = argument;
	struct xpoll_event event;
	int rc;

	atomic_store(&sleeper->begun, 1);
	rc = sleep_in(sleeper->queue, sleeper->cap, &event, -1);
	if (is_child)
		_exit(child_of(sleeper, rc));
}

static struct sleeper sleepers[SLEEPERS];

static struct xpoll *sleepers_start(bool inside, bool poll_level)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();

	(void)sigaction(SIGUSR1, &action, NULL);
	XT_EXPECT_STATUS(xt_add(queue, pipe.r, READ, 0), 0);
	XT_EXPECT_STATUS(xt_add(queue, pipe.w, WRITE, XPOLL_DISABLE | XPOLL_CLEAR), 0);
	for (int i = 0; i < SLEEPERS; i++) {
		sleepers[i].queue = queue;
		sleepers[i].pipe = pipe;
		sleepers[i].inside = inside;
		sleepers[i].cap = !poll_level ? 1 : i == 0 ? 0 : -1;
		atomic_store(&sleepers[i].begun, 0);
		sleepers[i].thread = xt_start(sleeper_run, &sleepers[i]);
		xt_until(&sleepers[i].begun, 1);
		xt_asleep(sleepers[i].thread);
	}
	return queue;
}

/*
 * Send a signal to this sleeper, whose handler forks; store the wait status of the child in
 * *status.
 */
static void fork_once(const struct sleeper *sleeper, int *status)
{
	atomic_store(&child, 0);
	XT_EQ(pthread_kill(xt_pthread(sleeper->thread), SIGUSR1), 0);
	xt_until(&child, 1);
	XT_EQ(waitpid(atomic_load(&child), status, 0), atomic_load(&child));
}

/*
 * Fork until the child was forked in the sleep, and check that the child has found no error.  On a
 * busy machine the thread may not sleep yet: then repeat.
 */
static void fork_in(const struct sleeper *sleeper)
{
	int status = -1;

	do {
		xt_asleep(sleeper->thread);
		fork_once(sleeper, &status);
	} while (WIFEXITED(status) && WEXITSTATUS(status) == EARLY);
	XT_EQ(status, 0);
}

static void sleepers_end(struct xpoll *queue)
{
	for (int i = 0; i < SLEEPERS; i++)
		xt_send_home(queue, sleepers[i].thread);
	xt_destroy(queue);
}

XT_TEST(hazard_16_child_of_a_sleepers_handler_leaves_the_other_sleepers_alone)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer knows no order between a thread and a child");
	for (int i = 0; i < 2 * SLEEPERS; i++) {
		struct xpoll *queue = sleepers_start(false, i / SLEEPERS);

		fork_in(&sleepers[i % SLEEPERS]);
		sleepers_end(queue);
	}
}

static void changer_run(void *argument)
{
	struct sleeper *sleeper = argument;

	holds = true;
	XT_OK(xt_flag(sleeper->queue, (uint64_t)sleeper->pipe.r, READ, XPOLL_DELETE));
}

XT_TEST(hazard_16_child_of_a_sleepers_handler_waits_for_nobody_inside)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer knows no order between a thread and a child");
	struct xpoll *queue = sleepers_start(true, false);
	struct xt_thread *changer;

	atomic_store(&held, 0);
	atomic_store(&hold, true);
	changer = xt_start(changer_run, &sleepers[0]);
	xt_until(&held, 1);
	/*
	 * On poll and select the first thread leaves its sleep so that the other one can make its
	 * change.
	 */
	fork_in(&sleepers[1]);
	atomic_store(&hold, false);
	xt_join(changer);
	sleepers_end(queue);
}

/*
 * Goal: poll, ppoll, select and pselect have the right timeouts, wake-ups and
 * signals, besides their results.
 * Method: one situation after the other, with arrays for which the drop-in has
 * a set.
 */
#include "dropin.h"

#include <setjmp.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>

#define MS 1000000LL

/* --- Times --------------------------------------------------------------------- */

XT_TEST(timeout_is_never_early)
{
	static const int times_ms[] = {1, 3, 20};
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 3; i++) {
		struct timespec time = {.tv_nsec = times_ms[i] * MS + 1};
		int64_t start = xt_now();

		XT_EQ(crowd_poll(&crowd, times_ms[i]), 0);
		XT_CHECK(xt_now() - start >= times_ms[i] * MS);
		start = xt_now();
		XT_EQ(ppoll(crowd.fds, CROWD, &time, NULL), 0);
		XT_CHECK(xt_now() - start > times_ms[i] * MS);
		XT_EQ(time.tv_nsec, times_ms[i] * MS + 1);
	}
}

XT_TEST(select_writes_the_time_that_is_left)
{
	struct crowd crowd;
	struct timeval time = {.tv_sec = 1000};
	fd_set set;

	XT_CALL(crowd_open(&crowd));
	xt_put(crowd.pipes[7].w);
	for (int i = 0; i < 30; i++) {
		set = crowd_set(&crowd);
		XT_EQ(select(FD_SETSIZE, &set, NULL, NULL, &time), 1);
		XT_CHECK(FD_ISSET(crowd.fds[7].fd, &set));
	}
	XT_CHECK(time.tv_sec >= 900 && time.tv_sec < 1000);
	xt_get(crowd.fds[7].fd);
	time = (struct timeval){.tv_usec = 2000};
	FD_SET(crowd.fds[3].fd, &set);
	XT_EQ(select(FD_SETSIZE, &set, NULL, NULL, &time), 0);
	XT_EQ(time.tv_sec, 0);
	XT_EQ(time.tv_usec, 0);
}

/* --- Ends of a sleep -------------------------------------------------------------- */

static void put_when_asleep(void *argument)
{
	struct crowd *crowd = argument;

	xt_put(crowd->pipes[11].w);
}

XT_TEST(byte_from_another_thread_ends_the_sleep)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 50; i++) {
		struct xt_thread *thread = xt_start(put_when_asleep, &crowd);

		XT_EQ(crowd_poll(&crowd, -1), 1);
		XT_EQ(crowd.fds[11].revents, POLLIN);
		xt_get(crowd.fds[11].fd);
		xt_join(thread);
	}
}

/*
 * The four calls are the sleep, the poll that finds the ready descriptor, and two that hold signals
 * back; from time to time a call also polls first.
 */
XT_TEST(waiting_again_and_again_takes_four_system_calls)
{
	enum { CALLS = 64 };
	struct crowd crowd;
	uint64_t before = 0;

	XT_CALL(crowd_open(&crowd));
	/* In the first rounds the drop-in learns that this place polls the same array. */
	for (int i = -2 * CROWD; i < CALLS; i++) {
		struct xt_thread *thread = xt_start(put_when_asleep, &crowd);

		if (i == 0)
			before = xpoll_poll_syscalls();
		XT_EQ(crowd_poll(&crowd, -1), 1);
		xt_get(crowd.fds[11].fd);
		xt_join(thread);
		xt_threads_reuse();
	}
	XT_CHECK(xpoll_poll_syscalls() - before <= 4 * CALLS + CALLS / 8);
}

static void put_into_hot(void *argument)
{
	struct crowd *crowd = argument;

	xt_get(crowd->pipes[11].r); /* now its write end, which was full, has room */
	xt_drain(crowd->pipes[11].r);
}

XT_TEST(changed_interest_ends_the_sleep)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 50; i++) {
		struct xt_thread *thread;
		short events = crowd.fds[11].events;

		xt_fill(crowd.pipes[11].w);
		crowd.fds[11] = (struct pollfd){
			.fd = crowd.pipes[11].w,
			.events = POLLOUT,
		};
		thread = xt_start(put_into_hot, &crowd);
		XT_EQ(crowd_poll(&crowd, -1), 1);
		XT_EQ(crowd.fds[11].revents, POLLOUT);
		xt_join(thread);
		crowd.fds[11] = (struct pollfd){
			.fd = crowd.pipes[11].r,
			.events = events,
		};
		XT_EQ(crowd_poll(&crowd, 0), 0);
	}
}

/* --- Signals -------------------------------------------------------------------------- */

static atomic_int signals_seen;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals_seen, 1);
}

static void catch_signal(int number, int flags, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	XT_EQ(sigaction(number, &action, NULL), 0);
}

struct kicker {
	pthread_t target;
	struct xt_thread *self;
	atomic_int stop;
};

/* Send signals until the sleeper has returned, because one that comes too early has no effect. */
static void kick(void *argument)
{
	struct kicker *kicker = argument;

	while (!atomic_load(&kicker->stop)) {
		pthread_kill(kicker->target, SIGUSR1);
		sched_yield();
	}
}

XT_TEST(handler_interrupts_the_sleep)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 4; i++) {
		struct kicker kicker = {.target = pthread_self()};

		/* poll(2) is not restarted after a signal, even with SA_RESTART. */
		catch_signal(SIGUSR1, i % 2 ? SA_RESTART : 0, count_signal);
		kicker.self = xt_start(kick, &kicker);
		if (i < 2)
			XT_EXPECT_FAILS(crowd_poll(&crowd, -1), EINTR);
		else
			XT_EXPECT_FAILS(ppoll(crowd.fds, CROWD, NULL, NULL), EINTR);
		atomic_store(&kicker.stop, 1);
		xt_join(kicker.self);
		for (int k = 0; k < CROWD; k++)
			XT_EQ(crowd.fds[k].revents, 0);
	}
	catch_signal(SIGUSR1, 0, SIG_DFL);
}

XT_TEST(mask_lets_a_pending_signal_in_only_while_waiting)
{
	struct crowd crowd;
	struct timespec zero = {0};
	sigset_t blocked;
	sigset_t open;
	int before;

	XT_CALL(crowd_open(&crowd));
	catch_signal(SIGUSR1, 0, count_signal);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &open);
	for (int i = 0; i < 4; i++) {
		before = atomic_load(&signals_seen);
		pthread_kill(pthread_self(), SIGUSR1);
		XT_EQ(crowd_poll(&crowd, 0), 0);
		XT_EQ(atomic_load(&signals_seen), before);
		XT_FAILS(ppoll(crowd.fds, CROWD, i % 2 ? &zero : NULL, &open), EINTR);
		XT_EQ(atomic_load(&signals_seen), before + 1);
	}
	/* A ready descriptor is returned although a signal is pending. */
	xt_put(crowd.pipes[2].w);
	before = atomic_load(&signals_seen);
	pthread_kill(pthread_self(), SIGUSR1);
	XT_EQ(ppoll(crowd.fds, CROWD, NULL, &open), 1);
	XT_EQ(atomic_load(&signals_seen), before);
	pthread_sigmask(SIG_SETMASK, &open, NULL);
	XT_EQ(atomic_load(&signals_seen), before + 1);
	catch_signal(SIGUSR1, 0, SIG_DFL);
}

static void sleep_through_a_stop(void *argument)
{
	struct crowd *crowd = argument;
	int64_t start = xt_now();

	XT_EQ(crowd_poll(crowd, 300), 0);
	XT_CHECK(xt_now() - start >= 300 * MS);
}

/* epoll_wait would return EINTR after a stop; poll(2) continues. */
XT_TEST(stop_and_continue_do_not_interrupt)
{
	struct crowd crowd;
	int status;
	pid_t child;

	XT_CALL(crowd_open(&crowd));
	child = fork();
	if (child == 0) {
		sleep_through_a_stop(&crowd);
		_exit(xt_failures() ? 1 : 0);
	}
	for (int i = 0; i < 5; i++) {
		XT_EQ(kill(child, SIGSTOP), 0);
		XT_EQ(waitpid(child, &status, WUNTRACED), child);
		if (!WIFSTOPPED(status))
			break;
		XT_EQ(kill(child, SIGCONT), 0);
		XT_EQ(poll(NULL, 0, 10), 0); /* let the thread sleep again */
	}
	if (WIFSTOPPED(status))
		XT_EQ(waitpid(child, &status, 0), child);
	XT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static struct crowd *handler_crowd;
static atomic_int handler_found;

static void poll_in_handler(int number)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&handler_found, crowd_poll(handler_crowd, 0));
	atomic_fetch_add(&signals_seen, 1);
	errno = saved;
}

XT_TEST(handler_may_poll_the_same_array)
{
	struct crowd crowd;
	struct kicker kicker = {.target = pthread_self()};
	int before = atomic_load(&signals_seen);

	XT_CALL(crowd_open(&crowd));
	handler_crowd = &crowd;
	catch_signal(SIGUSR1, 0, poll_in_handler);
	kicker.self = xt_start(kick, &kicker);
	for (int i = 0; i < 3000 || atomic_load(&signals_seen) < before + 100; i++) {
		int rc = crowd_poll(&crowd, i % 4 == 0 ? 1 : 0);

		XT_EXPECT(rc == 0 || (rc < 0 && errno == EINTR));
	}
	atomic_store(&kicker.stop, 1);
	xt_join(kicker.self);
	catch_signal(SIGUSR1, 0, SIG_DFL);
	XT_EQ(atomic_load(&handler_found), 0);
	xt_put(crowd.pipes[9].w);
	XT_EQ(crowd_ready(&crowd), 9);
}

static sigjmp_buf way_out;

static void jump_out(int number)
{
	(void)number;
	siglongjmp(way_out, 1);
}

/* Handlers leave the sleep by longjmp more often than there are sets. */
XT_TEST(handler_may_leave_the_sleep_by_longjmp)
{
	struct crowd crowd;
	volatile int jumps = 0;

	XT_CALL(crowd_open(&crowd));
	catch_signal(SIGALRM, 0, jump_out);
	while (jumps < 100) {
		struct itimerval soon = {.it_value.tv_usec = 500};

		if (sigsetjmp(way_out, 1) != 0) {
			jumps = jumps + 1;
			continue;
		}
		setitimer(ITIMER_REAL, &soon, NULL);
		(void)crowd_poll(&crowd, -1);
		XT_CHECK(!"only the signal ends it");
	}
	xt_watchdog(30); /* the watchdog uses the same signal */
	xt_put(crowd.pipes[9].w);
	XT_EQ(crowd_ready(&crowd), 9);
	xt_get(crowd.fds[9].fd);
	XT_EQ(crowd_ready(&crowd), -1);
}

static void poll_and_jump_out(int number)
{
	(void)number;
	(void)crowd_poll(handler_crowd, 0);
	siglongjmp(way_out, 1);
}

/* The handler may interrupt the thread in the sleep, in the drop-in, or between two calls. */
static void jump_out_of_anywhere(void *unused)
{
	struct crowd crowd;
	volatile int jumps = 0;

	(void)unused;
	XT_CALL(crowd_open(&crowd));
	handler_crowd = &crowd;
	catch_signal(SIGALRM, 0, poll_and_jump_out);
	while (jumps < 200) {
		struct itimerval soon = {.it_value.tv_usec = 20 + jumps};

		if (sigsetjmp(way_out, 1) != 0) {
			jumps = jumps + 1;
			continue;
		}
		setitimer(ITIMER_REAL, &soon, NULL);
		for (int i = 0;; i++)
			XT_EQ(crowd_poll(&crowd, i % 8 == 7 ? -1 : 0), 0);
	}
	xt_watchdog(30); /* the watchdog uses the same signal */
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
	XT_EQ(crowd_ready(&crowd), -1);
}

/* Use a child, because this may lose all of its sets. */
XT_TEST(handler_may_poll_the_same_array_and_leave_by_longjmp)
{
	XT_CHECK(xt_child(jump_out_of_anywhere, NULL));
}

/* --- Sets and files --------------------------------------------------------------------- */

XT_TEST(hung_up_pipe_that_select_does_not_ask_about_lets_it_sleep)
{
	struct crowd crowd;
	fd_set set;
	fd_set except;
	int64_t start = xt_now();
	struct timeval time = {.tv_usec = 5000};

	XT_CALL(crowd_open(&crowd));
	FD_ZERO(&set);
	FD_ZERO(&except);
	for (int k = 0; k < CROWD; k++)
		FD_SET(crowd.fds[k].fd, k == 6 ? &except : &set);
	xt_close(crowd.pipes[6].w);
	for (int i = 0; i < 30; i++) {
		fd_set in = set;
		fd_set other = except;
		struct timeval zero = {0};

		XT_EQ(select(FD_SETSIZE, &in, NULL, &other, &zero), 0);
	}
	XT_EQ(select(FD_SETSIZE, &set, NULL, &except, &time), 0);
	XT_CHECK(xt_now() - start >= 5 * MS);
}

XT_TEST(many_regular_files_are_always_ready)
{
	struct pollfd fds[100];

	for (int i = 0; i < 100; i++)
		fds[i] = (struct pollfd){
			.fd = xt_file("text"),
			.events = POLLIN | POLLOUT,
		};
	for (int i = 0; i < 50; i++) {
		XT_EQ(poll(fds, 100, -1), 100);
		XT_EQ(fds[i].revents, POLLIN | POLLOUT);
	}
}

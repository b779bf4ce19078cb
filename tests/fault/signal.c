/*
 * Goal: a blocked signal is counted once, whatever happens between two system
 * calls of the library, and whichever call the kernel refuses (S18, S21).
 * Method: the calls are wrapped at link time, and return results as if another
 * thread had been faster.
 */
#include "xt.h"

#include <errno.h>
#include <signal.h>

#include "core/slot.h"
#include "linux/sys_linux.h"
#include "sys/procfs.h"
#include "sys/sys.h"

#define SIGNAL XPOLL_FILT_SIGNAL

static int refusal;               /* error of signalfd(2), an errno value; 0: none */
static int set_refusal;           /* error of epoll_create1(2), an errno value; 0: none */
static bool others_run;           /* make another thread seem to run, not to sleep */
static bool others_let_in;        /* make another thread seem to block no signal */
static bool taken;                /* make the signal seem to be taken by another thread */
static void (*before_pending)(void); /* called before the next sigpending(2) */

XT_WRAP(xp_sys_signal_fd);
int __wrap_xp_sys_signal_fd(int number)
{
	return refusal ? -refusal : __real_xp_sys_signal_fd(number);
}

XT_WRAP(xp_sys_epoll_create);
int __wrap_xp_sys_epoll_create(void)
{
	return set_refusal ? -set_refusal : __real_xp_sys_epoll_create();
}

XT_WRAP(xp_sys_signal_is_pending);
bool __wrap_xp_sys_signal_is_pending(int number)
{
	void (*before)(void) = before_pending;

	before_pending = NULL;
	if (before)
		before();
	return !taken && __real_xp_sys_signal_is_pending(number);
}

XT_WRAP(xp_procfs_signals);
int __wrap_xp_procfs_signals(struct xp_procfs_signals *others)
{
	int rc = __real_xp_procfs_signals(others);

	others->others_asleep = others->others_asleep && !others_run;
	others->others_blocked = others_let_in ? 0 : others->others_blocked;
	return rc;
}

static int walks; /* calls of the function that walks through all slots */

XT_WRAP(xp_slots_walk);
struct xp_slot *__wrap_xp_slots_walk(const struct xpoll *queue, int *fd)
{
	walks++;
	return __real_xp_slots_walk(queue, fd);
}

static const struct sigaction *in_between; /* set before the next sigaction(2) that sets one */

XT_WRAP(xp_sys_sigaction);
int __wrap_xp_sys_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	const struct sigaction *other = action ? in_between : NULL;

	if (other)
		in_between = NULL;
	if (other)
		__real_xp_sys_sigaction(number, other, NULL);
	return __real_xp_sys_sigaction(number, action, before);
}

static int handled;

static void on_signal(int number)
{
	(void)number;
	handled++;
}

static void block(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(how, &set, NULL);
}

static struct xpoll *registered(void (*handler)(int), unsigned notes)
{
	struct xpoll *queue = xt_open();

	handled = 0;
	refusal = set_refusal = 0;
	others_run = others_let_in = taken = false;
	(void)signal(SIGUSR1, handler);
	block(SIG_BLOCK);
	if (xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, notes, 0, NULL) != 0)
		block(SIG_UNBLOCK);
	return queue;
}

static int send_blocked(void)
{
	return pthread_kill(pthread_self(), SIGUSR1);
}

static void finish(void)
{
	block(SIG_UNBLOCK);
	(void)signal(SIGUSR1, SIG_DFL);
}

#define GETS(queue, count)                                     \
	do {                                                   \
		struct xpoll_event gets_;                      \
		XT_GETS((queue), &gets_, SIGUSR1, SIGNAL);     \
		XT_EQ(gets_.data, (count));                    \
	} while (0)

/*
 * Another thread has taken the signal from the kernel, but its handler has not begun: the signal
 * must not be counted twice.
 */
XT_TEST(handler_of_another_thread_that_has_not_begun_counts_nothing)
{
	struct xpoll *queue = registered(on_signal, 0);

	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	taken = others_run = true;
	XT_NONE(queue);
	XT_NONE(queue);
	block(SIG_UNBLOCK);
	XT_EXPECT_EQ(handled, 1);
	XT_NONE(queue);
	block(SIG_BLOCK);
	taken = others_run = false;
	XT_NONE(queue);
	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	finish();
}

/*
 * The library has accepted the first signal, so a handler that runs now belongs to another signal,
 * and is counted.
 */
XT_TEST(handler_counts_after_the_signal_was_accepted)
{
	struct xpoll *queue = registered(on_signal, 0);

	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	taken = true;
	XT_NONE(queue);
	taken = false;
	block(SIG_UNBLOCK);
	XT_EXPECT_EQ(handled, 1);
	GETS(queue, 1);
	XT_NONE(queue);
	finish();
}

/* Called after the library has read its counters: handle one more signal, and send one. */
static void handle_and_send(void)
{
	block(SIG_UNBLOCK);
	block(SIG_BLOCK);
	(void)send_blocked();
}

XT_TEST(signal_sent_while_another_one_is_handled_is_counted)
{
	struct xpoll *queue = registered(on_signal, 0);

	for (int i = 0; i < 3; i++) {
		int64_t total = 0;

		XT_EQ(send_blocked(), 0);
		before_pending = handle_and_send;
		while (total < 2) {
			struct xpoll_event event;

			XT_GETS(queue, &event, SIGUSR1, SIGNAL);
			total += event.data;
		}
		XT_EQ(total, 2);
		XT_NONE(queue);
		block(SIG_UNBLOCK);
		XT_NONE(queue);
		block(SIG_BLOCK);
	}
	XT_EXPECT_EQ(handled, 6);
	finish();
}

/*
 * The kernel has delivered the first signal to another thread, whose handler begins only after the
 * second one is sent: both are counted.
 */
XT_TEST(signal_sent_before_the_handler_of_another_one_begins_is_counted)
{
	struct xpoll *queue = registered(on_signal, 0);
	struct sigaction action;
	siginfo_t info = {.si_signo = SIGUSR1};

	XT_EQ(sigaction(SIGUSR1, NULL, &action), 0);
	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	action.sa_sigaction(SIGUSR1, &info, NULL);
	GETS(queue, 1);
	XT_NONE(queue);
	block(SIG_UNBLOCK);
	XT_EXPECT_EQ(handled, 2);
	XT_NONE(queue);
	finish();
}

/*
 * While the library puts its handler in front of the program's, another thread sets the program's
 * handler again, with other flags or another mask: these last.
 */
XT_TEST(flags_that_another_thread_sets_during_add_stay)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 2; i++) {
		struct sigaction action = {.sa_handler = on_signal}, now;

		XT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
		if (i == 0)
			action.sa_flags = SA_RESTART;
		else
			(void)sigaddset(&action.sa_mask, SIGHUP);
		in_between = &action;
		XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
		XT_EXPECT(!in_between);
		XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
		XT_EXPECT_EQ(now.sa_flags & SA_RESTART, action.sa_flags);
		XT_EXPECT_EQ(sigismember(&now.sa_mask, SIGHUP), i);
		XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
		XT_EQ(sigaction(SIGUSR1, NULL, &now), 0);
		XT_EXPECT(now.sa_handler == on_signal);
		XT_EXPECT_EQ(now.sa_flags & SA_RESTART, action.sa_flags);
		XT_EXPECT_EQ(sigismember(&now.sa_mask, SIGHUP), i);
	}
	finish();
}

/*
 * Another thread does not block the signal, so its handler is about to run there: NOTE_ACCEPT must
 * not take the signal from it.
 */
XT_TEST(note_accept_leaves_a_signal_that_a_thread_does_not_block)
{
	struct xpoll *queue = registered(SIG_IGN, XPOLL_NOTE_ACCEPT);

	others_let_in = true;
	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	XT_EXPECT(__real_xp_sys_signal_is_pending(SIGUSR1));
	XT_NONE(queue);
	others_let_in = false;
	XT_NONE(queue);
	XT_EXPECT(!__real_xp_sys_signal_is_pending(SIGUSR1));
	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	XT_NONE(queue);
	finish();
}

/*
 * If a sandbox refuses the calls, ADD fails; otherwise the program would wait for an event that
 * never comes.
 */
XT_TEST(add_of_a_blocked_signal_that_cannot_be_watched_fails)
{
	static const int refusals[] = {ENOSYS, EPERM, EACCES, EMFILE};
	struct xpoll *queue = xt_open();

	(void)signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 8; i++) {
		int error = refusals[i % 4];
		int status = error == EMFILE ? EMFILE : ENOTSUP;

		*(i < 4 ? &set_refusal : &refusal) = error;
		XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
		block(SIG_BLOCK);
		XT_STATUS(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL), status);
		XT_OK(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE));
		XT_STATUS(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL), status);
		XT_STATUS(xt_flag(queue, SIGUSR1, SIGNAL, XPOLL_DELETE), ENOENT);
		XT_EXPECT(signal(SIGUSR1, SIG_IGN) == SIG_IGN);
		block(SIG_UNBLOCK);
		refusal = set_refusal = 0;
	}
	block(SIG_BLOCK);
	XT_OK(xt_change(queue, SIGUSR1, SIGNAL, XPOLL_ADD, 0, 0, NULL));
	XT_EQ(send_blocked(), 0);
	GETS(queue, 1);
	finish();
}

/* After SIGNAL was registered once, an xpoll_wait must not walk through all slots each time. */
XT_TEST(poll_level_beside_a_signal_does_not_walk_all_slots)
{
	struct xpoll *queue = registered(SIG_IGN, 0);
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	walks = 0;
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 1);
	XT_EXPECT_EQ(walks, 0);
	finish();
}

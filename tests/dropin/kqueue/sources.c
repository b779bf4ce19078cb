/*
 * Goal: the filters without a file, PROC, PROCDESC, SIGNAL, TIMER and USER, as
 * FreeBSD's kqueue(2) describes them and as measured on its kernel.
 * Method: processes exit, signals are sent, time passes; the event is compared
 * with waitpid(2), the handlers and the clock.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kit.h"

/* --- PROC, PROCDESC --------------------------------------------------------------- */

/* Returns a child that exits when the pipe is closed. */
static pid_t child_made(int *to_it)
{
	int fds[2];
	pid_t child;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		char byte;

		close(fds[1]);
		_exit(read(fds[0], &byte, 1) == 1 ? byte : 99);
	}
	close(fds[0]);
	*to_it = fds[1];
	return child;
}

XT_TEST(proc_tells_the_exit_status)
{
	int kq = kit_open();
	struct kevent event;
	int to_it = -1, status;
	pid_t child = child_made(&to_it);

	XT_OK(kit_change(kq, (uintptr_t)child, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0,
	                 &kq));
	KIT_NONE(kq);
	XT_EQ(write(to_it, "\7", 1), 1);
	close(to_it);
	KIT_GETS(kq, &event, child, EVFILT_PROC);
	XT_EQ(event.fflags, NOTE_EXIT);
	XT_EQ(event.flags, EV_EOF | EV_ONESHOT | EV_CLEAR);
	XT_CHECK(event.udata == &kq);
	/* Measured in FreeBSD: the exit of a child that was not reaped yet is delivered at once. */
	XT_OK(kit_change(kq, (uintptr_t)child, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0,
	                 NULL));
	KIT_GETS(kq, &event, child, EVFILT_PROC);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(event.data, status);
	XT_EQ(WEXITSTATUS(status), 7);
	XT_STATUS(kit_change(kq, (uintptr_t)child, EVFILT_PROC, EV_ADD,
	                     NOTE_EXIT, 0, NULL), ESRCH);
}

XT_TEST(procdesc_tells_the_exit_status)
{
	int kq = kit_open();
	struct kevent event;
	int to_it = -1, status;
	pid_t child = child_made(&to_it);
	int descriptor = (int)syscall(SYS_pidfd_open, child, 0);

	if (descriptor < 0) {
		close(to_it);
		(void)waitpid(child, NULL, 0);
		XT_SKIP("no pidfd here");
	}
	xt_keep(descriptor);
	XT_OK(kit_change(kq, (uintptr_t)descriptor, EVFILT_PROCDESC, EV_ADD,
	                 NOTE_EXIT, 0, &kq));
	KIT_NONE(kq);
	XT_EQ(kill(child, SIGTERM), 0);
	KIT_GETS(kq, &event, descriptor, EVFILT_PROCDESC);
	XT_EQ(event.fflags, NOTE_EXIT);
	XT_EQ(event.flags, EV_EOF | EV_ONESHOT | EV_CLEAR);
	XT_CHECK(event.udata == &kq);
	KIT_NONE(kq);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(event.data, status);
	XT_EQ(WTERMSIG(status), SIGTERM);
	close(to_it);
	XT_STATUS(kit_change(kq, (uintptr_t)descriptor, EVFILT_PROCDESC, EV_ADD,
	                     NOTE_EXIT | NOTE_FORK, 0, NULL), ENOTSUP);
	XT_STATUS(kit_change(kq, (uintptr_t)descriptor, EVFILT_PROCDESC, EV_ADD,
	                     0, 0, NULL), EINVAL);
	XT_STATUS(kit_change(kq, (uintptr_t)xt_file(""), EVFILT_PROCDESC, EV_ADD,
	                     NOTE_EXIT, 0, NULL), EINVAL);
	XT_STATUS(kit_flag(kq, descriptor, EVFILT_PROCDESC, EV_DELETE), ENOENT);
}

XT_TEST(procdesc_changes_and_the_next_file_of_its_number)
{
	int kq = kit_open(), to_it = -1;
	pid_t child = child_made(&to_it);
	int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
	uintptr_t ident = (uintptr_t)descriptor;
	struct xt_pair pipe = xt_pipe();
	struct kevent event;

	if (descriptor < 0) {
		close(to_it);
		(void)waitpid(child, NULL, 0);
		XT_SKIP("no pidfd here");
	}
	XT_OK(kit_change(kq, ident, EVFILT_PROCDESC, EV_ADD, NOTE_EXIT, 0, NULL));
	XT_OK(kit_change(kq, ident, EVFILT_PROCDESC, EV_DISABLE, 0, 0, NULL));
	/* READ does not accept a process descriptor. */
	XT_STATUS(kit_add(kq, descriptor, EVFILT_READ, 0), EINVAL);
	close(to_it);
	XT_EQ(waitpid(child, NULL, 0), child);
	XT_OK(kit_change(kq, ident, EVFILT_PROCDESC, 0, 0, 0, &kq));
	KIT_NONE(kq);
	XT_OK(kit_change(kq, ident, EVFILT_PROCDESC, EV_ENABLE | EV_KEEPUDATA, 0, 0,
	                 NULL));
	KIT_GETS(kq, &event, descriptor, EVFILT_PROCDESC);
	XT_CHECK(event.udata == &kq);
	XT_OK(kit_change(kq, ident, EVFILT_PROCDESC, EV_ADD, NOTE_EXIT, 0, NULL));
	xt_put(pipe.w);
	XT_EQ(dup2(pipe.r, descriptor), descriptor);
	xt_keep(descriptor);
	XT_OK(kit_add(kq, descriptor, EVFILT_READ, 0));
	KIT_GETS(kq, &event, descriptor, EVFILT_READ);
	XT_EQ(event.data, 1);
	XT_STATUS(kit_flag(kq, descriptor, EVFILT_PROCDESC, EV_ENABLE), ENOENT);
	xt_close(descriptor);
	XT_STATUS(kit_flag(kq, descriptor, EVFILT_PROCDESC, EV_ENABLE), EBADF);
}

/* --- SIGNAL ------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

static void handler(int number)
{
	(void)number;
	handled++;
}

XT_TEST(signal_counts_beside_handlers_and_when_ignored)
{
	int kq = kit_open();
	struct kevent event;

	handled = 0;
	signal(SIGUSR1, handler);
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	for (int i = 0; i < 3; i++)
		raise(SIGUSR1);
	KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
	XT_EQ(event.data, 3);
	XT_EQ(handled, 3);
	KIT_NONE(kq);
	signal(SIGUSR1, SIG_IGN);
	raise(SIGUSR1);
	KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
	XT_EQ(event.data, 1);
	XT_EQ(handled, 3);
}

/* The steps of the paper's Figure 7, in its order. */
XT_TEST(signal_ignored_after_it_was_added_is_counted)
{
	int kq = kit_open();
	struct kevent event;

	signal(SIGHUP, SIG_DFL);
	XT_OK(kit_change(kq, SIGHUP, EVFILT_SIGNAL, EV_ADD | EV_ENABLE, 0, 0,
	                 NULL));
	/* No function of the library is called between this and the signals. */
	signal(SIGHUP, SIG_IGN);
	raise(SIGHUP);
	raise(SIGHUP);
	KIT_GETS(kq, &event, SIGHUP, EVFILT_SIGNAL);
	XT_EQ(event.data, 2);
	XT_OK(kit_change(kq, SIGHUP, EVFILT_SIGNAL, EV_DELETE, 0, 0, NULL));
	KIT_NONE(kq);
}

/* A handler that sets an action, and one that is set by sigaction(2). */
static void ignore_another(int number)
{
	(void)number;
	signal(SIGUSR1, SIG_IGN);
}

XT_TEST(signal_is_counted_whatever_is_done_to_its_action)
{
	int kq = kit_open();
	struct sigaction action = {.sa_handler = handler}, before;
	struct kevent event;

	handled = 0;
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	for (int i = 0; i < 20; i++) {
		XT_EQ(sigaction(SIGUSR1, &action, &before), 0);
		raise(SIGUSR1);
		XT_EQ(handled, i + 1);
		signal(SIGUSR2, ignore_another);
		raise(SIGUSR2);
		raise(SIGUSR1);
		XT_EQ(handled, i + 1);
		KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
		XT_EQ(event.data, 2);
		/* The former action can be restored. */
		XT_EQ(sigaction(SIGUSR1, &before, NULL), 0);
	}
	signal(SIGUSR1, SIG_DFL);
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_DELETE, 0, 0, NULL));
	XT_EQ(sigaction(SIGUSR1, NULL, &before), 0);
	XT_CHECK(before.sa_handler == SIG_DFL);
}

/* Headers mark the first one as deprecated, and do not declare the other. */
int interrupt(int number, int interrupts) __asm__("siginterrupt");
void (*sysv_signal(int number, void (*action)(int)))(int)
	__asm__("__sysv_signal");

/* ThreadSanitizer has a list of its own, and does not know siginterrupt(3). */
static void interrupts_as_asked(int interrupts)
{
	struct sigaction action;

	XT_EQ(interrupt(SIGHUP, interrupts), 0);
	XT_EQ(sigaction(SIGHUP, NULL, &action), 0);
	if (!XT_TSAN)
		XT_EQ(action.sa_flags & SA_RESTART, interrupts ? 0 : SA_RESTART);
}

/* A registered signal does not show in the actions that the program reads. */
XT_TEST(signal_shows_the_action_that_the_program_set)
{
	int kq = kit_open();
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct sigaction before;

	signal(SIGHUP, SIG_IGN);
	sigaddset(&action.sa_mask, SIGUSR2);
	for (int i = 0; i < 12; i++) {
		XT_OK(kit_change(kq, SIGHUP, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
		/*
		 * Shells and daemons read the action to detect whether nohup(1) has started them.
		 */
		XT_CHECK(signal(SIGHUP, SIG_IGN) == SIG_IGN);
		XT_EQ(sigaction(SIGHUP, NULL, &before), 0);
		XT_CHECK(before.sa_handler == SIG_IGN);
		XT_EQ(before.sa_flags & SA_SIGINFO, 0);
		XT_EQ(sigaction(SIGHUP, &action, &before), 0);
		XT_CHECK(before.sa_handler == SIG_IGN);
		XT_EQ(sigaction(SIGHUP, NULL, &before), 0);
		XT_CHECK(before.sa_handler == handler);
		XT_EQ(before.sa_flags & (SA_SIGINFO | SA_RESTART), SA_RESTART);
		XT_EQ(sigismember(&before.sa_mask, SIGUSR2), 1);
		XT_CHECK(signal(SIGHUP, SIG_DFL) == handler);
		XT_CHECK(signal(SIGHUP, ignore_another) == SIG_DFL);
		XT_CALL(interrupts_as_asked(i % 2));
		XT_CHECK(signal(SIGHUP, handler) == ignore_another);
		XT_EQ(sigaction(SIGHUP, NULL, &before), 0);
		if (!XT_TSAN)
			XT_EQ(before.sa_flags & SA_RESTART,
			      i % 2 ? 0 : SA_RESTART);
		handled = 0;
		raise(SIGHUP);
		XT_EQ(handled, 1);
		/* ThreadSanitizer does not intercept sysv_signal(3). */
		XT_CHECK(sysv_signal(SIGHUP, SIG_IGN) == handler || XT_TSAN);
		/* The same while the signal is not registered. */
		if (i % 3 == 0)
			XT_OK(kit_change(kq, SIGHUP, EVFILT_SIGNAL, EV_DELETE, 0,
			                 0, NULL));
	}
	interrupt(SIGHUP, 0);
	signal(SIGHUP, SIG_DFL);
}

/*
 * Python starts programs by vfork(2): the child shares the memory, but has signal actions of its
 * own.
 */
XT_TEST(signal_set_by_a_child_of_vfork_is_the_childs_alone)
{
	int kq = kit_open();
	struct kevent event;
	pid_t child;
	int status;

	handled = 0;
	signal(SIGHUP, handler);
	XT_OK(kit_change(kq, SIGHUP, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	child = vfork();
	if (child == 0)
		_exit(signal(SIGHUP, SIG_IGN) == handler ? 0 : 1);
	XT_CHECK(child > 0);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	raise(SIGHUP);
	XT_EQ(handled, 1);
	KIT_GETS(kq, &event, SIGHUP, EVFILT_SIGNAL);
	XT_EQ(event.data, 1);
	XT_CHECK(signal(SIGHUP, SIG_DFL) == handler);
}

/* --- TIMER ------------------------------------------------------------------------- */

XT_TEST(timer_is_periodic_unless_oneshot)
{
	int kq = kit_open();
	struct kevent event;
	int64_t start = xt_now();

	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_USECONDS, 2000, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_CHECK(event.data >= 1 && xt_now() - start >= 2000000);
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_CHECK(xt_now() - start >= 4000000);
	/* Another EV_ADD restarts the timer, with a new period. */
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600, NULL));
	KIT_NONE(kq);
	XT_OK(kit_change(kq, 2, EVFILT_TIMER, EV_ADD | EV_ONESHOT,
	                 NOTE_NSECONDS, 1, NULL));
	KIT_GETS(kq, &event, 2, EVFILT_TIMER);
	XT_EQ(event.data, 1);
	XT_STATUS(kit_flag(kq, 2, EVFILT_TIMER, EV_DELETE), ENOENT);
}

XT_TEST(timer_tells_how_often_it_expired)
{
	int kq = kit_open();
	struct kevent event;
	int64_t start = xt_now(), passed;

	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_USECONDS, 10, NULL));
	while ((passed = xt_now() - start) < 5000000)
		continue;
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_CHECK(event.data >= 2 && event.data <= (xt_now() - start) / 10000);
	/* Another EV_ADD drops the expirations that were not delivered yet. */
	XT_CHECK(xt_poll_until(kq, POLLIN, POLLIN));
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600, NULL));
	KIT_NONE(kq);
	/* A disabled timer continues to run. */
	XT_OK(kit_change(kq, 2, EVFILT_TIMER, EV_ADD | EV_DISABLE,
	                 NOTE_USECONDS, 10, NULL));
	KIT_NONE(kq);
	start = xt_now();
	while (xt_now() - start < 1000000)
		continue;
	XT_OK(kit_change(kq, 2, EVFILT_TIMER, EV_ENABLE, 0, 0, NULL));
	KIT_GETS(kq, &event, 2, EVFILT_TIMER);
	XT_CHECK(event.data >= 90);
}

XT_TEST(timer_at_a_moment_and_of_nothing)
{
	int kq = kit_open();
	struct kevent event;

	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD | EV_ONESHOT,
	                 NOTE_ABSTIME | NOTE_SECONDS, 1, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, 0, 0, NULL));
	KIT_GETS(kq, &event, 1, EVFILT_TIMER);
	XT_STATUS(kit_change(kq, 2, EVFILT_TIMER, EV_ADD, 0, -1, NULL), EINVAL);
	/* EV_ENABLE does not restart the timer. */
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600, NULL));
	XT_OK(kit_change(kq, 1, EVFILT_TIMER, EV_ENABLE, NOTE_NSECONDS, 1, NULL));
	KIT_NONE(kq);
}

/* --- USER -------------------------------------------------------------------------- */

XT_TEST(user_flags_are_combined_as_asked)
{
	int kq = kit_open();
	struct kevent event;
	const struct {
		unsigned control, bits, result;
	} steps[] = {
		{NOTE_FFCOPY, 0xff00ff, 0xff00ff}, {NOTE_FFNOP, 0x1, 0xff00ff},
		{NOTE_FFAND, 0x0f00f0, 0x0f00f0}, {NOTE_FFOR, 0x000f00, 0x0f0ff0},
	};

	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD, 0, 0, NULL));
	KIT_NONE(kq);
	for (int i = 0; i < 4; i++) {
		XT_OK(kit_change(kq, 1, EVFILT_USER, 0,
		                 steps[i].control | steps[i].bits | NOTE_TRIGGER,
		                 i, NULL));
		KIT_GETS(kq, &event, 1, EVFILT_USER);
		XT_EQ(event.fflags, steps[i].result);
		XT_EQ(event.data, i);
	}
	/* Without EV_CLEAR the event stays triggered. */
	KIT_GETS(kq, &event, 1, EVFILT_USER);
	XT_OK(kit_change(kq, 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL));
	KIT_NONE(kq);
}

/*
 * Goal: a signal is reported whatever the program does to its action and its
 * mask after EV_ADD; if these have not changed, kevent(2) makes no system call
 * for them.
 * Method: change them between calls of kevent(2) in each possible way; a child
 * in which system calls for signals are fatal continues to read events.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "kit.h"

/* Headers mark these functions as deprecated, so declare them under other names. */
int hold(int number) __asm__("sighold");
int ignore(int number) __asm__("sigignore");
int block(int mask) __asm__("sigblock");
int set_mask(int mask) __asm__("sigsetmask");
void (*set(int number, void (*action)(int)))(int) __asm__("sigset");

static void handle_nothing(int number)
{
	(void)number;
}

static sigset_t set_of(int number)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, number);
	return signals;
}

static void by_thread_mask(void)
{
	sigset_t signals = set_of(SIGUSR1);

	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void by_process_mask(void)
{
	sigset_t signals = set_of(SIGUSR1);

	sigprocmask(SIG_SETMASK, &signals, NULL);
}

static void by_hold(void)
{
	(void)hold(SIGUSR1);
}

static void by_old_mask(void)
{
	(void)block(1 << (SIGUSR1 - 1));
}

static void by_whole_old_mask(void)
{
	(void)set_mask(1 << (SIGUSR1 - 1));
}

static void by_ignoring(void)
{
	(void)ignore(SIGUSR1);
}

static void by_setting(void)
{
	(void)set(SIGUSR1, SIG_IGN);
}

static void by_holding(void)
{
	(void)set(SIGUSR1, SIG_HOLD);
}

static void (*ways[])(void) = {
	by_thread_mask, by_process_mask, by_hold,    by_old_mask,
	by_whole_old_mask, by_ignoring,  by_setting, by_holding,
};

/* Each way is tried in a child, which begins with the parent's mask. */
static void change_then_send(void *way)
{
	int kq = kit_open();
	struct kevent event;

	signal(SIGUSR1, handle_nothing);
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	KIT_NONE(kq);
	(*(void (*const *)(void))way)();
	KIT_NONE(kq);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
	XT_EQ(event.data, 1);
	KIT_NONE(kq);
}

XT_TEST(signal_is_reported_however_its_mask_or_action_was_set_after_its_registration)
{
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (!xt_child(change_then_send, &ways[i]))
			return;
}

static void *wait_unblocked(void *kq)
{
	sigset_t signals = set_of(SIGUSR1);

	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	(void)kit_none(__FILE__, __LINE__, *(int *)kq);
	return NULL;
}

/*
 * The mask belongs to the thread; another thread has called kevent(2) since, and does not know this
 * thread's mask.
 */
static void other_waits_between(void *unused)
{
	int kq = kit_open();
	struct kevent event;
	pthread_t other;

	(void)unused;
	signal(SIGUSR1, handle_nothing);
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	KIT_NONE(kq);
	by_thread_mask();
	XT_EQ(pthread_create(&other, NULL, wait_unblocked, &kq), 0);
	XT_EQ(pthread_join(other, NULL), 0);
	XT_EQ(kill(getpid(), SIGUSR1), 0);
	KIT_GETS(kq, &event, SIGUSR1, EVFILT_SIGNAL);
	XT_EQ(event.data, 1);
}

XT_TEST(signal_that_this_thread_blocks_is_reported_though_another_has_waited_since)
{
	xt_child(other_waits_between, NULL);
}

static bool kill_at(int first, int second)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)first, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)second, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void wait_without_such_calls(void *unused)
{
	int kq = kit_open();
	struct xt_pair pipe = xt_ready_pair();
	struct kevent event;

	(void)unused;
	XT_OK(kit_change(kq, SIGUSR1, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	XT_OK(kit_change(kq, SIGUSR2, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL));
	XT_OK(kit_add(kq, pipe.r, EVFILT_READ, 0));
	KIT_GETS(kq, &event, (uintptr_t)pipe.r, EVFILT_READ);
	XT_CHECK(kill_at(SYS_rt_sigaction, SYS_rt_sigprocmask));
	for (int i = 0; i < 10; i++)
		KIT_GETS(kq, &event, (uintptr_t)pipe.r, EVFILT_READ);
	_exit(0);
}

XT_TEST(wait_makes_no_call_for_signals_of_which_nothing_has_changed)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		XT_SKIP("no filters of system calls here");
	xt_child(wait_without_such_calls, NULL);
}

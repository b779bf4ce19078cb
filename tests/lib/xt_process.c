/* xt_process: children of a test, states of threads, the clock. */
#include "xt_internal.h"

#include <sched.h>
#include <sys/wait.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

/*
 * Number of checks after which xt_asleep gives up.  A test must not depend on the result, and only
 * Linux shows whether a thread sleeps.
 */
#ifdef __linux__
#define ASLEEP_LOOKS 20000
#else
#define ASLEEP_LOOKS 1000
#endif

static void process_signal(pthread_t thread, int signal_of)
{
	(void)pthread_kill(thread, signal_of);
}

void xt_threads_signal(int signal_of)
{
	xt_threads_each(process_signal, signal_of);
}

/* Returns the letter that the kernel shows for the state of a thread, or 0. */
static char thread_state(int kernel_id)
{
	char path[64];
	char text[256];

	(void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", kernel_id);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t got = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	const char *end = strrchr(text, ')');
	return end && end[1] ? end[2] : '\0';
}

void xt_asleep(struct xt_thread *thread)
{
	int kernel_id, seen = 0;

	/*
	 * Wait for the thread's kernel ID; on a busy machine that takes longer than all the checks
	 * below.
	 */
	while ((kernel_id = xt_thread_kernel_id(thread)) == 0 && xt_thread_number() != 0)
		(void)sched_yield();
	for (int i = 0; i < ASLEEP_LOOKS && seen < 3; i++) {
		if (xt_done(thread))
			return;
		seen = kernel_id && thread_state(kernel_id) == 'S' ? seen + 1 : 0;
		(void)sched_yield();
	}
}

/* Write the coverage counts of a child, which exits without the handlers that would do it. */
static void thread_write_counts(void)
{
#ifdef XT_COVERAGE
	extern void __gcov_dump(void);

	__gcov_dump();
#endif
}

bool xt_child(void (*run)(void *), void *argument)
{
	int status = 0;

	(void)fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		xt_broken("fork");
	if (child == 0) {
		xt_watchdog(20);
		run(argument);
		(void)fflush(stdout);
		thread_write_counts();
		_exit(xt_failures() ? 1 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			xt_broken("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	xt_fail(__FILE__, __LINE__, "the child ended with %s %d",
	        WIFEXITED(status) ? "status" : "signal",
	        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return false;
}

bool xt_wine(void)
{
	return false;
}

int xt_thread_number(void)
{
#ifdef __linux__
	return (int)syscall(SYS_gettid);
#else
	return 0;
#endif
}

int xt_queue_signal(int thread_number, int number, int value)
{
#ifdef __linux__
	siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_number,
	                    number, &info);
#elif defined(SIGRTMIN)
	union sigval sent = {.sival_int = value};

	(void)thread_number;
	return sigqueue(getpid(), number, sent);
#else
	(void)thread_number, (void)value;
	return kill(getpid(), number);
#endif
}

void xt_become_alone(void)
{
#ifdef __GLIBC__
	/* Before glibc 2.32 there is no such variable.  In a child of the runner it is false. */
	extern char __libc_single_threaded __attribute__((weak));

	if (&__libc_single_threaded)
		__libc_single_threaded = 1;
#endif
}

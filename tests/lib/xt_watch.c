/*
 * xt_watch: the watchdog.  If a test takes too long, it prints the stack of each thread, by gdb or
 * else by backtrace, and ends the program.
 *
 * The watchdog is an alarm, not a thread, so that a test without threads runs in a process without
 * threads: the library behaves differently there.
 */
#include "xt_internal.h"

#include <sys/wait.h>
#include <time.h>
#ifdef __linux__
#include <sys/sysinfo.h>
#endif

#if defined(__has_include)
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define WATCH_BACKTRACE 1
#endif
#endif

static const char *volatile watch_name = "";
static unsigned watch_seconds;
static long watch_processors;

static void watch_say(const char *text)
{
	/* nothing can be done about a failed write */
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		return;
}

static void watch_show_stack(int signal_of)
{
	(void)signal_of;
	watch_say("--- a thread:\n");
#ifdef WATCH_BACKTRACE
	void *frames[64];

	backtrace_symbols_fd(frames, backtrace(frames, 64), STDOUT_FILENO);
#endif
}

/* The fork must not need a lock of the C library; macOS has no other function than fork. */
#ifdef __APPLE__
#define watch_fork fork
#else
#define watch_fork vfork
#endif

static bool watch_run_debugger(void)
{
	static char pid_text[24];
	int status = 0;

	(void)snprintf(pid_text, sizeof pid_text, "%d", (int)getpid());
	pid_t child = watch_fork();
	if (child == 0) {
		execlp("gdb", "gdb", "-p", pid_text, "-nx", "-batch", "-ex",
		       "thread apply all backtrace", (char *)NULL);
		_exit(127);
	}
	if (child < 0)
		return false;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Returns the number of runnable processes for each processor.  Async-signal-safe. */
static unsigned watch_slowness(void)
{
#ifdef __linux__
	enum { MOST = 20 };
	struct sysinfo info;

	if (watch_processors > 0 && sysinfo(&info) == 0) {
		unsigned long each = (info.loads[0] >> SI_LOAD_SHIFT) /
		                     (unsigned long)watch_processors;

		return 1 + (each < MOST ? (unsigned)each : MOST);
	}
#endif
	return 1;
}

static void watch_expired(int signal_of, siginfo_t *info, void *context)
{
	struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};
	unsigned slowness = watch_slowness();

	(void)context;
	/*
	 * The machine has become busier since the test began.  This is checked only now, because an
	 * alarm interrupts the waits of the test.  Fault tests send one to see the stacks.
	 */
	if (slowness > xt_slowness && info->si_code != SI_USER) {
		(void)alarm(watch_seconds * (slowness - xt_slowness));
		xt_slowness = slowness;
		return;
	}
	/* If printing the stacks hangs, too, the next alarm ends the process. */
	(void)signal(signal_of, SIG_DFL);
	(void)alarm(30);
	watch_say("\nFAIL  watchdog: this test is stuck: ");
	watch_say(watch_name);
	watch_say("\n");
	if (!watch_run_debugger()) {
		watch_show_stack(SIGPROF);
		xt_threads_signal(SIGPROF);
		(void)nanosleep(&moment, NULL);
	}
	_exit(1);
}

void xt_watchdog_install(void)
{
	struct sigaction action = {.sa_sigaction = watch_expired, .sa_flags = SA_SIGINFO};
	struct sigaction show = {.sa_handler = watch_show_stack};

	if (sigaction(SIGALRM, &action, NULL) < 0 ||
	    sigaction(SIGPROF, &show, NULL) < 0)
		xt_broken("sigaction");
}

void xt_watchdog_start(const char *name, unsigned seconds)
{
	watch_name = name;
	watch_seconds = seconds;
	watch_processors = sysconf(_SC_NPROCESSORS_ONLN);
	xt_slowness = watch_slowness();
	(void)alarm(seconds * xt_slowness);
}

void xt_watchdog_stop(void)
{
	(void)alarm(0);
}

/* Clocks, limits, signals, memory and pipes, for the runner and the workloads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>

#include "loop.h"

/* --- Time ------------------------------------------------------------------ */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* System calls that the functions of this file have made between two counts. */
static uint64_t counter_own;

int64_t bench_elapsed_ns(const struct bench_workload *workload)
{
	counter_own += !workload->by_clock; /* the clock of a process is a system call */
	return clock_ns(workload->by_clock ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID);
}

/* --- Counting: the kernel's tracepoint for system calls ----------------------- */

#define TRACEPOINT "events/raw_syscalls/sys_enter/id"

static int counter_fd = -1;

/*
 * Returns the number of the kernel's tracepoint for system calls; 0: this process must not use it.
 */
static uint64_t counter_tracepoint(void)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/" TRACEPOINT, "/sys/kernel/debug/tracing/" TRACEPOINT,
	};
	unsigned long long number = 0;

	for (int i = 0; i < 2 && number == 0; i++) {
		FILE *file = fopen(paths[i], "re");

		if (file == NULL)
			continue;
		if (fscanf(file, "%llu", &number) != 1)
			number = 0;
		fclose(file);
	}
	return number;
}

void bench_counter_open(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof attributes,
		.config = counter_tracepoint(), .inherit = 1, .inherit_thread = 1,
	};

	if (attributes.config != 0)
		counter_fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
		                          PERF_FLAG_FD_CLOEXEC);
}

void bench_counter_close(void)
{
	if (counter_fd >= 0)
		close(counter_fd);
	counter_fd = -1;
}

uint64_t bench_counter(void)
{
	uint64_t count;

	if (counter_fd < 0 || read(counter_fd, &count, sizeof count) != sizeof count)
		return BENCH_UNKNOWN;
	return count - ++counter_own;
}

uint64_t bench_sleeps(void)
{
	struct rusage usage;

	counter_own++;
	return getrusage(RUSAGE_SELF, &usage) < 0 ? 0 : (uint64_t)usage.ru_nvcsw;
}

/* --- A bar, on stderr if that is a terminal; drawn between measurements ---------- */

#define BAR_WIDTH 24

static bool progress_drawn;

void bench_progress_show(double fraction, int64_t start_ns, const char *doing)
{
	int full = (int)(fraction * BAR_WIDTH);
	double spent = (double)(bench_now_ns() - start_ns) / 1e9;
	int left = fraction > 0 ? (int)(spent / fraction - spent + 0.5) : 0;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K[", stderr);
	for (int i = 0; i < BAR_WIDTH; i++)
		fputc(i < full ? '#' : '.', stderr);
	fprintf(stderr, "] %3d%%  ", (int)(fraction * 100));
	if (fraction > 0)
		fprintf(stderr, "%d:%02d left  ", left / 60, left % 60);
	fputs(doing, stderr);
	fflush(stderr);
	progress_drawn = true;
}

void bench_progress_clear(void)
{
	if (!progress_drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_drawn = false;
}

void bench_complain(const struct bench_workload *workload, const char *format, ...)
{
	va_list arguments;

	bench_progress_clear();
	fprintf(stderr, "xpoll bench %s: ", workload->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/* --- Room for descriptors -------------------------------------------------- */

/*
 * Room for stdin, stdout, stderr, the report, the descriptors of queues and workloads, and
 * inherited ones.
 */
#define OWN_DESCRIPTORS 64

/*
 * Raise the soft limit of open files, beyond the hard limit if that is allowed.  Returns the new
 * limit.
 */
static rlim_t limits_raise(rlim_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	if (limit.rlim_cur >= wanted)
		return limit.rlim_cur;
	if (limit.rlim_max < wanted &&
	    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ wanted, wanted }) == 0)
		return wanted;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur;
}

int bench_reserve_descriptors(const struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	int64_t more = workload->fds_more + OWN_DESCRIPTORS;
	int each = workload->fds_each + (workload->kind < BENCH_TARGETS ? 2 : 0);
	int64_t wanted = (int64_t)report->options->n * each + more;
	rlim_t allowed = limits_raise((rlim_t)wanted);

	if (allowed >= (rlim_t)wanted)
		return 0;
	bench_complain(workload,
	               "-n %d: too many; at most %lld %s are possible here: they need %lld "
	               "descriptors, and RLIMIT_NOFILE allows %llu (ulimit -Hn)",
	               report->options->n,
	               ((long long)allowed - more) / each,
	               workload->items, (long long)wanted,
	               (unsigned long long)allowed);
	return 2;
}

/* --- The process and the machine ------------------------------------------- */

/* The result of glibc's mallinfo2, which malloc.h of other C libraries does not declare. */
struct memory_info {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks;
	size_t keepcost;
};

uint64_t bench_memory_used(void)
{
	void *found = dlsym(RTLD_DEFAULT, "mallinfo2");
	struct memory_info (*ask)(void);
	struct memory_info info;

	if (found == NULL)
		return 0;
	/*
	 * Copy the pointer, because ISO C cannot convert a pointer to an object to one to a
	 * function.
	 */
	memcpy(&ask, &found, sizeof ask);
	info = ask();
	return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

int bench_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

/* Store the text after "model name :" in /proc/cpuinfo.  Returns false if there is none. */
static bool cpu_from_proc(char *cpu, size_t size)
{
	static const char key[] = "model name";
	char line[256];
	bool found = false;
	FILE *file = fopen("/proc/cpuinfo", "r");

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		const char *colon = strchr(line, ':');

		if (colon == NULL || strncmp(line, key, sizeof key - 1) != 0)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(cpu, size, "%.*s", (int)strcspn(colon, "\n"), colon);
		found = true;
	}
	fclose(file);
	return found;
}

void bench_machine_get(struct bench_machine *machine)
{
	struct utsname names;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	memset(&names, 0, sizeof names);
	if (uname(&names) < 0)
		memcpy(names.sysname, "unknown", sizeof "unknown");
	snprintf(machine->kernel, sizeof machine->kernel, "%s %s",
	         names.sysname, names.release);
	if (!cpu_from_proc(machine->cpu, sizeof machine->cpu))
		snprintf(machine->cpu, sizeof machine->cpu, "%s", names.machine);
	machine->cores = cores > 0 ? (int)cores : 1;
}

bool bench_library_load(struct bench_library *library)
{
	if (library->handle == NULL)
		library->handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (library->handle == NULL)
		return false;
	for (size_t i = 0; library->names[i] != NULL; i++) {
		void *address = dlsym(library->handle, library->names[i]);

		if (address == NULL)
			return false;
		memcpy((char *)library->functions + i * sizeof address, &address, sizeof address);
	}
	return true;
}

/* --- Signals --------------------------------------------------------------- */

/*
 * SIGINT and SIGTERM make the runner clean up and end.  A watchdog detects a wait that does not
 * return: the measured loops wait without a timeout, like real programs, so if a back end lost an
 * event they would hang for ever.  Every ten seconds SIGALRM checks whether an operation was done
 * since the last time.  If not, the interrupted wait fails and the runner reports it.  If threads
 * never return from a call of the library, the runner cannot end; then the next SIGALRM ends the
 * process.
 */
#define WATCHDOG_SECONDS 10

static volatile sig_atomic_t signals_stop;
static volatile sig_atomic_t signals_hang;
static volatile sig_atomic_t signals_alive;
static struct sigaction signals_old[3];
static const int signals_numbers[3] = { SIGINT, SIGTERM, SIGALRM };

static void signals_handle(int number)
{
	static const char stuck[] = "xpoll bench: stalled: a thread does not return\n";

	if (number != SIGALRM) {
		signals_stop = number;
	} else if (signals_hang != 0) {
		(void)!write(STDERR_FILENO, stuck, sizeof stuck - 1);
		_exit(1);
	} else if (signals_alive == 0) {
		signals_hang = 1;
	}
	signals_alive = 0;
}

static void signals_set_watchdog(int seconds)
{
	struct itimerval every;

	memset(&every, 0, sizeof every);
	every.it_interval.tv_sec = seconds;
	every.it_value.tv_sec = seconds;
	(void)setitimer(ITIMER_REAL, &every, NULL); /* cannot fail with these arguments */
}

void bench_signals_install(void)
{
	struct sigaction action;

	signals_stop = 0;
	signals_hang = 0;
	signals_alive = 1;
	memset(&action, 0, sizeof action);
	action.sa_handler = signals_handle; /* without SA_RESTART, so that waits return EINTR */
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals_numbers[i], &action, &signals_old[i]);
	signals_set_watchdog(WATCHDOG_SECONDS);
}

void bench_signals_restore(void)
{
	signals_set_watchdog(0);
	for (int i = 0; i < 3; i++)
		(void)sigaction(signals_numbers[i], &signals_old[i], NULL);
}

void bench_signals_progress(void)
{
	signals_alive = 1;
}

int bench_interrupted(void)
{
	return signals_stop;
}

bool bench_stalled(void)
{
	return signals_hang != 0;
}

bool bench_goes_on(int error)
{
	return error == EINTR && signals_stop == 0 && signals_hang == 0;
}

/* --- Threads and listeners --------------------------------------------------- */

int bench_thread_start(pthread_t *thread, void *(*main)(void *argument), void *argument)
{
	sigset_t all;
	sigset_t old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, main, argument);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -error;
}

int bench_await(int fd)
{
	eventfd_t value;

	while (eventfd_read(fd, &value) < 0)
		if (!bench_goes_on(errno))
			return -errno;
	return 0;
}

pid_t bench_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* the parent has ended before prctl */
			_exit(1);
	}
	return pid;
}

int bench_listen(int family, int flags, int backlog, struct bench_address *address)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	memset(address, 0, sizeof *address);
	address->len = sizeof address->to;
	address->to.any.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		address->to.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, &address->to.any, family == AF_INET ? sizeof address->to.in
	                                                         : sizeof(sa_family_t)) < 0 ||
	    listen(fd, backlog) < 0 || getsockname(fd, &address->to.any, &address->len) < 0)
		return -errno;
	return fd;
}

/* --- Pipes, or pairs of sockets, by the thousand --------------------------- */

int bench_pairs_open(enum bench_kind kind, int len, struct bench_pairs *pairs)
{
	const int socket_flags = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	pairs->at = calloc((size_t)len, sizeof *pairs->at);
	if (pairs->at == NULL)
		return -ENOMEM;
	for (; pairs->len < len; pairs->len++) {
		int fds[2];

		if ((kind == BENCH_SOCKETS ? socketpair(AF_UNIX, socket_flags, 0, fds)
		                           : pipe2(fds, O_NONBLOCK | O_CLOEXEC)) < 0)
			return -errno;
		pairs->at[pairs->len] = (struct bench_pair){ fds[0], fds[1] };
	}
	return 0;
}

void bench_pairs_close(struct bench_pairs *pairs)
{
	for (int i = 0; i < pairs->len; i++) {
		close(pairs->at[i].read_fd);
		close(pairs->at[i].write_fd);
	}
	free(pairs->at);
	pairs->at = NULL;
	pairs->len = 0;
}

void bench_pairs_drain(const struct bench_pairs *pairs)
{
	char rest[16];

	for (int i = 0; i < pairs->len; i++)
		while (read(pairs->at[i].read_fd, rest, sizeof rest) > 0)
			; /* bytes that the previous variant has left */
}

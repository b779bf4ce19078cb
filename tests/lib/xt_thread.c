/*
 * xt_thread: threads and children of a test, and its clock.
 */
#include "xt_internal.h"

#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#ifdef __linux__
#include <sys/syscall.h>
#endif

#define THREADS_MAX 128
#define ASLEEP_LOOKS 20000 /* give up then: the test must not depend on it */

struct xt_thread {
	pthread_t thread;
	void (*run)(void *);
	void *argument;
	atomic_int kernel_id;
	atomic_bool done;
	atomic_bool used;
	bool joined;
};

static struct xt_thread thread_table[THREADS_MAX];

static void thread_finished(void *argument)
{
	struct xt_thread *thread = argument;

	atomic_store(&thread->done, true);
}

static void *thread_main(void *argument)
{
	struct xt_thread *thread = argument;

	atomic_store(&thread->kernel_id, xt_thread_number());
	pthread_cleanup_push(thread_finished, thread);
	thread->run(thread->argument);
	pthread_cleanup_pop(1);
	return NULL;
}

static struct xt_thread *thread_free_slot(void)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (!atomic_load(&thread_table[i].used))
			return &thread_table[i];
	errno = EAGAIN;
	xt_broken("too many threads");
}

struct xt_thread *xt_start(void (*run)(void *), void *argument)
{
	struct xt_thread *thread = thread_free_slot();

	thread->run = run;
	thread->argument = argument;
	thread->joined = false;
	atomic_store(&thread->kernel_id, 0);
	atomic_store(&thread->done, false);
	errno = pthread_create(&thread->thread, NULL, thread_main, thread);
	if (errno)
		xt_broken("pthread_create");
	atomic_store(&thread->used, true);
	return thread;
}

void xt_join(struct xt_thread *thread)
{
	if (thread->joined)
		return;
	(void)pthread_join(thread->thread, NULL);
	thread->joined = true;
}

void xt_threads_reuse(void)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (thread_table[i].joined)
			atomic_store(&thread_table[i].used, false);
}

pthread_t xt_pthread(struct xt_thread *thread)
{
	return thread->thread;
}

bool xt_done(struct xt_thread *thread)
{
	return atomic_load(&thread->done);
}

void xt_threads_release(void)
{
	for (int i = 0; i < THREADS_MAX; i++) {
		if (!atomic_load(&thread_table[i].used))
			continue;
		xt_join(&thread_table[i]);
		atomic_store(&thread_table[i].used, false);
	}
}

void xt_threads_signal(int signal_number)
{
	for (int i = 0; i < THREADS_MAX; i++)
		if (atomic_load(&thread_table[i].used) &&
		    !atomic_load(&thread_table[i].done))
			(void)pthread_kill(thread_table[i].thread,
			                   signal_number);
}

/* The letter that the kernel gives for the state of a thread, or 0. */
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
	int seen = 0;

	for (int i = 0; i < ASLEEP_LOOKS && seen < 3; i++) {
		int kernel_id = atomic_load(&thread->kernel_id);

		if (xt_done(thread))
			return;
		seen = kernel_id && thread_state(kernel_id) == 'S' ? seen + 1
		                                                   : 0;
		(void)sched_yield();
	}
}

void xt_until(atomic_int *counter, int value)
{
	while (atomic_load(counter) < value)
		(void)sched_yield();
}

/* What a child runs counts, although it ends past the handlers that write it. */
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

int xt_thread_number(void)
{
#ifdef __linux__
	return (int)syscall(SYS_gettid);
#else
	return 0;
#endif
}

int xt_queue_signal(int thread_number, int number)
{
#ifdef __linux__
	siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_number,
	                    number, &info);
#else
	union sigval value = {.sival_int = 0};

	(void)thread_number;
	return sigqueue(getpid(), number, value);
#endif
}

int64_t xt_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		xt_broken("clock_gettime");
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

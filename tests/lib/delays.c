/*
 * Delays for tests, loaded by LD_PRELOAD.  They make the threads of a queue slow where the order of
 * threads matters: before each lock of a mutex, which a thread takes when it enters a queue and
 * when it returns from the kernel, and after each unlock, which precedes a sleep and the return
 * from a call.  Each delay is 1 to 100 us.
 *
 * XPOLL_DELAY_SEED selects the random sequence; each thread has its own.
 *
 * When a queue is destroyed its counters are checked: if there were more than 4 system calls of a
 * kind for each call and event, the test ends with an error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <xpoll.h>

enum {
	MOST_US = 100,
	SLACK_NS = 1000,
	EACH = 4,
	STARTUP = 64, /* system calls of each kind that are allowed in addition */
};

typedef int mutex_call(pthread_mutex_t *mutex);

static mutex_call *real_lock, *real_trylock, *real_unlock;
static uint64_t seed;
static atomic_uint threads;
static _Thread_local uint64_t state;
static _Thread_local bool locking; /* this thread has begun to take a mutex */

__attribute__((constructor)) static void delays_begin(void)
{
	const char *text = getenv("XPOLL_DELAY_SEED");

	seed = text ? strtoull(text, NULL, 0) : 1;
	/* Threads inherit this setting, without which a sleep of 1 us would take 50 us more. */
	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
}

/* Sleeps without being a cancellation point; a signal ends the sleep. */
static void delay(void)
{
	struct timespec time = {.tv_nsec = 0};
	int before = errno;

	if (state == 0)
		state = (seed << 32 | atomic_fetch_add(&threads, 1)) * 2 + 1;
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	time.tv_nsec = (long)((state >> 33) % MOST_US + 1) * 1000;
	(void)syscall(SYS_nanosleep, &time, NULL);
	errno = before;
}

static mutex_call *real(mutex_call **call, const char *name)
{
	if (!*call)
		*call = __extension__(mutex_call *)dlsym(RTLD_NEXT, name);
	return *call;
}

/* Delay once before a lock, even if the thread tries the lock many times in a row. */
static void before_lock(void)
{
	if (!locking)
		delay();
	locking = true;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	before_lock();
	return real(&real_lock, "pthread_mutex_lock")(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	before_lock();
	return real(&real_trylock, "pthread_mutex_trylock")(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int rc = real(&real_unlock, "pthread_mutex_unlock")(mutex);

	locking = false;
	delay();
	return rc;
}

/*
 * Check the counters of a queue.  A wait may return because of a change or a wake of another
 * thread, and each change may wake one.
 */
static void judge(const struct xpoll_stats *stats)
{
	uint64_t most = EACH * (stats->waits + stats->changes + stats->events) + STARTUP;

	if (stats->syscalls_wait <= most && stats->syscalls_change <= most)
		return;
	(void)fprintf(stderr, "delays, seed %ju: %ju waits and %ju changes in the kernel, for "
	              "%ju calls that wait, %ju changes and %ju events\n", (uintmax_t)seed,
	              (uintmax_t)stats->syscalls_wait, (uintmax_t)stats->syscalls_change,
	              (uintmax_t)stats->waits, (uintmax_t)stats->changes,
	              (uintmax_t)stats->events);
	_exit(EXIT_FAILURE);
}

void xpoll_destroy(struct xpoll *queue)
{
	void (*destroy)(struct xpoll *queue);
	int (*get_stats)(const struct xpoll *queue, struct xpoll_stats *stats, size_t size);
	struct xpoll_stats stats;

	*(void **)&destroy = dlsym(RTLD_NEXT, "xpoll_destroy");
	*(void **)&get_stats = dlsym(RTLD_NEXT, "xpoll_stats");
	if (queue && get_stats(queue, &stats, sizeof stats) == 0)
		judge(&stats);
	destroy(queue);
}

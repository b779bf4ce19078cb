/*
 * The library's threads, condition variables with a deadline, and the number that stands for the
 * process (sys/process.h).
 */
#include "sys/sys_threads.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/time.h"
#include "sys/process.h"
#include "sys/sys.h"
#include "windows/nt.h"

/* The argument of nt_thread_main, which frees it. */
struct nt_thread_start {
	void *(*run)(void *);
	void *argument;
};

static DWORD WINAPI nt_thread_main(void *opaque)
{
	struct nt_thread_start start = *(struct nt_thread_start *)opaque;

	xp_free(opaque);
	(void)start.run(start.argument);
	return 0;
}

int xp_sys_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	struct nt_thread_start *start = xp_zalloc(sizeof *start);

	if (!start)
		return -ENOMEM;
	*start = (struct nt_thread_start){run, argument};
	*thread = CreateThread(NULL, 0, nt_thread_main, start, 0, NULL);
	if (*thread)
		return 0;
	xp_free(start);
	return -EAGAIN;
}

void xp_sys_thread_join(pthread_t thread)
{
	(void)WaitForSingleObject(thread, INFINITE);
	CloseHandle(thread);
}

int xp_sys_cond_init(pthread_cond_t *condition)
{
	return pthread_cond_init(condition, NULL);
}

int xp_sys_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                     int64_t deadline_ns)
{
	int64_t left_ns;

	if (deadline_ns == XP_NEVER)
		return -pthread_cond_wait(condition, mutex);
	left_ns = deadline_ns - xp_sys_now();
	if (left_ns > 0 &&
	    SleepConditionVariableSRW(condition, mutex,
	                              (DWORD)xp_ms_ceil(left_ns), 0))
		return 0;
	return -ETIMEDOUT;
}

/*
 * Windows has no fork, so the number of this process is 1 once xp_process_once has run, and 0
 * before.
 */
static INIT_ONCE process_once = INIT_ONCE_STATIC_INIT;
static _Atomic uint32_t process_number;

_Atomic uint32_t *xp_process_page = &process_number;

void xp_process_once(void (*begin)(void))
{
	BOOL first = FALSE;

	if (!InitOnceBeginInitialize(&process_once, 0, &first, NULL) || !first)
		return;
	begin();
	atomic_store(&process_number, 1);
	(void)InitOnceComplete(&process_once, 0, NULL);
}

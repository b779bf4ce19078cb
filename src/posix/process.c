/*
 * Detects forks.  In a forked child the process's number is 0: the kernel clears the page that has
 * it or, where it cannot, a handler of pthread_atfork(3) clears it.  That handler takes no lock,
 * because a signal handler that interrupts a call of this library may fork, and would wait for ever
 * for a lock of that call.
 */
#include "sys/process.h"

#include <pthread.h>
#include <sched.h>

#include "sys/sys.h"

/* Value of the process's number while one thread runs `begin`; no process has this number. */
#define CLAIMED UINT32_MAX

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* the process's number, if the kernel cannot clear a page at fork(2) */
static _Atomic uint32_t fallback;
static uint32_t last_number;      /* the highest number among this process and its ancestors */

_Atomic uint32_t *xp_process_page = &fallback;

static void process_forked(void)
{
	atomic_store_explicit(&fallback, 0, memory_order_relaxed);
}

static void process_init(void)
{
	_Atomic uint32_t *page = xp_sys_wipe_on_fork_page();

	if (page)
		xp_process_page = page;
	else
		pthread_atfork(NULL, NULL, process_forked);
}

void xp_process_once(void (*begin)(void))
{
	uint32_t expected = 0;

	pthread_once(&once, process_init);
	if (atomic_compare_exchange_strong(xp_process_page, &expected, CLAIMED)) {
		begin();
		atomic_store(xp_process_page, ++last_number);
	}
	while (atomic_load(xp_process_page) == CLAIMED)
		sched_yield();
}

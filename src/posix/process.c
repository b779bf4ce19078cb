/*
 * Fork detection.  pthread_atfork handlers take no lock: a fork in a signal handler that
 * interrupted a call of this library would wait for ever.
 */
#include "sys/process.h"

#include <pthread.h>
#include <sched.h>

#include "sys/sys.h"

/* Not a process number: a thread is about to set the number of this process. */
#define CLAIMED UINT32_MAX

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t fallback; /* used if no page can be cleared by fork */
static uint32_t last_number;      /* the number of the last process in this line of descent */

_Atomic uint32_t *xp_process_page = &fallback;

static void process_forked(void)
{
	atomic_store_explicit(&fallback, 0, memory_order_relaxed);
}

static void process_init(void)
{
	_Atomic uint32_t *page = xp_sys_wiped_page();

	if (page)
		xp_process_page = page;
	else
		pthread_atfork(NULL, NULL, process_forked);
}

void xp_process_begin(void (*begin)(void))
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

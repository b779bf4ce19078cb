/*
 * Identifies the process.  The number is on a page that the kernel clears in forked children;
 * without such a page pthread_atfork clears it.
 */
#ifndef XP_SYS_PROCESS_H
#define XP_SYS_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

/* Points to a constant 0 until xp_process_begin. */
extern _Atomic uint32_t *xp_process_page;

/*
 * Returns a number that differs between a process and its forked children; 0 in a child that has
 * not called xp_process_begin.  This is a load, no system call.
 */
static inline uint32_t xp_process_current(void)
{
	return atomic_load_explicit(xp_process_page, memory_order_relaxed);
}

/*
 * Give this process a number if it has none.  Then, once per process and before any other thread
 * returns from this call, `begin` is called.
 */
void xp_process_begin(void (*begin)(void));

#endif

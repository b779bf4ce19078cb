/*
 * Which process is this?  A page that the kernel gives to forked children as
 * zeros holds a number; where there is no such page pthread_atfork clears it.
 */
#ifndef XP_SYS_PROCESS_H
#define XP_SYS_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

/* Points to a constant 0 until xp_process_begin. */
extern _Atomic uint32_t *xp_process_page;

/*
 * A number that differs between a process and its forked children; 0 in a
 * child that has not begun.  A load, no system call.
 */
static inline uint32_t xp_process_current(void)
{
	return atomic_load_explicit(xp_process_page, memory_order_relaxed);
}

/*
 * Take a number for this process if it has none.  Then, once per process and
 * before any other thread gets past this call, `begin` is called.
 */
void xp_process_begin(void (*begin)(void));

#endif

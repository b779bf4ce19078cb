/*
 * Detects that this process is a forked child: each process has a number, other than its process
 * ID, on a page that the kernel clears in forked children.  Without such a page a handler of
 * pthread_atfork(3) clears the number.
 */
#ifndef XP_SYS_PROCESS_H
#define XP_SYS_PROCESS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Points to the number of this process, which is on that page or in a plain variable; before the
 * first xp_process_once, to a number that is 0.
 */
extern _Atomic uint32_t *xp_process_page;

/*
 * Returns a number that differs between a process and its forked children; 0 before
 * xp_process_once, also in a child that has not called it yet.  Only loads a variable, makes no
 * system call.
 */
static inline uint32_t xp_process_number(void)
{
	return atomic_load_explicit(xp_process_page, memory_order_relaxed);
}

/*
 * Give this process a number if it has none.  The thread that does so calls `begin` first, and
 * other threads return only after `begin` has returned; so `begin` runs once per process, also in a
 * forked child.
 */
void xp_process_once(void (*begin)(void));

#endif

/* Waits for late changes, which other threads make without the lock: see late.h. */
#include "core/late.h"

#include "base/time.h"
#include "sys/sys.h"
#include "sys/sys_threads.h"

enum {
	TRIES = 1000,                 /* number of checks before the waiting thread sleeps */
	NAP_NS = XP_NS_PER_MS / 20,   /* length of a sleep between two checks */
};

/*
 * The thread that makes a late change cannot signal a condition: the queue may be destroyed once
 * the thread has decremented slot->late.  So the waiting thread sleeps for a short time and checks
 * again.
 */
void xp_nap(int64_t ns)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody;

	if (xp_sys_cond_init(&nobody) < 0)
		return;
	pthread_mutex_lock(&mutex);
	(void)xp_sys_cond_wait(&nobody, &mutex, xp_sys_now() + ns);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&nobody);
}

void xp_late_await_busy(struct xp_slot *slot)
{
	for (int tries = 0; atomic_load_explicit(&slot->late, memory_order_acquire) > 0; tries++) {
		if (tries < TRIES)
			xp_relax();
		else
			xp_nap(NAP_NS);
	}
}

void xp_late_await_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		xp_late_await(slot);
}

void xp_late_forget_all(struct xpoll *queue)
{
	struct xp_slot *slot;

	for (int fd = 0; (slot = xp_slots_walk(queue, &fd)); fd++)
		atomic_store(&slot->late, 0);
}

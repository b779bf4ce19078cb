/* The calls that end the waits of other threads. */
#include <errno.h>

#include "base/result.h"
#include "base/time.h"
#include "core/enter.h"
#include "core/sleep.h"
#include "os/sys.h"
#include "os/sys_threads.h"

/*
 * Who destroys the queue waits for those that write, mostly for a microsecond.  They
 * may be signal handlers, which cannot signal a condition: so it looks again and again.
 */
#define WRITERS_EVERY_NS XP_NS_PER_MS

int xpoll_wake(struct xpoll *queue)
{
	unsigned state;

	if (!queue)
		return xp_result(-EINVAL);
	if (queue->process != xp_process_current())
		return xp_result(-EBADF);
	state = atomic_load(&queue->wake.state);
	while (!(state & XP_WAKE_PENDING)) {
		unsigned next = (state | XP_WAKE_PENDING) + XP_WAKE_WRITER;

		if (!atomic_compare_exchange_weak(&queue->wake.state, &state, next))
			continue;
		queue->ops->wake(queue->backend);
		/* Nothing of the queue after this: who returned for it may destroy it. */
		atomic_fetch_sub(&queue->wake.state, XP_WAKE_WRITER);
		break;
	}
	return 0;
}

void xp_wake_await_writers(struct xpoll *queue)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t nobody;

	if (atomic_load(&queue->wake.state) < XP_WAKE_WRITER ||
	    xp_sys_cond_init(&nobody) < 0)
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&queue->wake.state) >= XP_WAKE_WRITER)
		(void)xp_sys_cond_wait(&nobody, &mutex, xp_sys_now() + WRITERS_EVERY_NS);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&nobody);
}

/*
 * One sleeper is kicked here, and each that comes out kicks the next (xp_kick_all,
 * xp_kick_next); followers are signalled together.  xp_wait_over, or xp_turn_take, ends
 * the wait of each.
 */
int xpoll_wake_all(struct xpoll *queue)
{
	int rc = queue ? xp_enter(queue) : -EINVAL;

	if (rc < 0)
		return xp_result(rc);
	queue->wake.all++;
	xp_kick_all(queue);
	xp_leave(queue);
	return 0;
}

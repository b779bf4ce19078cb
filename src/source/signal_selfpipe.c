/*
 * Self-pipes: descriptors, one for each queue, that signal handlers make readable.
 *
 * A handler may run at any time and on any thread, even on one that is opening or closing a
 * self-pipe.  So the memory of a self-pipe is never freed, but reused.  And a handler counts itself
 * as a user while it uses the descriptor, which is closed by the last user.
 */
#include "source/signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/assert.h"

/* Flags of a self-pipe's `state`; the other bits are the number of its users. */
#define SELFPIPE_FREE    0x80000000u /* unused: belongs to no queue, and has no descriptor */
#define SELFPIPE_CLOSING 0x40000000u /* the last user closes the descriptor */

/*
 * Most of the cost of a signal would be one write and one read of the descriptor, but only a
 * sleeping thread needs them.  So handlers write to the descriptor only while the self-pipe is
 * armed.  A thread that is about to sleep first arms it and then checks whether a signal has come;
 * a handler first records the signal and then checks whether the self-pipe is armed.  Both orders
 * are sequentially consistent, so one of the two sees what the other did.
 */
enum selfpipe_armed {
	SELFPIPE_DISARMED,
	SELFPIPE_ARMED,
	SELFPIPE_WRITTEN, /* armed, and a handler has written to the descriptor or is about to */
};

/* One self-pipe.  [I] immutable, [a] atomic. */
struct xp_selfpipe {
	struct xp_selfpipe *next;      /* [I] the next self-pipe in the list `selfpipes` */
	/* [a] the end that becomes readable; changes only while SELFPIPE_FREE */
	atomic_int fd;
	/* [a] the end that handlers write to; changes only while SELFPIPE_FREE */
	atomic_int write_fd;
	atomic_uint state;             /* [a] SELFPIPE_ flags, and number of users */
	atomic_uint armed;             /* [a] enum selfpipe_armed */
	atomic_uint signalled;         /* [a] 1: a wanted signal has come since xp_selfpipe_clear */
	atomic_uint wants[XP_SIGNALS]; /* [a] indexed by signal number; 1: the queue wants it */
};

/* Held while a self-pipe is opened: guards additions to the list, and the choice of a free one. */
static pthread_mutex_t selfpipe_lock = PTHREAD_MUTEX_INITIALIZER;
static struct xp_selfpipe *_Atomic selfpipes; /* list of all self-pipes, free ones, too */

struct xp_wakefd xp_selfpipe_wakefd(const struct xp_selfpipe *selfpipe)
{
	struct xp_wakefd wakefd = {
		.fd = atomic_load(&selfpipe->fd),
		.write_fd = atomic_load(&selfpipe->write_fd),
	};

	return wakefd;
}

/* End a use of the self-pipe.  If SELFPIPE_CLOSING is set, the last user closes the descriptor. */
static void selfpipe_leave(struct xp_selfpipe *selfpipe)
{
	struct xp_wakefd wakefd = xp_selfpipe_wakefd(selfpipe);
	unsigned closing = SELFPIPE_CLOSING;

	if (atomic_fetch_sub(&selfpipe->state, 1) == (SELFPIPE_CLOSING | 1) &&
	    atomic_compare_exchange_strong(&selfpipe->state, &closing, SELFPIPE_FREE))
		xp_wakefd_close(&wakefd);
}

/*
 * Record the signal if the self-pipe wants it, and make an armed self-pipe readable.  If another
 * signal's handler interrupts this and leaves it by longjmp(3), the descriptor is never closed, and
 * a sleeping thread may not be woken for the signal.
 */
static void selfpipe_signal(struct xp_selfpipe *selfpipe, unsigned number)
{
	struct xp_wakefd wakefd;
	unsigned state = atomic_fetch_add(&selfpipe->state, 1);
	unsigned armed = SELFPIPE_ARMED;

	if (!(state & (SELFPIPE_FREE | SELFPIPE_CLOSING)) &&
	    atomic_load(&selfpipe->wants[number]) &&
	    !atomic_exchange(&selfpipe->signalled, 1) &&
	    atomic_compare_exchange_strong(&selfpipe->armed, &armed, SELFPIPE_WRITTEN)) {
		wakefd = xp_selfpipe_wakefd(selfpipe);
		xp_wakefd_signal(&wakefd);
	}
	selfpipe_leave(selfpipe);
}

void xp_selfpipes_signal(unsigned number)
{
	for (struct xp_selfpipe *selfpipe = atomic_load(&selfpipes); selfpipe;
	     selfpipe = selfpipe->next)
		selfpipe_signal(selfpipe, number);
}

/* Returns a free self-pipe, or a new one, which is added to the list; NULL: no memory. */
static struct xp_selfpipe *selfpipe_find(void)
{
	struct xp_selfpipe *selfpipe = atomic_load(&selfpipes);

	while (selfpipe && !(atomic_load(&selfpipe->state) & SELFPIPE_FREE))
		selfpipe = selfpipe->next;
	if (selfpipe)
		return selfpipe;
	selfpipe = xp_zalloc(sizeof *selfpipe);
	if (!selfpipe)
		return NULL;
	atomic_store(&selfpipe->state, SELFPIPE_FREE);
	selfpipe->next = atomic_load(&selfpipes);
	atomic_store(&selfpipes, selfpipe);
	return selfpipe;
}

int xp_selfpipe_open(struct xp_selfpipe **opened)
{
	struct xp_wakefd wakefd;
	struct xp_selfpipe *selfpipe;
	int rc = xp_wakefd_open(&wakefd);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&selfpipe_lock);
	selfpipe = selfpipe_find();
	if (selfpipe) {
		atomic_store(&selfpipe->fd, wakefd.fd);
		atomic_store(&selfpipe->write_fd, wakefd.write_fd);
		atomic_store(&selfpipe->armed, SELFPIPE_ARMED);
		atomic_store(&selfpipe->signalled, 0);
		atomic_fetch_and(&selfpipe->state, ~SELFPIPE_FREE);
	}
	pthread_mutex_unlock(&selfpipe_lock);
	if (!selfpipe) {
		xp_wakefd_close(&wakefd);
		return -ENOMEM;
	}
	*opened = selfpipe;
	return 0;
}

bool xp_selfpipe_arm(struct xp_selfpipe *selfpipe)
{
	unsigned disarmed = SELFPIPE_DISARMED;

	atomic_compare_exchange_strong(&selfpipe->armed, &disarmed, SELFPIPE_ARMED);
	return atomic_load(&selfpipe->signalled);
}

void xp_selfpipe_disarm(struct xp_selfpipe *selfpipe)
{
	unsigned armed = SELFPIPE_ARMED;

	atomic_compare_exchange_strong(&selfpipe->armed, &armed, SELFPIPE_DISARMED);
}

/*
 * A handler that began before this call may write to the descriptor after the call: then the
 * descriptor is readable once without a reason.
 */
void xp_selfpipe_clear(struct xp_selfpipe *selfpipe, bool reported)
{
	struct xp_wakefd wakefd = xp_selfpipe_wakefd(selfpipe);
	unsigned written = SELFPIPE_WRITTEN;

	if (reported || atomic_load(&selfpipe->armed) == SELFPIPE_WRITTEN)
		xp_wakefd_clear(&wakefd);
	atomic_compare_exchange_strong(&selfpipe->armed, &written, SELFPIPE_ARMED);
	atomic_store(&selfpipe->signalled, 0);
}

void xp_selfpipe_close(struct xp_selfpipe *selfpipe)
{
	XP_ASSERT(!(atomic_load(&selfpipe->state) & (SELFPIPE_FREE | SELFPIPE_CLOSING)));
	/*
	 * Count this thread as a user, like a handler, and then let it leave: the last user to
	 * leave closes the descriptor.
	 */
	atomic_fetch_add(&selfpipe->state, SELFPIPE_CLOSING + 1);
	selfpipe_leave(selfpipe);
}

bool xp_selfpipe_want(struct xp_selfpipe *selfpipe, unsigned number, bool want)
{
	return (atomic_exchange(&selfpipe->wants[number], want ? 1 : 0) != 0) != want;
}

void xp_selfpipes_init_process(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	selfpipe_lock = unlocked;
	for (struct xp_selfpipe *selfpipe = atomic_load(&selfpipes); selfpipe;
	     selfpipe = selfpipe->next) {
		for (unsigned i = 0; i < XP_SIGNALS; i++)
			atomic_store(&selfpipe->wants[i], 0);
		atomic_store(&selfpipe->state, SELFPIPE_FREE);
	}
}

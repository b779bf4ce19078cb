/*
 * Self-pipes: a descriptor for each queue that signal handlers make readable.
 *
 * A handler may run at any time and on any thread, even on one that is opening or closing a
 * self-pipe.  So a self-pipe is never freed, only reused; and a handler counts itself as a user
 * while it uses the descriptor, which the last user closes.
 */
#include "source/signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/assert.h"

/* Flags of a self-pipe's state, beside the number of handlers that use it. */
#define SELFPIPE_FREE    0x80000000u /* not in use: it has no descriptor */
#define SELFPIPE_CLOSING 0x40000000u /* the last handler that uses it closes it */

/*
 * A write and a read for each signal would be most of its cost, and only a sleeping thread needs
 * them.  So handlers write to the descriptor only while it is armed.  A thread that is about to
 * sleep arms it, and then checks whether a signal has come; a handler records the signal, and then
 * checks whether the self-pipe is armed.  With sequential consistency one of them sees the other.
 */
enum selfpipe_armed {
	SELFPIPE_DISARMED,
	SELFPIPE_ARMED,
	SELFPIPE_WRITTEN, /* armed, and written or about to be */
};

/* [I] immutable, [a] atomic. */
struct xp_selfpipe {
	struct xp_selfpipe *next;      /* [I] */
	atomic_int fd;                 /* [a] the two ends of a wake-up descriptor, */
	atomic_int write_fd;           /* [a] set while it is free */
	atomic_uint state;             /* [a] */
	atomic_uint armed;             /* [a] enum selfpipe_armed */
	atomic_uint signalled;         /* [a] 1: a wanted signal has arrived since the last clear */
	atomic_uint wants[XP_SIGNALS]; /* [a] 0 or 1 */
};

static pthread_mutex_t selfpipe_lock = PTHREAD_MUTEX_INITIALIZER; /* held while one is opened */
static struct xp_selfpipe *_Atomic selfpipes;

struct xp_wakefd xp_selfpipe_wakefd(const struct xp_selfpipe *selfpipe)
{
	struct xp_wakefd wakefd = {
		.fd = atomic_load(&selfpipe->fd),
		.write_fd = atomic_load(&selfpipe->write_fd),
	};

	return wakefd;
}

static void selfpipe_leave(struct xp_selfpipe *selfpipe)
{
	struct xp_wakefd wakefd = xp_selfpipe_wakefd(selfpipe);
	unsigned closing = SELFPIPE_CLOSING;

	if (atomic_fetch_sub(&selfpipe->state, 1) == (SELFPIPE_CLOSING | 1) &&
	    atomic_compare_exchange_strong(&selfpipe->state, &closing, SELFPIPE_FREE))
		xp_wakefd_close(&wakefd);
}

/* A handler that is left by longjmp in here leaks a descriptor, and nothing else. */
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

/* Returns a free self-pipe, or a new one, which is added to the list. */
static struct xp_selfpipe *selfpipe_find(void)
{
	struct xp_selfpipe *selfpipe = atomic_load(&selfpipes);

	while (selfpipe && !(atomic_load(&selfpipe->state) & SELFPIPE_FREE))
		selfpipe = selfpipe->next;
	if (selfpipe)
		return selfpipe;
	selfpipe = xp_alloc(sizeof *selfpipe);
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

/* A slow handler may write after this; then the descriptor is readable once without reason. */
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
	/* Enter like a handler that writes: the last one to leave closes the self-pipe. */
	atomic_fetch_add(&selfpipe->state, SELFPIPE_CLOSING + 1);
	selfpipe_leave(selfpipe);
}

bool xp_selfpipe_want(struct xp_selfpipe *selfpipe, unsigned number, bool want)
{
	return (atomic_exchange(&selfpipe->wants[number], want ? 1 : 0) != 0) != want;
}

void xp_selfpipes_begin(void)
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

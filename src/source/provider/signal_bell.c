/*
 * Bells: a descriptor for each queue that signals' handlers make readable.
 *
 * A handler may run at any moment and on any thread, also on one that is just
 * opening or closing a bell.  So bells are never freed, only used again; and a
 * handler counts itself in while it uses the descriptor, which is closed by
 * whoever is the last to see it in use.
 */
#include "source/signal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/assert.h"

/* In a bell's state, beside the number of those who are ringing it. */
#define BELL_FREE    0x80000000u /* nobody's: it has no descriptor */
#define BELL_CLOSING 0x40000000u /* the last one who rings it closes it */

/* [I] immutable, [a] atomic. */
struct xp_bell {
	struct xp_bell *next;          /* [I] */
	atomic_int fd;                 /* [a] a beacon's two numbers, */
	atomic_int lamp;               /* [a] set while it is free */
	atomic_uint state;             /* [a] */
	atomic_uint rung;              /* [a] since it was answered */
	atomic_uint wants[XP_SIGNALS]; /* [a] 0 or 1 */
};

static pthread_mutex_t bell_lock = PTHREAD_MUTEX_INITIALIZER; /* of opening */
static struct xp_bell *_Atomic bells;

struct xp_beacon xp_bell_beacon(const struct xp_bell *bell)
{
	struct xp_beacon beacon = {
		.fd = atomic_load(&bell->fd),
		.lamp = atomic_load(&bell->lamp),
	};

	return beacon;
}

static void bell_leave(struct xp_bell *bell)
{
	struct xp_beacon beacon = xp_bell_beacon(bell);
	unsigned closing = BELL_CLOSING;

	if (atomic_fetch_sub(&bell->state, 1) == (BELL_CLOSING | 1) &&
	    atomic_compare_exchange_strong(&bell->state, &closing, BELL_FREE))
		xp_beacon_close(&beacon);
}

/* A handler left by longjmp in here costs a descriptor, and nothing else. */
static void bell_ring(struct xp_bell *bell, unsigned number)
{
	struct xp_beacon beacon;
	unsigned state = atomic_fetch_add(&bell->state, 1);

	if (!(state & (BELL_FREE | BELL_CLOSING)) &&
	    atomic_load(&bell->wants[number]) &&
	    !atomic_exchange(&bell->rung, 1)) {
		beacon = xp_bell_beacon(bell);
		xp_beacon_light(&beacon);
	}
	bell_leave(bell);
}

void xp_bells_ring(unsigned number)
{
	for (struct xp_bell *bell = atomic_load(&bells); bell;
	     bell = bell->next)
		bell_ring(bell, number);
}

/* A free bell, or a new one at the head of the list. */
static struct xp_bell *bell_find(void)
{
	struct xp_bell *bell = atomic_load(&bells);

	while (bell && !(atomic_load(&bell->state) & BELL_FREE))
		bell = bell->next;
	if (bell)
		return bell;
	bell = xp_alloc(sizeof *bell);
	if (!bell)
		return NULL;
	atomic_store(&bell->state, BELL_FREE);
	bell->next = atomic_load(&bells);
	atomic_store(&bells, bell);
	return bell;
}

int xp_bell_open(struct xp_bell **opened)
{
	struct xp_beacon beacon;
	struct xp_bell *bell;
	int rc = xp_beacon_open(&beacon);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&bell_lock);
	bell = bell_find();
	if (bell) {
		atomic_store(&bell->fd, beacon.fd);
		atomic_store(&bell->lamp, beacon.lamp);
		atomic_store(&bell->rung, 0);
		atomic_fetch_and(&bell->state, ~BELL_FREE);
	}
	pthread_mutex_unlock(&bell_lock);
	if (!bell) {
		xp_beacon_close(&beacon);
		return -ENOMEM;
	}
	*opened = bell;
	return 0;
}

void xp_bell_answer(struct xp_bell *bell)
{
	struct xp_beacon beacon = xp_bell_beacon(bell);

	xp_beacon_dim(&beacon);
	atomic_store(&bell->rung, 0);
}

void xp_bell_close(struct xp_bell *bell)
{
	XP_ASSERT(!(atomic_load(&bell->state) & (BELL_FREE | BELL_CLOSING)));
	/* As one who rings: the last of them closes it. */
	atomic_fetch_add(&bell->state, BELL_CLOSING + 1);
	bell_leave(bell);
}

bool xp_bell_want(struct xp_bell *bell, unsigned number, bool want)
{
	return (atomic_exchange(&bell->wants[number], want ? 1 : 0) != 0) != want;
}

void xp_bells_begin(void)
{
	static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	bell_lock = unlocked;
	for (struct xp_bell *bell = atomic_load(&bells); bell;
	     bell = bell->next) {
		for (unsigned i = 0; i < XP_SIGNALS; i++)
			atomic_store(&bell->wants[i], 0);
		atomic_store(&bell->state, BELL_FREE);
	}
}

/*
 * TIMER: one-shot and periodic timers.
 *
 * A timer runs if it is enabled and will expire again; then it is in the heap of its clock.  When
 * it expires, it leaves the heap; when its event is delivered, the number of its expirations is
 * computed from the clock, and it returns to the heap.  So a timer whose events nobody takes costs
 * nothing, and no timer drifts.
 *
 * A timer whose deadline is extended, like an idle timeout at each activity, keeps its place in the
 * heap, by the old deadline, until it is the first one; then it moves.  So the deadline of its heap
 * entry is `deadline_ns` or earlier.
 *
 * Deadlines of the real-time clock are converted to the monotonic clock, and converted again when
 * the real-time clock is set.  On Linux the kernel reports that by a descriptor, one for each
 * queue, which the queue's first such timer opens.
 *
 * As in FreeBSD, an ADD restarts an existing timer and discards its count of expirations, and a
 * period of 0 is the shortest possible in its unit.
 */
#include "source/source.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/compiler.h"
#include "base/heap.h"
#include "base/time.h"
#include "sys/sys.h"

#define UNITS (XPOLL_NOTE_SECONDS | XPOLL_NOTE_MSECONDS | \
               XPOLL_NOTE_USECONDS | XPOLL_NOTE_NSECONDS)
/* With either of these fflags the timer has an absolute time, and expires once. */
#define ABSOLUTE_NOTES (XPOLL_NOTE_ABSTIME | XPOLL_NOTE_MONOTONIC)

/*
 * If no descriptor reports that the real-time clock was set, the queue calls timer_due at least
 * this often, to convert the deadlines of that clock again.
 */
#define STEP_CHECK_NS XP_NS_PER_SEC

enum { MONOTONIC, REALTIME, CLOCKS };

enum { HEAP_MOVES_MOST = 16 }; /* most extended timers that one call of timers_deadline moves */

/* This source's state in a queue: the heaps of running timers, and when the first one expires. */
struct timers {
	struct xp_heap heaps[CLOCKS];
	uint32_t counts[CLOCKS]; /* number of timers of each clock, in its heap or not */
	int64_t due_ns;          /* the time last passed to xp_host.set_due */
	int64_t first_ns;        /* earliest deadline in the heap of the real-time clock */
	int64_t first_due_ns;    /* first_ns on the monotonic clock: see to_monotonic */
	struct xp_source_fd step; /* readable when the real-time clock was set; fd -1: not open */
	/* this system does not report that the clock was set, so `step` stays closed */
	bool step_missing;
};

/* Returns the clock of a timer's deadline: the real-time clock only with ABSTIME alone. */
static unsigned clock_of(uint32_t fflags)
{
	return (fflags & ABSOLUTE_NOTES) == XPOLL_NOTE_ABSTIME ? REALTIME : MONOTONIC;
}

/* The units of time, indexed by their bits in fflags. */
static const struct unit {
	int64_t ns; /* nanoseconds of a unit */
	/* smallest number of units whose nanoseconds exceed 63 bits; 0: invalid, several bits */
	uint64_t limit;
} timer_units[UNITS + 1] = {
	[XPOLL_NOTE_SECONDS] = {XP_NS_PER_SEC, XP_NEVER / XP_NS_PER_SEC + 1},
	[XPOLL_NOTE_MSECONDS] = {XP_NS_PER_MS, XP_NEVER / XP_NS_PER_MS + 1},
	[0] = {XP_NS_PER_MS, XP_NEVER / XP_NS_PER_MS + 1},
	[XPOLL_NOTE_USECONDS] = {1000, XP_NEVER / 1000 + 1},
	[XPOLL_NOTE_NSECONDS] = {1, (uint64_t)XP_NEVER + 1},
};

static const struct unit *unit_of(uint32_t fflags)
{
	return &timer_units[fflags & UNITS];
}

/*
 * Returns `data`, a number of units, in nanoseconds; XP_NEVER if 64 bits are too few for that;
 * -EINVAL if the number is negative or the unit is invalid.
 */
static int64_t span_ns(uint32_t fflags, int64_t data)
{
	const struct unit *unit = unit_of(fflags);

	if (XP_LIKELY((uint64_t)data < unit->limit))
		return data * unit->ns;
	return data < 0 || !unit->limit ? -EINVAL : XP_NEVER;
}

/*
 * Returns the time of the monotonic clock at which the real-time clock reaches first_ns; at most
 * STEP_CHECK_NS from now if nothing reports that the real-time clock was set: convert again then.
 */
static int64_t to_monotonic(const struct timers *timers, int64_t first_ns)
{
	int64_t realtime_ns;
	int64_t now_ns;
	int64_t due_ns;

	if (first_ns == XP_NEVER)
		return XP_NEVER;
	/*
	 * Read the monotonic clock last: then a delay between the two readings makes a timer late,
	 * not early.
	 */
	realtime_ns = xp_sys_realtime();
	now_ns = xp_sys_now();
	due_ns = first_ns <= realtime_ns ? now_ns
		: xp_deadline(now_ns, first_ns - realtime_ns);
	if (timers->step_missing && due_ns > now_ns + STEP_CHECK_NS)
		due_ns = now_ns + STEP_CHECK_NS;
	return due_ns;
}

static struct xp_heap *heap_of(struct timers *timers, uint32_t fflags)
{
	return clock_of(fflags) == MONOTONIC ? &timers->heaps[MONOTONIC] : &timers->heaps[REALTIME];
}

static struct xp_registration *timers_first(const struct xp_heap *heap)
{
	return XP_CONTAINER_OF(xp_heap_first(heap), struct xp_registration, timer);
}

/*
 * Returns the earliest deadline in the heap, after moving extended timers to their present place.
 * At most HEAP_MOVES_MOST are moved; then the result may be too early, which costs another call of
 * `due`.
 */
static int64_t timers_deadline(struct xp_heap *heap)
{
	for (int i = 0; heap->len && i < HEAP_MOVES_MOST; i++) {
		struct xp_registration *reg = timers_first(heap);

		if (reg->deadline_ns == xp_heap_deadline(heap))
			break;
		xp_heap_move(heap, &reg->timer, reg->deadline_ns);
	}
	return xp_heap_deadline(heap);
}

/* Pass the earliest deadline of all timers to the queue, if it has changed. */
static XP_NOINLINE void timers_update_due(struct xpoll *queue)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);
	int64_t due_ns = timers_deadline(&timers->heaps[MONOTONIC]);
	int64_t first_ns = timers_deadline(&timers->heaps[REALTIME]);

	if (XP_UNLIKELY(first_ns != timers->first_ns)) {
		timers->first_ns = first_ns;
		timers->first_due_ns = to_monotonic(timers, first_ns);
	}
	if (timers->first_due_ns < due_ns)
		due_ns = timers->first_due_ns;
	if (due_ns == timers->due_ns)
		return;
	timers->due_ns = due_ns;
	xp_host.set_due(queue, XP_SOURCE_TIMER, due_ns);
}

/*
 * Convert the earliest deadline of the real-time clock again, because that clock may have been set.
 */
static void timers_convert_again(struct xpoll *queue, struct timers *timers)
{
	timers->first_ns = XP_NEVER;
	timers->first_due_ns = XP_NEVER;
	timers_update_due(queue);
}

/*
 * Put the timer into the heap of its clock, unless it is disabled, waits for delivery, or will not
 * expire.
 */
static void timer_enqueue(struct xpoll *queue, struct xp_heap *heap, struct xp_registration *reg)
{
	XP_ASSERT(!xp_heap_has(&reg->timer));
	if (reg->deadline_ns == XP_NEVER || reg->active || reg->flags & XPOLL_DISABLE)
		return;
	xp_heap_add(heap, &reg->timer, reg->deadline_ns);
	if (XP_UNLIKELY(xp_heap_is_first(&reg->timer)))
		timers_update_due(queue);
}

/* Take the timer out of its heap.  Returns true if the timer was the first one. */
static bool timer_dequeue(struct xp_heap *heap, struct xp_registration *reg)
{
	bool first = xp_heap_is_first(&reg->timer);

	if (xp_heap_has(&reg->timer))
		xp_heap_remove(heap, &reg->timer);
	return first;
}

/*
 * Activate up to `room` timers that have expired.  Extended timers at the top of the heap are moved
 * to their present place, and do not count.
 */
static void timers_expire(struct xpoll *queue, struct xp_heap *heap,
                          int64_t now_ns, int room)
{
	while (room > 0 && xp_heap_deadline(heap) <= now_ns && heap->len) {
		struct xp_registration *reg = timers_first(heap);

		if (reg->deadline_ns > xp_heap_deadline(heap)) {
			xp_heap_move(heap, &reg->timer, reg->deadline_ns);
			continue;
		}
		room--;
		xp_heap_remove(heap, &reg->timer);
		xp_host.set_active(queue, reg, true);
	}
}

static void timer_due(struct xpoll *queue, int64_t now_ns, int room)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);

	timers_expire(queue, &timers->heaps[MONOTONIC], now_ns, room);
	if (timers->heaps[REALTIME].len)
		timers_expire(queue, &timers->heaps[REALTIME],
		              xp_sys_realtime(), room);
	timers_convert_again(queue, timers);
}

/* Called when `step` is readable: the real-time clock was set. */
static void realtime_clock_was_set(struct xpoll *queue, struct xp_source_fd *watch)
{
	struct timers *timers = XP_CONTAINER_OF(watch, struct timers, step);
	uint64_t count;

	/*
	 * This read fails with ECANCELED, because the clock was set, and makes the descriptor
	 * unreadable again.
	 */
	(void)xp_sys_read(watch->fd, &count, sizeof count);
	timers_convert_again(queue, timers);
}

/*
 * Open the descriptor that reports the setting of the real-time clock, if the system has one, and
 * have the queue watch it.  Returns 0 or an error.
 */
static XP_COLD int watch_realtime_clock(struct xpoll *queue, struct timers *timers)
{
	int rc;

	if (timers->step.fd >= 0 || timers->step_missing)
		return 0;
	rc = xp_sys_clock_step_fd();
	if (rc == -ENOSYS || rc == -EINVAL || rc == -EPERM) {
		timers->step_missing = true;
		return 0;
	}
	if (rc < 0)
		return rc;
	timers->step.fd = rc;
	rc = xp_host.watch(queue, &timers->step);
	if (rc < 0) {
		xp_sys_close(timers->step.fd);
		timers->step.fd = -1;
	}
	return rc;
}

/* Returns the queue's state of TIMER, allocated at the first call; NULL: no memory. */
static struct timers *timers_make(struct xpoll *queue)
{
	void **state = xp_host.state(queue, XP_SOURCE_TIMER);
	struct timers *timers = *state;

	if (XP_LIKELY(timers))
		return timers;
	timers = xp_zalloc(sizeof *timers);
	if (!timers)
		return NULL;
	timers->due_ns = XP_NEVER;
	timers->first_ns = XP_NEVER;
	timers->first_due_ns = XP_NEVER;
	timers->step.fd = -1;
	timers->step.ready = realtime_clock_was_set;
	*state = timers;
	return timers;
}

/*
 * Make room in the heap for one more timer of the clock that these fflags select, and count it.
 * For the real-time clock, also open the descriptor that reports the setting of that clock, unless
 * it is open.
 */
static XP_INLINE int timers_prepare(struct xpoll *queue, struct timers *timers, uint32_t fflags)
{
	uint32_t *count = &timers->counts[clock_of(fflags)];
	int rc = xp_heap_reserve(heap_of(timers, fflags), *count + 1);

	if (XP_UNLIKELY(rc == 0 && clock_of(fflags) == REALTIME))
		rc = watch_realtime_clock(queue, timers);
	*count += rc == 0;
	return rc;
}

/* Store a change; span: the deadline (ABSOLUTE_NOTES), or the time from now, in ns. */
static XP_INLINE void timer_set(struct xpoll *queue, struct xp_registration *reg,
                                const struct xpoll_event *change, int64_t span)
{
	reg->fflags = change->fflags;
	reg->data = change->data;
	reg->deadline_ns = change->fflags & ABSOLUTE_NOTES ? span
		: xp_deadline(xp_host.now(queue), span);
}

static int timer_attach(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	struct timers *timers = timers_make(queue);
	int64_t span = span_ns(change->fflags, change->data);
	int rc = span < 0 ? (int)span : !timers ? -ENOMEM
		: timers_prepare(queue, timers, change->fflags);

	if (rc < 0)
		return rc;
	/* An absolute timer has CLEAR only if the program sets it, like on FreeBSD. */
	if (change->fflags & ABSOLUTE_NOTES && !(change->flags & XPOLL_CLEAR))
		reg->flags &= (uint16_t)~XPOLL_CLEAR;
	timer_set(queue, reg, change, span);
	timer_enqueue(queue, heap_of(timers, change->fflags), reg);
	return 0;
}

/*
 * An ADD of an existing timer restarts it; other changes have no effect here.  A running timer that
 * is extended stays where it is in the heap.
 */
static int timer_touch(struct xpoll *queue, struct xp_registration *reg,
                       const struct xpoll_event *change)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);
	struct xp_heap *before = heap_of(timers, reg->fflags);
	struct xp_heap *after = heap_of(timers, change->fflags);
	bool first = xp_heap_is_first(&reg->timer);
	int64_t before_ns = reg->deadline_ns;
	int64_t span = span_ns(change->fflags, change->data);
	int rc = 0;

	if (!(change->flags & XPOLL_ADD))
		return 0;
	if (span < 0)
		return (int)span;
	if (before != after)
		rc = timers_prepare(queue, timers, change->fflags);
	if (rc < 0)
		return rc;
	timers->counts[clock_of(reg->fflags)] -= before != after;
	timer_set(queue, reg, change, span);
	if (before != after || !xp_heap_has(&reg->timer)) {
		timer_dequeue(before, reg);
		xp_host.set_active(queue, reg, false);
		timer_enqueue(queue, after, reg);
	} else if (reg->deadline_ns == XP_NEVER) {
		timer_dequeue(after, reg);
	} else if (reg->deadline_ns < before_ns) {
		xp_heap_move(after, &reg->timer, reg->deadline_ns);
	}
	if (first || xp_heap_is_first(&reg->timer))
		timers_update_due(queue);
	return 0;
}

static void timer_switched(struct xpoll *queue, struct xp_registration *reg)
{
	struct xp_heap *heap = heap_of(*xp_host.state(queue, XP_SOURCE_TIMER), reg->fflags);

	if (timer_dequeue(heap, reg))
		timers_update_due(queue);
	timer_enqueue(queue, heap, reg);
}

static void timer_detach(struct xpoll *queue, struct xp_registration *reg)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);

	timers->counts[clock_of(reg->fflags)]--;
	if (timer_dequeue(heap_of(timers, reg->fflags), reg))
		timers_update_due(queue);
}

static void timer_prefetch(struct xpoll *queue, const struct xp_registration *reg)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);

	if (timers)
		xp_heap_prefetch(heap_of(timers, reg->fflags), &reg->timer);
}

/*
 * Returns how often the timer has expired since its last event, and sets the deadline to the next
 * expiration.
 */
static int64_t timer_take_expirations(struct xp_registration *reg)
{
	int64_t period_ns = span_ns(reg->fflags, reg->data);
	int64_t late_ns;
	int64_t missed;

	if (reg->fflags & ABSOLUTE_NOTES || reg->flags & XPOLL_ONESHOT) {
		reg->deadline_ns = XP_NEVER;
		return 1;
	}
	if (period_ns == 0)
		period_ns = unit_of(reg->fflags)->ns;
	late_ns = xp_sys_now() - reg->deadline_ns;
	missed = late_ns > 0 ? late_ns / period_ns : 0;
	reg->deadline_ns = xp_deadline(
		reg->deadline_ns + missed * period_ns, period_ns);
	return missed + 1;
}

/* Store the number of expirations since the last event, and let a periodic timer run again. */
static int timer_collect(struct xpoll *queue, struct xp_registration *reg,
                         struct xpoll_event *event)
{
	struct timers *timers = *xp_host.state(queue, XP_SOURCE_TIMER);

	event->fflags = 0;
	event->data = timer_take_expirations(reg);
	xp_host.set_active(queue, reg, false);
	/* With DISPATCH the queue disables the timer next, so leave it out of the heap. */
	if (!(reg->flags & XPOLL_DISPATCH))
		timer_enqueue(queue, heap_of(timers, reg->fflags), reg);
	return 0;
}

static bool timer_supports(uint32_t fflags)
{
	return unit_of(fflags)->limit != 0;
}

static void timer_fini(struct xpoll *queue, void *state)
{
	struct timers *timers = state;

	(void)queue;
	if (timers->step.fd >= 0)
		xp_sys_close(timers->step.fd);
	for (int i = 0; i < CLOCKS; i++)
		xp_heap_fini(&timers->heaps[i]);
	xp_free(timers);
}

/* Continue the timer in a forked child.  A timer that expired before the fork is due at once. */
static int timer_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	struct timers *timers = timers_make(queue);
	int rc = timers ? timers_prepare(queue, timers, reg->fflags) : -ENOMEM;

	if (rc < 0)
		return rc;
	reg->timer.place = 0; /* not in a heap: the parent's heap, copied by fork(2), was freed */
	timer_enqueue(queue, heap_of(timers, reg->fflags), reg);
	return 0;
}

static const struct xp_note_name timer_names[] = {
	{XPOLL_NOTE_SECONDS, "SECONDS"}, {XPOLL_NOTE_MSECONDS, "MSECONDS"},
	{XPOLL_NOTE_USECONDS, "USECONDS"}, {XPOLL_NOTE_NSECONDS, "NSECONDS"},
	{XPOLL_NOTE_ABSTIME, "ABSTIME"}, {XPOLL_NOTE_MONOTONIC, "MONOTONIC"},
	{0, NULL},
};

const struct xp_source_ops xp_source_timer = {
	.filter = XPOLL_FILT_TIMER,
	.id = XP_SOURCE_TIMER,
	.name = "TIMER",
	.notes = timer_names,
	.implied = XPOLL_CLEAR,
	.fflags = UNITS | ABSOLUTE_NOTES,
	.size = sizeof(struct xp_registration),
	.attach = timer_attach,
	.touch = timer_touch,
	.detach = timer_detach,
	.prefetch = timer_prefetch,
	.collect = timer_collect,
	.supports = timer_supports,
	.switched = timer_switched,
	.due = timer_due,
	.fini = timer_fini,
	.inherit = timer_inherit,
};

/* The outer kqueue, which contains the back end's queue. */
#include "bsd/kqueue_state.h"

#include "base/assert.h"
#include "base/time.h"
#include "sys/sys.h"

/* most events of the outer kqueue: of the inner kqueue, the wake-up descriptor, the timer */
enum { KQ_OUTER_HELD = 3 };

static int kq_outer_change(int queue_fd, struct kevent *change)
{
	int rc = xp_sys_kevent_change(queue_fd, change, 1);

	return rc < 0 ? rc : -(int)change->data;
}

int xp_kq_add_own_fd(int queue_fd, int fd, unsigned flags)
{
	struct kevent change;

	xp_kq_ev_set(&change, (uint64_t)fd, EVFILT_READ, EV_ADD | flags, 0, 0);
	return kq_outer_change(queue_fd, &change);
}

void xp_kq_outer_init(struct xp_kq_outer *outer)
{
	outer->fd = -1;
	outer->attention.fd = -1;
	outer->attention.write_fd = -1;
	outer->alarm_ns = XP_NEVER;
	outer->wants_attention = false;
	outer->due = false;
	outer->is_attention_readable = false;
}

void xp_kq_outer_fini(struct xp_kq_outer *outer, bool ours)
{
	if (ours && outer->fd >= 0)
		xp_sys_close(outer->fd);
	xp_wakefd_close(&outer->attention);
}

static int kq_outer_fd(void *opaque)
{
	struct xp_kq_set *set = opaque;
	struct xp_kq_outer *outer = &set->outer;
	int fd;
	int rc;

	if (outer->fd >= 0)
		return outer->fd;
	fd = xp_sys_kqueue();
	if (fd < 0)
		return fd;
	rc = xp_wakefd_open(&outer->attention);
	if (rc == 0)
		rc = xp_kq_add_own_fd(fd, outer->attention.fd, 0);
	if (rc == 0)
		rc = xp_kq_add_own_fd(fd, set->fd, 0);
	if (rc < 0) {
		xp_wakefd_close(&outer->attention);
		xp_kq_outer_init(outer);
		xp_sys_close(fd);
		return rc;
	}
	outer->fd = fd;
	return fd;
}

/* Make the wake-up descriptor readable exactly if the queue wants attention or the alarm is due. */
static void kq_outer_update(struct xp_kq_outer *outer)
{
	bool readable = outer->wants_attention || outer->due;
	bool was = outer->is_attention_readable;

	XP_ASSERT(outer->attention.fd >= 0);
	outer->is_attention_readable = readable;
	if (readable && !was)
		xp_wakefd_signal(&outer->attention);
	if (readable || !was)
		return;
	xp_wakefd_clear(&outer->attention);
	xp_kq_outer_refresh(outer);
}

/*
 * Take the events of the outer kqueue, which makes the kernel remove reports that no longer hold.
 * If the timer's event was among them, the alarm is due, and the outer kqueue has to stay readable:
 * make the wake-up descriptor readable instead of the timer.
 */
void xp_kq_outer_refresh(struct xp_kq_outer *outer)
{
	struct kevent events[KQ_OUTER_HELD];
	int count = xp_sys_kevent_now(outer->fd, NULL, 0, events, KQ_OUTER_HELD);

	for (int i = 0; i < count; i++)
		outer->due |= events[i].filter == EVFILT_TIMER;
	if (outer->due && !outer->is_attention_readable)
		kq_outer_update(outer);
}

static void kq_outer_set_attention(void *opaque, bool on)
{
	struct xp_kq_set *set = opaque;

	set->outer.wants_attention = on;
	kq_outer_update(&set->outer);
}

/* Convert to whole milliseconds, which every BSD accepts; some refuse 0 and very large times. */
static int64_t alarm_ms(int64_t left_ns)
{
	int64_t left_ms = left_ns / XP_NS_PER_MS;

	/* Round up, so that the timer does not expire early; a time beyond INT32_MAX ms is cut. */
	return left_ms >= INT32_MAX ? INT32_MAX : left_ms + 1;
}

/*
 * Set the alarm.  A timer that has expired keeps the outer kqueue readable until the kqueue is
 * polled.  If the time has passed already, no timer is set, because it would expire a millisecond
 * late: the wake-up descriptor is made readable at once.
 */
static int kq_outer_set_alarm(void *opaque, int64_t deadline_ns)
{
	struct xp_kq_outer *outer = &((struct xp_kq_set *)opaque)->outer;
	int64_t now_ns = xp_sys_now();
	struct kevent change;
	bool early = outer->due && outer->alarm_ns > now_ns;
	int rc;

	XP_ASSERT(outer->fd >= 0);
	/*
	 * `early` is true if the timer was set to INT32_MAX ms, the longest possible time, and
	 * expired before the alarm: set the timer again.
	 */
	if (deadline_ns == outer->alarm_ns && !early)
		return 0;
	/*
	 * Keep a timer that expires earlier than the new time: to be readable too early is
	 * harmless, and each extension of a deadline saves a system call.
	 */
	if (outer->alarm_ns < deadline_ns && outer->alarm_ns > now_ns && !early)
		return 0;
	if (outer->alarm_ns != XP_NEVER) {
		xp_kq_ev_set(&change, 0, EVFILT_TIMER, EV_DELETE, 0, 0);
		(void)kq_outer_change(outer->fd, &change);
		outer->alarm_ns = XP_NEVER;
	}
	outer->due = deadline_ns <= now_ns;
	kq_outer_update(outer);
	if (outer->due)
		outer->alarm_ns = deadline_ns;
	if (outer->due || deadline_ns == XP_NEVER)
		return 0;
	xp_kq_ev_set(&change, 0, EVFILT_TIMER, EV_ADD | EV_ONESHOT, 0, 0);
	change.data = alarm_ms(deadline_ns - now_ns);
	rc = kq_outer_change(outer->fd, &change);
	if (rc == 0)
		outer->alarm_ns = deadline_ns;
	return rc;
}

const struct xp_outer_ops xp_kq_outer_ops = {
	.fd = kq_outer_fd,
	.set_attention = kq_outer_set_attention,
	.set_alarm = kq_outer_set_alarm,
};

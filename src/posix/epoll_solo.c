/*
 * Opens, changes and reads the epoll sets of solo entries, entries for one filter: see
 * posix/solo.h.
 */
#include "posix/solo.h"

#include <errno.h>

#include "base/assert.h"
#include "posix/sys_epoll.h"
#include "sys/sys.h"

/*
 * Token with which the main set reports solo set i, the epoll set inside it with entries for filter
 * i; larger than the token of any descriptor.
 */
#define SOLO_TOKEN(i) (XP_TOKEN_WAKE - 1 - (uint64_t)(i))

void xp_solo_init(struct xp_solo *solo, struct xp_counters *counters)
{
	solo->counters = counters;
	atomic_init(&solo->was_opened, false);
	atomic_init(&solo->may_have_unread, false);
	for (int i = 0; i < XP_SOLO_SETS; i++)
		atomic_init(&solo->fds[i], -1);
}

void xp_solo_fini(struct xp_solo *solo)
{
	for (int i = 0; i < XP_SOLO_SETS; i++)
		if (atomic_load(&solo->fds[i]) >= 0)
			xp_sys_close(atomic_load(&solo->fds[i]));
}

bool xp_solo_owns(const struct xp_solo *solo, int fd)
{
	for (int i = 0; i < XP_SOLO_SETS; i++)
		if (atomic_load(&solo->fds[i]) == fd && fd >= 0)
			return true;
	return false;
}

/* Returns the index of the set for the filter of XP_WATCH_SOLO in `watch`. */
static int solo_index(uint32_t watch)
{
	unsigned which = watch / XP_WATCH_SOLO(0) & 7u;

	XP_ASSERT(which == 1 || which == 2 || which == 4);
	return (int)(which >> 1);
}

static int solo_control(struct xp_solo *solo, int op, int fd, uint32_t watch, uint64_t token)
{
	uint32_t events = (watch & XP_WATCH_BITS) | (watch & XP_WATCH_EDGE ? EPOLLET : 0);

	xp_count(&solo->counters->syscalls_change);
	return xp_sys_epoll_ctl(atomic_load(&solo->fds[solo_index(watch)]), op, fd, events, token);
}

/*
 * Add a solo set (entries for one filter) to the main set, level-triggered: while the solo set has
 * unread reports, the main set reports it.
 */
static int solo_add_to_main(int main_fd, int set_fd, int i)
{
	return xp_sys_epoll_ctl(main_fd, EPOLL_CTL_ADD, set_fd, EPOLLIN, SOLO_TOKEN(i));
}

int xp_solo_open(struct xp_solo *solo, int main_fd, int i)
{
	int set_fd;
	int rc;

	if (atomic_load(&solo->fds[i]) >= 0)
		return 0;
	set_fd = xp_sys_epoll_create();
	if (set_fd < 0)
		return set_fd;
	/*
	 * Store the set's descriptor before the set is added to the main set, because a wait may
	 * get a report about the set before epoll_ctl(2) returns.
	 */
	atomic_store(&solo->fds[i], set_fd);
	atomic_store(&solo->was_opened, true);
	rc = solo_add_to_main(main_fd, set_fd, i);
	if (rc < 0) {
		atomic_store(&solo->fds[i], -1);
		xp_sys_close(set_fd);
	}
	return rc;
}

int xp_solo_attach(struct xp_solo *solo, int main_fd, int fd, uint32_t watch, uint64_t token)
{
	int rc = xp_solo_open(solo, main_fd, solo_index(watch));

	if (rc == 0)
		rc = solo_control(solo, EPOLL_CTL_ADD, fd, watch, token);
	/*
	 * EEXIST: the set has an entry for this descriptor already.  Either it belongs to a closed
	 * file of which a duplicate is open, or xp_solo_renew could not open a new set.
	 */
	return rc == -EEXIST ? xp_solo_change(solo, fd, watch, token) : rc;
}

int xp_solo_change(struct xp_solo *solo, int fd, uint32_t watch, uint64_t token)
{
	return solo_control(solo, watch & XP_WATCH_BITS ? EPOLL_CTL_MOD : EPOLL_CTL_DEL,
	                    fd, watch, token);
}

/*
 * Store up to `room` reports of one solo set, whose entries are for filter i, marked with
 * XP_WATCH_SOLO(i).  Returns their number; 0 also on an error.
 */
static int solo_harvest_one(struct xp_solo *solo, int i, struct xp_fired *fired, int room)
{
	int count;

	XP_ASSERT(room > 0);
	xp_count_shared(&solo->counters->syscalls_check);
	count = xp_sys_epoll_now(atomic_load(&solo->fds[i]), (void *)fired, room);
	for (int k = 0; k < count; k++)
		fired[k].events |= XP_WATCH_SOLO(i);
	return count < 0 ? 0 : count;
}

int xp_solo_harvest_unread(struct xp_solo *solo, struct xp_fired *fired, int cap)
{
	int most = (cap + 1) / 2;
	int count = 0;

	for (int i = 0; i < XP_SOLO_SETS; i++)
		if (atomic_load(&solo->fds[i]) >= 0 && count < most)
			count += solo_harvest_one(solo, i, fired + count, most - count);
	/*
	 * With room for one report, leave the next call to the main set, which would starve
	 * otherwise.
	 */
	atomic_store_explicit(&solo->may_have_unread, count == most && cap > 1,
	                      memory_order_relaxed);
	return count;
}

int xp_solo_expand(struct xp_solo *solo, struct xp_fired *fired, int count, int cap)
{
	int ready[XP_SOLO_SETS];
	int sets = 0;
	int kept = 0;

	for (int i = 0; i < count; i++) {
		uint64_t which = XP_TOKEN_WAKE - 1 - fired[i].token;

		if (which < XP_SOLO_SETS)
			ready[sets++] = (int)which;
		else
			fired[kept++] = fired[i];
	}
	if (sets == 0)
		return kept;
	/*
	 * Read one ready set after the other, and leave room for at least one report of each that
	 * follows.
	 */
	while (sets-- > 0)
		kept += solo_harvest_one(solo, ready[sets], fired + kept, cap - kept - sets);
	XP_ASSERT(kept <= cap);
	if (kept == cap)
		atomic_store_explicit(&solo->may_have_unread, true, memory_order_relaxed);
	return kept;
}

void xp_solo_renew(struct xp_solo *solo, int main_fd)
{
	for (int i = 0; i < XP_SOLO_SETS; i++) {
		int set_fd = atomic_load(&solo->fds[i]);
		int fresh = set_fd < 0 ? -1 : xp_sys_epoll_create();

		if (set_fd < 0)
			continue;
		/*
		 * If no new set can be opened, the old set stays with its entries; xp_solo_attach
		 * then modifies them.
		 */
		if (fresh >= 0)
			(void)xp_sys_move_fd(fresh, set_fd);
		if (solo_add_to_main(main_fd, set_fd, i) < 0) {
			atomic_store(&solo->fds[i], -1);
			xp_sys_close(set_fd);
		}
	}
}

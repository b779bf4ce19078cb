/*
 * The entries of a set (struct ep_entry), one for each descriptor in the set, and their
 * registrations in the set's xpoll queue.
 *
 * An entry has up to three registrations in the queue, called directions: READ (POLLIN and
 * POLLRDHUP), WRITE (POLLOUT) and EXCEPT (POLLPRI).  All three have the modes of the entry: EPOLLET
 * is XPOLL_CLEAR, and EPOLLONESHOT is XPOLL_DISPATCH with XPOLL_WHOLE, by which a report disables
 * all three.  An EPOLL_CTL_MOD that keeps the modes enables and disables directions
 * (enable_only_wanted).  That mostly makes no system call, because the queue passes the changes to
 * the kernel with its next wait.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "ep.h"

/*
 * Where the system has no POLLRDHUP, xpoll uses the bit XP_OWN_RDHUP (from CMakeLists.txt) for the
 * same condition, and so does this file.
 */
#ifdef POLLRDHUP
#define EP_POLLRDHUP POLLRDHUP
#else
#define EP_POLLRDHUP XP_OWN_RDHUP
#endif

enum {
	EP_ENTRIES_PER_PAGE = 256, /* entries that one allocation holds */
	EP_READ_BITS = POLLIN | EP_POLLRDHUP, /* POLL* bits that a READ registration can have */
};

int ep_poll_bits(uint32_t events)
{
	return (events & (EPOLLIN | EPOLLRDNORM) ? POLLIN : 0) |
		(events & (EPOLLPRI | EPOLLRDBAND) ? POLLPRI : 0) |
		(events & (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND) ? POLLOUT : 0) |
		(events & EPOLLRDHUP ? EP_POLLRDHUP : 0);
}

uint32_t ep_events(int bits)
{
	return (bits & POLLIN ? EPOLLIN | EPOLLRDNORM : 0u) |
		(bits & POLLPRI ? EPOLLPRI | EPOLLRDBAND : 0u) |
		(bits & POLLOUT ? EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND : 0u) |
		(bits & EP_POLLRDHUP ? EPOLLRDHUP : 0u) |
		(bits & POLLERR ? EPOLLERR : 0u) | (bits & POLLHUP ? EPOLLHUP : 0u);
}

/* Returns the xpoll_ctl flags for the EPOLLET and EPOLLONESHOT that `events` has. */
static int modes_of(uint32_t events)
{
	return (events & EPOLLET ? XPOLL_CLEAR : 0) |
		(events & EPOLLONESHOT ? XPOLL_DISPATCH | XPOLL_WHOLE : 0);
}

/* --- Entries ------------------------------------------------------------------------- */

static struct ep_entry *entry_at(struct ep_set *set, int fd)
{
	int page = fd / EP_ENTRIES_PER_PAGE;

	return fd >= 0 && page < set->pages_len && set->pages[page]
		? &set->pages[page][fd % EP_ENTRIES_PER_PAGE] : NULL;
}

struct ep_entry *ep_entry_find(struct ep_set *set, int fd)
{
	struct ep_entry *entry = entry_at(set, fd);

	return entry && entry->is_live ? entry : NULL;
}

struct ep_entry *ep_entry_make(struct ep_set *set, int fd)
{
	int page = fd / EP_ENTRIES_PER_PAGE;

	if (page >= set->pages_len) {
		int len = page < 8 ? 8 : 2 * page;
		struct ep_entry **pages = realloc(set->pages, (size_t)len * sizeof *pages);

		if (!pages)
			return NULL;
		for (int i = set->pages_len; i < len; i++)
			pages[i] = NULL;
		set->pages = pages;
		set->pages_len = len;
	}
	if (!set->pages[page])
		set->pages[page] = calloc(EP_ENTRIES_PER_PAGE, sizeof *set->pages[page]);
	return entry_at(set, fd);
}

void ep_entries_free(struct ep_set *set)
{
	for (int i = 0; i < set->pages_len; i++)
		free(set->pages[i]);
	free(set->pages);
	set->pages = NULL;
	set->pages_len = 0;
	atomic_store(&set->live_entries, 0);
	atomic_store(&set->nested_entries, 0);
	atomic_store(&set->has_deferred, false);
}

/*
 * Called when the entry ends or changes: discards set->deferred, the record that the next wait
 * would deliver, if that record belongs to this entry.
 */
static void drop_deferred(struct ep_set *set, const struct ep_entry *entry)
{
	if ((uintptr_t)set->deferred.data == entry->serial)
		atomic_store(&set->has_deferred, false);
}

void ep_entry_end(struct ep_set *set, struct ep_entry *entry)
{
	entry->is_live = false;
	drop_deferred(set, entry);
	atomic_fetch_sub(&set->live_entries, 1);
	atomic_fetch_sub(&set->nested_entries, entry->is_nested);
}

void ep_forget(struct ep_set *set, int fd)
{
	struct ep_entry *entry;

	pthread_mutex_lock(&set->lock);
	entry = ep_entry_find(set, fd);
	if (entry)
		ep_entry_end(set, entry);
	pthread_mutex_unlock(&set->lock);
}

/* --- Registrations of the queue --------------------------------------------------------- */

/*
 * Call xpoll_ctl(3) for an entry.  Passes the entry's serial as udata, by which ep_deliver detects
 * records of entries that have ended.  Returns 0 or a negative errno value.
 */
static int queue_ctl_once(struct ep_set *set, int op, int bits, int fd,
                          const struct ep_entry *entry)
{
	return xpoll_ctl(set->queue, op, bits, fd, (void *)entry->serial) < 0 ? -errno : 0;
}

/*
 * Like queue_ctl_once, but if the queue refuses the change with ENOTSUP while POLLPRI is
 * registered, end the registration of POLLPRI, and make the change without POLLPRI.  When the queue
 * reports another condition of the entry, ep_deliver finds POLLPRI by poll(2).
 *
 * On OpenBSD poll(2) accepts POLLPRI for any file, but kqueue(2) accepts it only for a socket.  The
 * back ends poll and select use a kqueue for some combinations of bits, so the registration of
 * POLLPRI may succeed, and later make a change of another bit fail.
 */
static int queue_ctl(struct ep_set *set, int op, int bits, int fd, struct ep_entry *entry)
{
	int rc = queue_ctl_once(set, op, bits, fd, entry);

	if (rc != -ENOTSUP || !(entry->registered_bits & POLLPRI))
		return rc;
	(void)queue_ctl_once(set, XPOLL_DELETE, POLLPRI, fd, entry);
	entry->registered_bits &= ~POLLPRI;
	rc = bits == POLLPRI ? 0 : queue_ctl_once(set, op, bits & ~POLLPRI, fd, entry);
	/*
	 * A DELETE that failed with -ENOTSUP has deleted the bits in spite of the error.  For these
	 * bits the second DELETE, above, returns -ENOENT: treat that as success.
	 */
	return rc == -ENOENT && op == XPOLL_DELETE ? 0 : rc;
}

void ep_unregister(struct ep_set *set, int fd, struct ep_entry *entry)
{
	if (entry->registered_bits)
		(void)queue_ctl(set, XPOLL_DELETE, entry->registered_bits, fd, entry);
	if (entry->is_bare)
		(void)queue_ctl(set, XPOLL_DELETE, 0, fd, entry);
	entry->registered_bits = 0;
	entry->is_bare = false;
}

/*
 * Add `bits`, which is not 0, to the entry's registrations in the queue.  Leaves out POLLPRI if the
 * system has no filter for it.  Leaves out POLLOUT if kqueue(2) refuses it, as for a pipe without a
 * reader, or on OpenBSD for a FIFO that is open for reading only.  If a requested bit was left out,
 * ep_deliver calls poll(2) for that bit when the queue reports the entry.  Returns 0 or a negative
 * errno value.
 */
static int add_bits(struct ep_set *set, int fd, struct ep_entry *entry, int bits)
{
	int op = XPOLL_ADD | modes_of(entry->events);
	int rc;

	while ((rc = bits ? queue_ctl(set, op, bits, fd, entry) : 0) < 0) {
		int refused = rc == -ENOTSUP && bits & POLLPRI ? POLLPRI : POLLOUT;

		if ((rc != -ENOTSUP && rc != -EPIPE) || !(bits & refused))
			break;
		bits &= ~refused;
	}
	if (rc == 0)
		entry->registered_bits |= (short)bits;
	/*
	 * If READ is registered with bits now, that registration has replaced a READ without bits:
	 * set is_bare to false.
	 */
	entry->is_bare &= !(entry->registered_bits & EP_READ_BITS);
	return rc;
}

/*
 * want: the POLL* bits that the program requests now.  Returns true if none of them is a registered
 * bit of READ or WRITE, so that at most EXCEPT would be enabled.  The queue would then report no
 * errors and hang-ups, which Linux reports for every entry.  So the caller keeps READ enabled, or
 * registers or enables READ without bits.
 */
static bool needs_bare(const struct ep_entry *entry, int want)
{
	return !(entry->registered_bits & want & (EP_READ_BITS | POLLOUT));
}

/*
 * Register READ without bits, which reports errors and hang-ups only.  If READ was registered with
 * bits, this replaces that registration.  Returns 0 or a negative errno value.
 */
static int register_bare(struct ep_set *set, int fd, struct ep_entry *entry)
{
	int rc = queue_ctl(set, XPOLL_ADD | modes_of(entry->events), 0, fd, entry);

	if (rc == 0) {
		entry->is_bare = true;
		entry->registered_bits &= ~EP_READ_BITS;
	}
	return rc;
}

int ep_register(struct ep_set *set, int fd, struct ep_entry *entry)
{
	int bits = ep_poll_bits(entry->events);
	int rc = 0;

	if (entry->is_nested)
		bits &= POLLIN;
	if (bits)
		rc = add_bits(set, fd, entry, bits);
	if (rc == 0 && needs_bare(entry, bits))
		rc = register_bare(set, fd, entry);
	if (rc < 0)
		ep_unregister(set, fd, entry);
	return rc;
}

/*
 * Change the bits of the READ registration to those in `want`.  Adds the new bits before deleting
 * the old ones, so that the registration does not end in between.  Returns 0 or a negative errno
 * value.
 */
static int change_read(struct ep_set *set, int fd, struct ep_entry *entry, int want)
{
	int gone = entry->registered_bits & EP_READ_BITS & ~want;
	int rc = add_bits(set, fd, entry, want & EP_READ_BITS);

	if (rc == 0 && gone) {
		rc = queue_ctl(set, XPOLL_DELETE, gone, fd, entry);
		entry->registered_bits &= (short)~gone;
	}
	return rc;
}

/*
 * READ without bits is a registration that reports errors and hang-ups only.  If needs_bare returns
 * true, make this registration, or enable it if it exists.  If needs_bare returns false, disable
 * the registration, but do not delete it: the queue mostly passes DISABLE and ENABLE to the kernel
 * with its next wait, so pausing and resuming POLLOUT mostly costs no system calls of their own.
 * Returns 0 or a negative errno value.
 */
static int switch_bare(struct ep_set *set, int fd, struct ep_entry *entry, int want)
{
	if (!needs_bare(entry, want))
		return entry->is_bare ? queue_ctl(set, XPOLL_DISABLE, 0, fd, entry) : 0;
	return entry->is_bare ? queue_ctl(set, XPOLL_ENABLE, 0, fd, entry)
	                      : register_bare(set, fd, entry);
}

/*
 * Do an EPOLL_CTL_MOD that changes neither EPOLLET nor EPOLLONESHOT: enable the directions in
 * `want`, so that the queue reports every condition that holds, even one that it has reported
 * before, and disable the other directions.  Returns 0 or a negative errno value.
 *
 * Exception: READ stays enabled although `want` has neither POLLIN nor POLLRDHUP, if WRITE is not
 * enabled, because the entry would not report errors and hang-ups without READ.  So pausing and
 * resuming POLLIN mostly costs no system calls of their own.  If input arrives during the pause,
 * ep_enable_again replaces READ by READ without bits, which reports errors and hang-ups only.
 */
static int enable_only_wanted(struct ep_set *set, int fd, struct ep_entry *entry, int want)
{
	int on = entry->registered_bits & want;
	int fresh = want & ~entry->registered_bits & ~EP_READ_BITS;
	int off, rc = 0;

	if (want & EP_READ_BITS &&
	    (entry->registered_bits & EP_READ_BITS) != (want & EP_READ_BITS)) {
		rc = change_read(set, fd, entry, want);
		on &= ~EP_READ_BITS;
	}
	if (rc == 0 && fresh)
		rc = add_bits(set, fd, entry, fresh);
	if (needs_bare(entry, want) && entry->registered_bits & EP_READ_BITS)
		on |= entry->registered_bits & EP_READ_BITS;
	else if (rc == 0)
		rc = switch_bare(set, fd, entry, want);
	off = entry->registered_bits & ~(want | on);
	if (rc == 0 && off)
		rc = queue_ctl(set, XPOLL_DISABLE, off, fd, entry);
	if (rc == 0 && on)
		rc = queue_ctl(set, XPOLL_ENABLE, on, fd, entry);
	return rc;
}

/*
 * Called if a change of the entry has failed with rc: register the entry as it was in `before`.
 * End the entry instead if the queue has found that fd was closed or reused (rc is -ENOENT), or if
 * fd cannot be registered again.
 */
static void restore_entry(struct ep_set *set, int fd, struct ep_entry *entry,
                          const struct ep_entry *before, int rc)
{
	ep_unregister(set, fd, entry);
	entry->events = before->events;
	entry->data = before->data;
	if (rc == -ENOENT || ep_register(set, fd, entry) < 0)
		ep_entry_end(set, entry);
}

int ep_modify(struct ep_set *set, int fd, struct ep_entry *entry, const struct epoll_event *event)
{
	struct ep_entry before = *entry;
	bool same = modes_of(entry->events) == modes_of(event->events);
	int want = ep_poll_bits(event->events) & (entry->is_nested ? POLLIN : ~0);
	int rc = -EPIPE;

	/*
	 * If the record that is held for the next wait belongs to this entry, discard it: after the
	 * change the queue reports each condition that still holds.
	 */
	drop_deferred(set, entry);
	entry->events = event->events;
	entry->data = event->data.u64;
	if (same)
		rc = enable_only_wanted(set, fd, entry, want);
	/*
	 * rc still has its initial value, -EPIPE, if EPOLLET or EPOLLONESHOT changes.  It is
	 * -EPIPE, too, if the kernel refuses WRITE of a pipe without a reader.  In both cases end
	 * all registrations, and make new ones.
	 */
	if (rc == -EPIPE) {
		ep_unregister(set, fd, entry);
		rc = ep_register(set, fd, entry);
	}
	if (rc < 0)
		restore_entry(set, fd, entry, &before, rc);
	return rc;
}

void ep_register_again(struct ep_set *set, int fd, struct ep_entry *entry)
{
	struct stat status;

	ep_unregister(set, fd, entry);
	if (ep_register(set, fd, entry) < 0 || fstat(fd, &status) < 0) {
		ep_entry_end(set, entry);
		return;
	}
	entry->device = status.st_dev;
	entry->inode = status.st_ino;
}

void ep_enable_again(struct ep_set *set, int fd, struct ep_entry *entry, int bits)
{
	int wanted = ep_poll_bits(entry->events);
	/*
	 * Enable all requested directions in two cases.  First: `bits` has an error or hang-up,
	 * which the queue reports for all directions.  Second: the entry is one-shot, so the report
	 * of `bits` has disabled all directions of the entry.
	 */
	bool all = bits & (POLLERR | POLLHUP) || entry->events & EPOLLONESHOT;
	int on = entry->registered_bits & (all ? wanted : wanted & bits);

	if (on)
		(void)queue_ctl(set, XPOLL_ENABLE, on, fd, entry);
	if (!needs_bare(entry, wanted))
		return;
	if (!entry->is_bare)
		(void)register_bare(set, fd, entry);
	else if (all)
		(void)queue_ctl(set, XPOLL_ENABLE, 0, fd, entry);
}

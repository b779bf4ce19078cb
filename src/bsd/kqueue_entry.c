/* The filters of one descriptor in the kernel, and the records that change them. */
#include "bsd/kqueue_state.h"

#include <errno.h>
#include <limits.h>

#include "base/assert.h"
#include "sys/sys.h"

struct xp_kq_entry *xp_kq_find(const struct xp_kq_set *set, int fd)
{
	if (fd < 0 || fd >= set->len || !set->entries[fd].attached)
		return NULL;
	return &set->entries[fd];
}

/* Returns the kernel's filter for a KQ_ filter of the entry; 0: this system has none. */
static int kq_filter(const struct xp_kq_entry *entry, int filter)
{
	switch (filter) {
	case KQ_READ:
		return EVFILT_READ;
	case KQ_WRITE:
		return entry->write_replaced ? XP_KQ_USER : EVFILT_WRITE;
	default:
		return XP_KQ_EXCEPT;
	}
}

unsigned xp_kq_enable_flags(const struct xp_kq_entry *entry, int filter)
{
	return entry->want & KQ_BIT(filter) ? XP_KQ_ENABLE : EV_DISABLE;
}

void xp_kq_make_record(struct kevent *record, const struct xp_kq_entry *entry,
                       int fd, int filter, unsigned flags)
{
	uint32_t fflags = filter == KQ_EXCEPT ? XP_KQ_OOB : 0;
	bool hint = filter == KQ_READ && entry->write_end;

	xp_kq_ev_set(record, (uint64_t)fd, kq_filter(entry, filter), flags, fflags,
	             entry->tag | (hint ? XP_KQ_WRITE_END_FLAG : 0));
	/*
	 * With this low-water mark, which no amount of data reaches, READ reports only the end of
	 * file.
	 */
	if (filter == KQ_READ && (entry->end_only || hint)) {
		record->fflags = NOTE_LOWAT;
		record->data = INT_MAX;
	}
	if (filter == KQ_WRITE && entry->write_replaced)
		record->fflags = XP_KQ_TRIGGER;
}

int xp_kq_apply(struct xp_kq_set *set, struct kevent *changes, int count)
{
	xp_count(&set->counters->syscalls_change);
	return xp_sys_kevent_change(set->fd, changes, count);
}

int xp_kq_apply_one(struct xp_kq_set *set, const struct xp_kq_entry *entry,
                    int fd, int filter, unsigned flags)
{
	struct kevent record;
	int rc;

	xp_kq_make_record(&record, entry, fd, filter, flags);
	rc = xp_kq_apply(set, &record, 1);
	return rc < 0 ? rc : -(int)record.data;
}

/* Returns true for all errors that kernels return for a filter that the file does not support. */
bool xp_kq_refused(int error)
{
	return error == -ENODEV || error == -EINVAL || error == -EPERM ||
		error == -ENOTSUP;
}

int xp_kq_replace_write(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd)
{
	int rc = -EPIPE;

	entry->write_replaced = XP_KQ_USER != 0;
	if (entry->write_replaced)
		rc = xp_kq_apply_one(set, entry, fd, KQ_WRITE,
		                     EV_ADD | (entry->clear ? EV_CLEAR : 0) |
		                     xp_kq_enable_flags(entry, KQ_WRITE));
	/*
	 * FreeBSD does not trigger an EVFILT_USER in the change that adds the filter: repeat the
	 * change without EV_ADD.
	 */
	if (rc == 0)
		rc = xp_kq_apply_one(set, entry, fd, KQ_WRITE,
		                     xp_kq_enable_flags(entry, KQ_WRITE) & ~(unsigned)EV_ADD);
	if (rc == 0)
		return 0;
	entry->write_replaced = false;
	/*
	 * The system's header declares EVFILT_USER, but the running kernel may lack it: return
	 * EPIPE.
	 */
	return xp_kq_refused(rc) ? -EPIPE : rc;
}

void xp_kq_mark(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd)
{
	if (entry->dirty)
		return;
	XP_ASSERT(set->dirty_len < set->len);
	entry->dirty = true;
	set->dirty[set->dirty_len++] = fd;
}

/*
 * Apply `flag` to these filters, one after the other, until the kernel has one.  Returns 0 if it
 * has one: then the file was not closed.  -ENOENT: the kernel has none of them.  A filter that is
 * missing alone proves nothing, because FreeBSD removes WRITE of a pipe when it reports that no
 * reader is left.
 */
static int kq_apply_to_any(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                           unsigned filters, unsigned flag)
{
	int rc = -ENOENT;

	for (int i = 0; i < KQ_FILTERS && rc == -ENOENT; i++) {
		if (!(filters & KQ_BIT(i)))
			continue;
		rc = xp_kq_apply_one(set, entry, fd, i, flag);
		if (rc == 0 && flag == EV_ENABLE && XP_KQ_ENABLE_RECHECKS)
			entry->rechecked = (uint8_t)KQ_BIT(i);
	}
	return rc;
}

/*
 * Returns 0 if fd probably is still the hung-up terminal: the kernel still refuses READ with ENXIO.
 * Nothing shows a close for certain, because the entry has no filter that the kernel removes then.
 */
static int kq_verify_hung(struct xp_kq_set *set, const struct xp_kq_entry *entry,
                          int fd)
{
	int rc = xp_kq_apply_one(set, entry, fd, KQ_READ, EV_ADD | EV_DISABLE);

	if (rc == 0)
		(void)xp_kq_apply_one(set, entry, fd, KQ_READ, EV_DELETE);
	return rc == 0 ? -ENOENT : rc == -ENXIO ? 0 : rc;
}

int xp_kq_verify(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                 unsigned again)
{
	unsigned armed = entry->armed & entry->in_kernel;
	int rc;

	entry->rechecked = 0;
	if (entry->is_hung_up)
		return kq_verify_hung(set, entry, fd);
	rc = kq_apply_to_any(set, entry, fd, entry->in_kernel & ~armed, EV_DISABLE);
	if (rc == -ENOENT)
		rc = kq_apply_to_any(set, entry, fd, armed & again, EV_ENABLE);
	return rc != -ENOENT ? rc
		: kq_apply_to_any(set, entry, fd, armed & ~again, EV_ENABLE);
}

/* --- Changes that are passed with the next wait --------------------------------- */

/*
 * FreeBSD removes WRITE of a pipe when it reports that no reader is left, and refuses to add WRITE
 * again.  If the kernel has removed WRITE of this pipe, register an EVFILT_USER in its place, which
 * is always active and so goes on reporting the pipe.
 */
static void kq_replace_removed_write(struct xp_kq_set *set, int fd)
{
	struct xp_kq_entry *entry = xp_kq_find(set, fd);

	if (!entry || !entry->pipe || entry->write_replaced ||
	    !(entry->in_kernel & KQ_BIT(KQ_WRITE)))
		return;
	if (xp_kq_apply_one(set, entry, fd, KQ_WRITE, xp_kq_enable_flags(entry, KQ_WRITE)) !=
	    -ENOENT)
		return;
	if (xp_kq_replace_write(set, entry, fd) < 0)
		entry->in_kernel &= (uint8_t)~KQ_BIT(KQ_WRITE);
}

/*
 * Call kq_replace_removed_write, which registers an EVFILT_USER in place of a WRITE filter that the
 * kernel has removed, for the pipe that xp_kq_note_write_removed has recorded; if it has recorded
 * several, for all descriptors.
 */
static void kq_replace_all_removed(struct xp_kq_set *set)
{
	int fd = atomic_exchange(&set->write_removed_fd, KQ_REMOVED_NONE);

	if (fd != KQ_REMOVED_SEVERAL) {
		kq_replace_removed_write(set, fd);
		return;
	}
	for (fd = 0; fd < set->len; fd++)
		kq_replace_removed_write(set, fd);
}

bool xp_kq_has_pending(const void *opaque)
{
	const struct xp_kq_set *set = opaque;

	return set->dirty_len > 0 || atomic_load(&set->write_removed_fd) != KQ_REMOVED_NONE;
}

/* Returns the filters whose changes the kernel does not have yet. */
static unsigned kq_unapplied_filters(const struct xp_kq_entry *entry)
{
	unsigned differ = entry->want ^ entry->armed;

	differ |= entry->reenable & entry->want;
	return entry->attached ? differ & entry->in_kernel : 0;
}

/*
 * Returns true if the filter is enabled, and has to be disabled before EV_ENABLE makes the kernel
 * check its state again.
 */
static bool kq_needs_disable_first(const struct xp_kq_entry *entry, int filter)
{
	return XP_KQ_ENABLES_ONCE && entry->armed & entry->want & KQ_BIT(filter);
}

/* Returns the number of records that the changes of an entry take. */
static int kq_record_count(const struct xp_kq_entry *entry)
{
	unsigned differ = kq_unapplied_filters(entry);
	int count = 0;

	for (int i = 0; i < KQ_FILTERS; i++)
		if (differ & KQ_BIT(i))
			count += kq_needs_disable_first(entry, i) ? 2 : 1;
	return count;
}

/*
 * Store the records of an entry's changes, and mark the changes as passed to the kernel.  Returns
 * the number of records.
 */
static int kq_load_one(struct xp_kq_entry *entry, int fd,
                       struct kevent *changes)
{
	unsigned differ = kq_unapplied_filters(entry);
	int count = 0;

	for (int i = 0; i < KQ_FILTERS; i++) {
		if (!(differ & KQ_BIT(i)))
			continue;
		if (kq_needs_disable_first(entry, i))
			xp_kq_make_record(&changes[count++], entry, fd, i, EV_DISABLE);
		xp_kq_make_record(&changes[count++], entry, fd, i, xp_kq_enable_flags(entry, i));
	}
	if (entry->attached)
		entry->armed = entry->want & entry->in_kernel;
	return count;
}

int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap)
{
	int count = 0;

	if (atomic_load(&set->write_removed_fd) != KQ_REMOVED_NONE)
		kq_replace_all_removed(set);
	XP_ASSERT(cap >= KQ_RECORDS);
	while (set->dirty_len > 0) {
		int fd = set->dirty[set->dirty_len - 1];
		struct xp_kq_entry *entry = &set->entries[fd];

		if (count + kq_record_count(entry) > cap)
			break;
		set->dirty_len--;
		count += kq_load_one(entry, fd, changes + count);
		entry->dirty = false;
		entry->reenable = 0;
	}
	return count;
}

void xp_kq_note_write_removed(struct xp_kq_set *set, int fd)
{
	int none = KQ_REMOVED_NONE;

	if (!atomic_compare_exchange_strong(&set->write_removed_fd, &none, fd) && none != fd)
		atomic_store(&set->write_removed_fd, KQ_REMOVED_SEVERAL);
}

bool xp_kq_is_gone(struct xp_kq_set *set, const struct kevent *failed)
{
	int fd = (int)failed->ident;
	struct stat status;

	if (failed->filter == EVFILT_WRITE && failed->data == ENOENT &&
	    xp_sys_fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
		xp_kq_note_write_removed(set, fd);
		return false;
	}
	return failed->data == ENOENT || failed->data == EBADF;
}

int xp_kq_flush(void *opaque, struct xp_fired *fired, int cap)
{
	struct xp_kq_set *set = opaque;
	struct kevent changes[KQ_CHUNK];
	int room = cap < KQ_CHUNK ? cap : KQ_CHUNK;
	int count = 0;
	int loaded;

	if (room < KQ_RECORDS)
		return 0;
	loaded = xp_kq_load(set, changes, room);
	if (loaded == 0)
		return 0;
	xp_count(&set->counters->syscalls_change);
	if (xp_sys_kevent_change(set->fd, changes, loaded) < 0)
		return 0;
	for (int i = 0; i < loaded; i++) {
		if (!xp_kq_is_gone(set, &changes[i]))
			continue;
		fired[count].token = xp_kq_token(&changes[i]);
		fired[count++].events = POLLNVAL;
	}
	return count;
}

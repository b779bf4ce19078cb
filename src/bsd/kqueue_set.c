/* The descriptors of the kqueue back end, and changes that are made at once. */
#include "bsd/kqueue_state.h"

#include <errno.h>
#include <fcntl.h>

#include "base/assert.h"
#include "base/table.h"
#include "sys/sys.h"

/* Make room for fd in the set's table of entries and list of dirty descriptors. */
static int kq_reserve(struct xp_kq_set *set, int fd)
{
	int rc = XP_TABLE_RESERVE(&set->dirty, &set->dirty_cap, fd + 1);

	return rc < 0 ? rc : XP_TABLE_RESERVE(&set->entries, &set->len, fd + 1);
}

/* --- The filters that a watch requests --------------------------------------- */

/* Returns the set of filters for the requested bits. */
static uint8_t kq_wanted(uint32_t watch)
{
	return (uint8_t)((watch & (POLLIN | POLLRDHUP) ? KQ_BIT(KQ_READ) : 0) |
	                 (watch & POLLOUT ? KQ_BIT(KQ_WRITE) : 0) |
	                 (watch & POLLPRI ? KQ_BIT(KQ_EXCEPT) : 0));
}

/* Returns true if READ has to report only the end of file, not data. */
static bool kq_reports_end_only(uint32_t watch)
{
	return (watch & (POLLIN | POLLRDHUP)) == POLLRDHUP;
}

/* --- Attach, change and detach -------------------------------------------------- */

static void kq_remove(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                      unsigned filters)
{
	for (int i = 0; i < KQ_FILTERS; i++)
		if (filters & KQ_BIT(i))
			(void)xp_kq_apply_one(set, entry, fd, i, EV_DELETE);
	entry->in_kernel &= (uint8_t)~filters;
	entry->armed &= entry->in_kernel;
}

/*
 * Returns true for a device, other than a terminal, that poll(2) reports as readable: the kernel
 * probably refuses filters because the device is always ready.
 */
static bool kq_always_ready(struct xp_kq_set *set, int fd, mode_t mode)
{
	struct pollfd probe = {.fd = fd, .events = POLLIN | POLLOUT};

	if ((!S_ISCHR(mode) && !S_ISBLK(mode)) || xp_sys_is_tty(fd))
		return false;
	xp_count(&set->counters->syscalls_check);
	return xp_sys_poll_now(&probe, 1) > 0 && probe.revents & POLLIN;
}

/*
 * The kernel has refused a filter with this error.  Returns true if the registration works without
 * the filter, in two cases.  First: the filter is not requested.  Second: READ has to report only
 * the end of file, and the kernel refuses the low-water mark that keeps READ from reporting data.
 */
static bool kq_works_without(const struct xp_kq_entry *entry, int filter, int error)
{
	return error != -EBADF && error != -ENXIO &&
		(!(entry->want & KQ_BIT(filter)) ||
		 (filter == KQ_READ && entry->end_only && xp_kq_refused(error)));
}

/*
 * Add filters that the kernel does not have.  On failure the kernel has none of them afterwards.
 * Returns 0 or a negative errno value.
 */
static int kq_add(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd,
                  unsigned filters)
{
	struct kevent records[KQ_FILTERS];
	unsigned flags = EV_ADD | (entry->clear ? EV_CLEAR : 0);
	int count = 0;
	int at = 0;
	int rc;

	XP_ASSERT(!(entry->in_kernel & filters));
	for (int i = 0; i < KQ_FILTERS; i++)
		if (filters & KQ_BIT(i))
			xp_kq_make_record(&records[count++], entry, fd, i,
			          flags | xp_kq_enable_flags(entry, i));
	rc = xp_kq_apply(set, records, count);
	for (int i = 0; i < KQ_FILTERS && at < count; i++) {
		int error;

		if (!(filters & KQ_BIT(i)))
			continue;
		error = rc < 0 ? rc : -(int)records[at].data;
		at++;
		/*
		 * EPIPE or EBADF (NetBSD): a pipe without a reader; add an EVFILT_USER for WRITE.
		 */
		if (i == KQ_WRITE && entry->pipe &&
		    (error == -EPIPE || error == -EBADF))
			error = xp_kq_replace_write(set, entry, fd);
		if (error == 0)
			entry->in_kernel |= (uint8_t)KQ_BIT(i);
		else if (!kq_works_without(entry, i, error))
			rc = rc < 0 ? rc : error;
	}
	if (rc >= 0 && !entry->in_kernel)
		rc = -ENOTSUP; /* without any filter, a close of fd could not be noticed */
	if (rc < 0) {
		kq_remove(set, entry, fd, entry->in_kernel & filters);
		return xp_kq_refused(rc) ? -ENOTSUP : rc;
	}
	entry->armed = entry->want & entry->in_kernel;
	return 0;
}

/*
 * Add a terminal whose other side is closed: FreeBSD refuses filters for a state that will not
 * change.  Register an always active EVFILT_USER in place of WRITE (xp_kq_replace_write), and no
 * other filter.  The EVFILT_USER stands for all requested bits, so request KQ_WRITE if the watch
 * requests any.
 */
static int kq_add_hung(struct xp_kq_set *set, struct xp_kq_entry *entry, int fd)
{
	int rc;

	entry->is_hung_up = true;
	entry->want = entry->want ? KQ_BIT(KQ_WRITE) : 0;
	rc = xp_kq_replace_write(set, entry, fd);
	entry->in_kernel = rc == 0 ? KQ_BIT(KQ_WRITE) : 0;
	entry->armed = entry->want & entry->in_kernel;
	return rc == -EPIPE ? -ENOTSUP : rc;
}

static void kq_mark_detached(struct xp_kq_entry *entry)
{
	entry->attached = false;
	entry->in_kernel = 0;
	entry->armed = 0;
}

/* Store the token's tag, and the filters and modes that the watch requests, in the entry. */
static void kq_store_watch(struct xp_kq_entry *entry, uint32_t watch,
                           uint64_t token)
{
	entry->tag = (uint32_t)(token >> 32);
	entry->want = kq_wanted(watch);
	if (entry->is_hung_up && entry->want)
		entry->want = KQ_BIT(KQ_WRITE);
	entry->clear = watch & XP_WATCH_EDGE;
	/*
	 * If READ is disabled, keep end_only, which decides whether READ has a low-water mark:
	 * enabling READ again then need not change the mark, and so costs no system call at once.
	 */
	if (entry->want & KQ_BIT(KQ_READ))
		entry->end_only = kq_reports_end_only(watch);
}

int xp_kq_attach(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct xp_kq_set *set = opaque;
	struct xp_kq_entry *entry = xp_kq_find(set, fd);
	unsigned filters = KQ_BIT(KQ_READ) | KQ_BIT(KQ_WRITE) | kq_wanted(watch);
	struct stat status;
	int rc;

	if (entry && xp_kq_verify(set, entry, fd, XP_WATCH_AGAIN_OF(watch)) == 0)
		return -EEXIST;
	if (entry)
		kq_mark_detached(entry);
	rc = xp_sys_fstat(fd, &status);
	xp_count(&set->counters->syscalls_check);
	/*
	 * Return EPERM for a regular file or directory, for which xpoll's queue computes the
	 * readiness itself, but ENOTSUP for a descriptor that was opened with O_PATH.
	 */
	if (rc == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
		rc = xp_sys_is_path(fd) ? -ENOTSUP : -EPERM;
	if (rc == 0)
		rc = kq_reserve(set, fd);
	if (rc < 0)
		return rc;
	entry = &set->entries[fd];
	entry->is_hung_up = false;
	entry->end_only = false;
	kq_store_watch(entry, watch, token);
	entry->pipe = S_ISFIFO(status.st_mode);
	entry->write_end = entry->pipe &&
		(xp_sys_open_flags(fd) & O_ACCMODE) == O_WRONLY;
	entry->write_replaced = false;
	entry->rechecked = 0;
	rc = kq_add(set, entry, fd, filters);
	if (rc == -ENXIO)
		rc = kq_add_hung(set, entry, fd);
	if (rc == -ENOTSUP && kq_always_ready(set, fd, status.st_mode))
		rc = -EPERM;
	if (rc < 0)
		return rc;
	entry->attached = true;
	return 0;
}

int xp_kq_detach(void *opaque, int fd)
{
	struct xp_kq_set *set = opaque;
	struct xp_kq_entry *entry = xp_kq_find(set, fd);
	struct kevent records[KQ_FILTERS];
	int count = 0;
	int rc;

	if (!entry) {
		rc = xp_sys_open_flags(fd);
		xp_count(&set->counters->syscalls_check);
		return rc < 0 ? rc : -ENOENT;
	}
	for (int i = 0; i < KQ_FILTERS; i++)
		if (entry->in_kernel & KQ_BIT(i))
			xp_kq_make_record(&records[count++], entry, fd, i, EV_DELETE);
	rc = xp_kq_apply(set, records, count);
	kq_mark_detached(entry);
	/*
	 * If one filter was deleted, return 0.  That another was missing is no error: FreeBSD
	 * removes WRITE of a pipe when it reports that no reader is left.
	 */
	for (int i = 0; i < count && rc >= 0; i++)
		if (records[i].data == 0)
			return 0;
	return rc < 0 ? rc : -(int)records[0].data;
}

/*
 * Verify that fd was not reused, and add filters that the kernel does not have.  In entry->armed,
 * the set of filters that are enabled in the kernel, only these filters change.
 */
static int kq_add_missing(struct xp_kq_set *set, struct xp_kq_entry *entry,
                          int fd, unsigned missing, unsigned again)
{
	uint8_t armed = entry->armed;
	int rc = xp_kq_verify(set, entry, fd, again);

	rc = rc == 0 ? kq_add(set, entry, fd, missing) : rc;
	entry->armed = (armed | (entry->armed & missing)) & 7u;
	return rc;
}

/*
 * Returns the filters that ENABLE makes the kernel check again: for a hung-up terminal WRITE, which
 * replaces all others.
 */
static unsigned kq_filters_to_recheck(const struct xp_kq_entry *entry, uint32_t watch)
{
	unsigned again = XP_WATCH_AGAIN_OF(watch);

	return entry->is_hung_up && again ? KQ_BIT(KQ_WRITE) : again;
}

int xp_kq_change(void *opaque, int fd, uint32_t watch, uint64_t token)
{
	struct xp_kq_set *set = opaque;
	struct xp_kq_entry *entry = xp_kq_find(set, fd);
	struct xp_kq_entry before;
	unsigned missing;
	int rc;

	if (!entry)
		return -ENOENT;
	before = *entry;
	before.rechecked = 0;
	kq_store_watch(entry, watch, token);
	missing = entry->want & ~(unsigned)entry->in_kernel;
	if (entry->clear == before.clear &&
	    entry->end_only == before.end_only && entry->tag == before.tag) {
		rc = missing ? kq_add_missing(set, entry, fd, missing,
		                              XP_WATCH_AGAIN_OF(watch)) : 0;
		if (rc < 0) {
			*entry = before;
			return rc;
		}
		if (entry->clear)
			entry->reenable |= kq_filters_to_recheck(entry, watch) & entry->want &
				~(entry->rechecked | missing) & 7u;
		entry->rechecked = 0;
		if (entry->want != entry->armed || entry->reenable)
			xp_kq_mark(set, entry, fd);
		return 0;
	}
	rc = xp_kq_verify(set, &before, fd, XP_WATCH_AGAIN_OF(watch));
	if (rc == 0) {
		unsigned filters = before.in_kernel | missing;

		kq_remove(set, entry, fd, before.in_kernel);
		entry->write_replaced = false;
		entry->rechecked = 0;
		rc = entry->is_hung_up ? -ENXIO : kq_add(set, entry, fd, filters);
		if (rc == -ENXIO)
			rc = kq_add_hung(set, entry, fd);
		if (rc == 0)
			return 0;
		before.in_kernel = 0;
		before.write_replaced = false;
		*entry = before;
		(void)kq_add(set, entry, fd, filters & ~missing);
		return rc;
	}
	*entry = before;
	return rc;
}

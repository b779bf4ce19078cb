/* What the kernel need not know before the next wait, and what it is asked. */
#include <errno.h>

#include "backend/kqueue_set.h"
#include "base/assert.h"
#include "os/sys.h"

/* FreeBSD ends a pipe's WRITE with its last event. */
static void kq_mend(struct xp_kq_set *set, int fd)
{
	struct xp_kq_entry *entry = xp_kq_find(set, fd);

	if (!entry || !entry->pipe || entry->broken ||
	    !(entry->there & KQ_BIT(KQ_WRITE)))
		return;
	if (xp_kq_apply_one(set, entry, fd, KQ_WRITE, xp_kq_switch(entry, KQ_WRITE)) !=
	    -ENOENT)
		return;
	if (xp_kq_break(set, entry, fd) < 0)
		entry->there &= (uint8_t)~KQ_BIT(KQ_WRITE);
}

static void kq_mend_all(struct xp_kq_set *set)
{
	int fd = atomic_exchange(&set->mend, KQ_MEND_NONE);

	if (fd != KQ_MEND_ALL) {
		kq_mend(set, fd);
		return;
	}
	for (fd = 0; fd < set->len; fd++)
		kq_mend(set, fd);
}

bool xp_kq_has_pending(const struct xp_kq_set *set)
{
	return set->dirty_len > 0 || atomic_load(&set->mend) != KQ_MEND_NONE;
}

/* What the kernel does not know of this one yet. */
static unsigned kq_differ(const struct xp_kq_entry *entry)
{
	unsigned differ = entry->want ^ entry->armed;

	differ |= entry->touch & entry->want;
	return entry->attached ? differ & entry->there : 0;
}

/* Is it enabled, and has to be disabled before it is again? */
static bool kq_twice(const struct xp_kq_entry *entry, int filter)
{
	return XP_KQ_ENABLES_ONCE && entry->armed & entry->want & KQ_BIT(filter);
}

static int kq_records(const struct xp_kq_entry *entry)
{
	unsigned differ = kq_differ(entry);
	int count = 0;

	for (int i = 0; i < KQ_FILTERS; i++)
		if (differ & KQ_BIT(i))
			count += kq_twice(entry, i) ? 2 : 1;
	return count;
}

/* What this one's records say is what the kernel knows from now on. */
static int kq_load_one(struct xp_kq_entry *entry, int fd,
                       struct kevent *changes)
{
	unsigned differ = kq_differ(entry);
	int count = 0;

	for (int i = 0; i < KQ_FILTERS; i++) {
		if (!(differ & KQ_BIT(i)))
			continue;
		if (kq_twice(entry, i))
			xp_kq_record(&changes[count++], entry, fd, i, EV_DISABLE);
		xp_kq_record(&changes[count++], entry, fd, i, xp_kq_switch(entry, i));
	}
	if (entry->attached)
		entry->armed = entry->want & entry->there;
	return count;
}

int xp_kq_load(struct xp_kq_set *set, struct kevent *changes, int cap)
{
	int count = 0;

	if (atomic_load(&set->mend) != KQ_MEND_NONE)
		kq_mend_all(set);
	XP_ASSERT(cap >= KQ_RECORDS);
	while (set->dirty_len > 0) {
		int fd = set->dirty[set->dirty_len - 1];
		struct xp_kq_entry *entry = &set->entries[fd];

		if (count + kq_records(entry) > cap)
			break;
		set->dirty_len--;
		count += kq_load_one(entry, fd, changes + count);
		entry->dirty = false;
		entry->touch = 0;
	}
	return count;
}

void xp_kq_broken(struct xp_kq_set *set, int fd)
{
	int none = KQ_MEND_NONE;

	if (!atomic_compare_exchange_strong(&set->mend, &none, fd) && none != fd)
		atomic_store(&set->mend, KQ_MEND_ALL);
}

bool xp_kq_gone(struct xp_kq_set *set, const struct kevent *failed)
{
	int fd = (int)failed->ident;
	struct stat status;

	if (failed->filter == EVFILT_WRITE && failed->data == ENOENT &&
	    xp_sys_fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
		xp_kq_broken(set, fd);
		return false;
	}
	return failed->data == ENOENT || failed->data == EBADF;
}

int xp_kq_flush(struct xp_kq_set *set, struct xp_fired *fired, int cap)
{
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
		if (!xp_kq_gone(set, &changes[i]))
			continue;
		fired[count].token = xp_kq_token(&changes[i]);
		fired[count++].events = POLLNVAL;
	}
	return count;
}

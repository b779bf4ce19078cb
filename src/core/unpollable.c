/* The queue's files that the kernel cannot wait for. */
#include "core/unpollable.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "os/fskind.h"
#include "os/sys.h"
#include "source/inode.h"

enum {
	/* Those that sleep and are checked by a wait. */
	ASLEEP_PROBES = 16,
	READY_FILTERS = XP_BIT(XP_READ) | XP_BIT(XP_WRITE),
};

struct xp_unpollable {
	struct xp_regmap_item item; /* by descriptor */
	struct xp_list turn;        /* awake, or asleep, or neither */
	struct xp_inode_user growth;
	bool sized;   /* regular, and its size says where it ends */
	bool follows; /* its growth is watched */
	bool gone;    /* the number is another file's, or closed */
	uint32_t pass; /* the last that checked it */
	unsigned due; /* filters to check though they are CLEAR */
	uint64_t device;
	uint64_t inode;
	int64_t born_ns;
};

static int unpollable_fd(const struct xp_unpollable *file)
{
	return (int)file->item.ident;
}

/* Of a descriptor that is known to have one. */
static struct xp_unpollable *unpollable_get(const struct xpoll *queue, int fd)
{
	struct xp_regmap_item *item =
		xp_regmap_find(&queue->unpollable.map, (uint64_t)fd, 0);

	XP_ASSERT(item);
	return XP_CONTAINER_OF(item, struct xp_unpollable, item);
}

/* At the end of this list; NULL: nothing is wanted of it. */
static void unpollable_place(struct xpoll *queue, struct xp_unpollable *file,
                             struct xp_list *list)
{
	if (!xp_list_empty(&file->turn)) {
		xp_list_remove(&file->turn);
		queue->unpollable.len--;
	}
	if (list) {
		xp_list_append(list, &file->turn);
		queue->unpollable.len++;
		queue->sourced = true;
	}
	XP_ASSERT(queue->unpollable.len >= 0);
}

static void unpollable_wake(struct xpoll *queue, struct xp_unpollable *file)
{
	unpollable_place(queue, file, &queue->unpollable.awake);
	/* A thread that sleeps has not checked it. */
	queue->recheck_wanted = queue->threads.waiters > 0;
}

static void growth_news(struct xpoll *queue, struct xp_inode_user *user,
                        uint32_t notes, bool lost)
{
	struct xp_unpollable *file = XP_CONTAINER_OF(user, struct xp_unpollable, growth);

	(void)notes, (void)lost;
	file->due |= XP_BIT(XP_READ);
	unpollable_wake(queue, file);
}

static bool growth_listens(const struct xpoll *queue,
                           const struct xp_inode_user *user)
{
	return xp_slots_get(&queue->slots, user->fd)->enabled & XP_BIT(XP_READ);
}

/* The next check of it says so: see file_status. */
static void growth_gone(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_unpollable *file = XP_CONTAINER_OF(user, struct xp_unpollable, growth);

	file->gone = true;
	unpollable_wake(queue, file);
}

static const struct xp_inode_user_ops growth_user = {
	.news = growth_news,
	.listens = growth_listens,
	.gone = growth_gone,
};

int xp_unpollable_add(struct xpoll *queue, int fd)
{
	struct stat status;
	struct xp_unpollable *file;
	int64_t born_ns;
	int rc = xp_sys_fstat_born(fd, &status, &born_ns);

	if (rc < 0)
		return rc;
	file = xp_alloc(sizeof *file);
	if (!file)
		return -ENOMEM;
	file->born_ns = xp_fs_keeps_births(fd) ? born_ns : 0;
	file->item.ident = (uint64_t)fd;
	rc = xp_regmap_add(&queue->unpollable.map, &file->item);
	if (rc < 0) {
		xp_free(file);
		return rc;
	}
	xp_list_init(&file->turn);
	file->growth.ops = &growth_user;
	file->sized = S_ISREG(status.st_mode) && xp_fs_has_sizes(fd);
	file->due = XP_ALL_FILTERS;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	unpollable_wake(queue, file);
	return 0;
}

int xp_unpollable_follow(struct xpoll *queue, int fd)
{
	struct xp_unpollable *file = unpollable_get(queue, fd);
	int rc = 0;

	if (file->sized && !file->follows)
		rc = xp_inode_watch(queue, &file->growth, fd, XPOLL_NOTE_WRITE,
		                    true);
	else if (file->sized)
		rc = xp_inode_rewatch(queue, &file->growth, XPOLL_NOTE_WRITE, true);
	/* The kernel knows a new file by its watch, whatever its numbers are. */
	if (rc == -ESTALE)
		return -ENOENT;
	if (rc == 0)
		file->follows = file->sized;
	return rc;
}

int xp_unpollable_inherit(struct xpoll *queue, int fd)
{
	struct xp_unpollable *file = unpollable_get(queue, fd);
	int rc = 0;

	if (file->follows) {
		file->follows = false;
		rc = xp_unpollable_follow(queue, fd);
		if (rc < 0)
			file->follows = true;
	}
	if (rc == 0)
		xp_unpollable_ask(queue, fd, XP_ALL_FILTERS);
	return rc;
}

void xp_unpollable_remove(struct xpoll *queue, int fd)
{
	struct xp_unpollable *file = unpollable_get(queue, fd);

	xp_inode_unwatch(queue, &file->growth);
	unpollable_place(queue, file, NULL);
	xp_regmap_remove(&queue->unpollable.map, &file->item);
	xp_free(file);
}

void xp_unpollable_fini(struct xpoll *queue)
{
	struct xp_regmap_item *item = xp_regmap_pop(&queue->unpollable.map);

	for (; item; item = xp_regmap_pop(&queue->unpollable.map))
		xp_free(XP_CONTAINER_OF(item, struct xp_unpollable, item));
	xp_regmap_fini(&queue->unpollable.map);
}

/* 0; -EBADF, -ENOENT: closed, or another file by now; what fstat(2) says. */
static int unpollable_status(const struct xp_unpollable *file, struct stat *status)
{
	int64_t born_ns;
	int rc = file->gone ? -ENOENT
		: xp_sys_fstat_born(unpollable_fd(file), status, &born_ns);

	if (rc < 0)
		return rc;
	if ((uint64_t)status->st_dev != file->device ||
	    status->st_ino != file->inode ||
	    !xp_sys_same_birth(born_ns, file->born_ns))
		return -ENOENT;
	return 0;
}

int xp_unpollable_confirm(struct xpoll *queue, int fd)
{
	struct stat status;
	int rc = unpollable_status(unpollable_get(queue, fd), &status);

	xp_count(&queue->counters.syscalls_check);
	return rc == -EBADF || rc == -ENOENT ? rc : 0;
}

void xp_unpollable_ask(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_unpollable *file = unpollable_get(queue, fd);

	file->due |= filters;
	if (file->follows)
		xp_inode_listen(queue, &file->growth);
	unpollable_wake(queue, file);
}

/* The poll(2) bits of a file, or -EBADF, -ENOENT: another file by now. */
static int unpollable_events(struct xpoll *queue, const struct xp_unpollable *file,
                             unsigned wanted, bool poll_level)
{
	int events = (wanted & XP_BIT(XP_READ) ? POLLIN : 0) |
		(wanted & XP_BIT(XP_WRITE) ? POLLOUT : 0);
	struct stat status;
	int rc = unpollable_status(file, &status);

	xp_count(&queue->counters.syscalls_check);
	if (rc == -EBADF || rc == -ENOENT)
		return rc;
	/* Open, and nobody knows more of it: reading will show it. */
	if (rc == 0 && file->sized && !poll_level && events & POLLIN) {
		int64_t offset = xp_sys_offset(unpollable_fd(file));

		xp_count(&queue->counters.syscalls_check);
		/* Beyond the end is not at the end, as in FreeBSD. */
		if (offset == status.st_size)
			events &= ~POLLIN;
	}
	return events;
}

int64_t xp_unpollable_left(struct xpoll *queue, int fd)
{
	struct xp_unpollable *file = unpollable_get(queue, fd);
	struct stat status;

	xp_count_by(&queue->counters.syscalls_check, 2);
	if (!file->sized || unpollable_status(file, &status) < 0)
		return 1;
	return status.st_size - xp_sys_offset(fd);
}

/* The filters of the file that are to be checked. */
static unsigned unpollable_wanted(const struct xpoll *queue,
                                  const struct xp_unpollable *file)
{
	const struct xp_slot *slot = xp_slots_get(&queue->slots, unpollable_fd(file));
	unsigned filters = READY_FILTERS;

	/* Nobody hangs up: POLLRDHUP alone is never ready. */
	if (!(slot->requested & XP_REQUEST_IN))
		filters &= ~XP_BIT(XP_READ);
	return slot->enabled & filters & (file->due | ~(unsigned)slot->modes.clear);
}

static struct xp_unpollable *unpollable_first(struct xp_list *list)
{
	return XP_CONTAINER_OF(list->next, struct xp_unpollable, turn);
}

/* It leaves its place: for the end of the line, or to sleep, or for good. */
static int unpollable_deliver(struct xpoll *queue, struct xp_unpollable *file, bool poll_level)
{
	unsigned wanted = unpollable_wanted(queue, file);
	int events;

	if (!wanted && !file->gone) {
		unpollable_place(queue, file, NULL);
		return 0;
	}
	events = unpollable_events(queue, file, wanted, poll_level);
	if (events < 0)
		return events;
	unpollable_place(queue, file,
	                 events ? &queue->unpollable.awake : &queue->unpollable.asleep);
	/* A CLEAR filter, once reported, is silent until there is news. */
	if (events & POLLIN)
		file->due &= ~XP_BIT(XP_READ);
	if (events & POLLOUT)
		file->due &= ~XP_BIT(XP_WRITE);
	return events;
}

void xp_files_begin(struct xpoll *queue, bool poll_level)
{
	/* To the poll-like level all of them are ready. */
	int probes = poll_level ? INT32_MAX : ASLEEP_PROBES;

	queue->unpollable.pass++;
	while (probes-- > 0 && !xp_list_empty(&queue->unpollable.asleep))
		unpollable_place(queue, unpollable_first(&queue->unpollable.asleep),
		                 &queue->unpollable.awake);
}

bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events)
{
	struct xp_unpollable *file;

	if (xp_list_empty(&queue->unpollable.awake))
		return false;
	file = unpollable_first(&queue->unpollable.awake);
	if (file->pass == queue->unpollable.pass)
		return false;
	file->pass = queue->unpollable.pass;
	*fd = unpollable_fd(file);
	*events = unpollable_deliver(queue, file, poll_level);
	return true;
}

bool xp_unpollable_ready(struct xpoll *queue)
{
	struct xp_list *item = queue->unpollable.awake.next;

	for (; item != &queue->unpollable.awake; item = item->next) {
		struct xp_unpollable *file =
			XP_CONTAINER_OF(item, struct xp_unpollable, turn);
		unsigned wanted = unpollable_wanted(queue, file);

		if (wanted && unpollable_events(queue, file, wanted, false) > 0)
			return true;
	}
	return false;
}

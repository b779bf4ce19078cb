/* Files that the kernel cannot poll: see files.h for awake and sleeping files. */
#include "core/files.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/table.h"
#include "core/marks.h"
#include "core/slot.h"
#include "source/inode.h"
#include "sys/fskind.h"
#include "sys/sys.h"

struct xp_file {
	int fd;
	/* links the file into files.awake or files.asleep, or into no list */
	struct xp_list list_link;
	/* how the file waits for data behind its end, if has_growth_watch */
	struct xp_inode_user growth;
	bool has_end;    /* a regular file, in a file system where st_size is the end of file */
	bool has_growth_watch; /* xp_inode_watch has succeeded for `growth` */
	bool gone;             /* growth_file_is_gone was called: fd was closed or reused */
	uint32_t pass;         /* number (files.pass) of the last pass that checked this file */
	/*
	 * Set of filters to check even if they have CLEAR, because they were enabled or the file
	 * has grown.
	 */
	unsigned pending_edges;
	/* The identity of the registered file; born_ns: time of birth, 0 if unknown. */
	uint64_t device;
	uint64_t inode;
	int64_t born_ns;
};

static struct xp_file *file_at(const struct xpoll *queue, int fd)
{
	XP_ASSERT(queue->files.at[fd]);
	return queue->files.at[fd];
}

/* Move the file to the end of a list; NULL: to no list. */
static void file_move_to_list(struct xp_file *file, struct xp_list *list)
{
	xp_list_remove(&file->list_link);
	if (list)
		xp_list_append(list, &file->list_link);
}

/* Move the file to files.awake, so that the next wait checks the file. */
static void file_wake(struct xpoll *queue, struct xp_file *file)
{
	file_move_to_list(file, &queue->files.awake);
	xp_kick_request(queue);
}

/*
 * Called when the kernel has reported that the file has grown: has the next wait check READ, even
 * with CLEAR.
 */
static void growth_seen(struct xpoll *queue, struct xp_inode_user *user, uint32_t notes, bool lost)
{
	struct xp_file *file = XP_CONTAINER_OF(user, struct xp_file, growth);

	(void)notes, (void)lost;
	file->pending_edges |= XP_BIT(XP_READ);
	file_wake(queue, file);
}

/* Returns true if reports of the file's growth are needed now, because READ is enabled. */
static bool growth_is_wanted(const struct xpoll *queue, const struct xp_inode_user *user)
{
	return xp_slots_get(queue, user->fd)->enabled & XP_BIT(XP_READ);
}

/*
 * Called when fd does not refer to the file any more: makes the next wait check the file, which
 * drops the slot.
 */
static void growth_file_is_gone(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_file *file = XP_CONTAINER_OF(user, struct xp_file, growth);

	file->gone = true;
	file_wake(queue, file);
}

static const struct xp_inode_user_ops growth_user = {
	.notify = growth_seen,
	.wants_reports = growth_is_wanted,
	.gone = growth_file_is_gone,
};

/* Watch the growth of a regular file, or renew the watch; does nothing for other files. */
static int file_watch_growth(struct xpoll *queue, struct xp_file *file)
{
	int rc;

	if (!file->has_end)
		return 0;
	rc = file->has_growth_watch ? xp_inode_set_notes(queue, &file->growth, XPOLL_NOTE_WRITE,
	                                                 true)
		: xp_inode_watch(queue, &file->growth, file->fd, XPOLL_NOTE_WRITE, true);
	file->has_growth_watch |= rc == 0;
	/* -ESTALE: fd refers to another file now, even if device and inode number are equal. */
	return rc == -ESTALE ? -ENOENT : rc;
}

int xp_file_add(struct xpoll *queue, int fd, bool follows)
{
	struct stat status;
	struct xp_file *file;
	int64_t born_ns;
	int rc = xp_sys_fstat_born(fd, &status, &born_ns);

	if (rc < 0)
		return rc;
	rc = XP_TABLE_RESERVE(&queue->files.at, &queue->files.at_len, fd + 1);
	file = rc == 0 ? xp_zalloc(sizeof *file) : NULL;
	if (!file)
		return -ENOMEM;
	*file = (struct xp_file){
		.fd = fd,
		.growth.ops = &growth_user,
		.has_end = S_ISREG(status.st_mode) && xp_fs_has_sizes(fd),
		.pending_edges = XP_ALL_FILTERS,
		.device = status.st_dev,
		.inode = status.st_ino,
		.born_ns = xp_fs_has_stable_birth(fd) ? born_ns : 0,
	};
	xp_list_init(&file->list_link);
	queue->files.at[fd] = file;
	file_wake(queue, file);
	rc = follows ? file_watch_growth(queue, file) : 0;
	if (rc < 0)
		xp_file_remove(queue, fd);
	return rc;
}

int xp_file_add_again(struct xpoll *queue, int fd, unsigned filters, bool follows)
{
	int rc = xp_file_confirm(queue, fd);

	if (rc == 0 && follows)
		rc = file_watch_growth(queue, file_at(queue, fd));
	if (rc == 0)
		xp_file_schedule_check(queue, fd, filters);
	return rc;
}

int xp_file_inherit(struct xpoll *queue, int fd)
{
	struct xp_file *file = file_at(queue, fd);
	bool followed = file->has_growth_watch;
	int rc = 0;

	file->has_growth_watch = false;
	if (followed)
		rc = file_watch_growth(queue, file);
	if (rc < 0)
		file->has_growth_watch = followed;
	else
		xp_file_schedule_check(queue, fd, XP_ALL_FILTERS);
	return rc;
}

void xp_file_remove(struct xpoll *queue, int fd)
{
	struct xp_file *file = file_at(queue, fd);

	xp_inode_unwatch(queue, &file->growth);
	file_move_to_list(file, NULL);
	queue->files.at[fd] = NULL;
	xp_free(file);
}

void xp_files_init(struct xpoll *queue)
{
	xp_list_init(&queue->files.awake);
	xp_list_init(&queue->files.asleep);
}

void xp_files_fini(struct xpoll *queue)
{
	for (int fd = 0; fd < queue->files.at_len; fd++)
		xp_free(queue->files.at[fd]);
	xp_free(queue->files.at);
}

/*
 * Store the status of the file.  Returns 0; -EBADF, -ENOENT: the descriptor was closed or reused;
 * or another error of fstat(2).
 */
static int file_status(struct xpoll *queue, const struct xp_file *file, struct stat *status)
{
	int64_t born_ns;
	int rc = file->gone ? -ENOENT : xp_sys_fstat_born(file->fd, status, &born_ns);

	xp_count(&queue->counters.syscalls_check);
	if (rc < 0)
		return rc;
	return (uint64_t)status->st_dev == file->device && status->st_ino == file->inode &&
		xp_sys_same_birth(born_ns, file->born_ns) ? 0 : -ENOENT;
}

int xp_file_confirm(struct xpoll *queue, int fd)
{
	struct stat status;
	int rc = file_status(queue, file_at(queue, fd), &status);

	return rc == -EBADF || rc == -ENOENT ? rc : 0;
}

void xp_file_schedule_check(struct xpoll *queue, int fd, unsigned filters)
{
	struct xp_file *file = file_at(queue, fd);

	file->pending_edges |= filters;
	if (file->has_growth_watch)
		xp_inode_resume_reports(queue, &file->growth);
	file_wake(queue, file);
}

int64_t xp_file_left(struct xpoll *queue, int fd)
{
	struct xp_file *file = file_at(queue, fd);
	struct stat status;

	xp_count(&queue->counters.syscalls_check);
	if (!file->has_end || file_status(queue, file, &status) < 0)
		return 1;
	return status.st_size - xp_sys_offset(fd);
}

/*
 * Returns the enabled filters of a file that have to be checked: those without CLEAR, and those in
 * file->pending_edges.
 */
static unsigned file_filters_to_check(const struct xpoll *queue, const struct xp_file *file)
{
	const struct xp_slot *slot = xp_slots_get(queue, file->fd);
	/* Files have no hang-ups, so READ is never ready if the program did not request POLLIN. */
	unsigned filters = XP_BIT(XP_WRITE) |
		(slot->requested & XP_REQUEST_IN ? XP_BIT(XP_READ) : 0);

	return slot->enabled & filters & (file->pending_edges | ~(unsigned)slot->clear);
}

/*
 * Returns POLLIN if READ, and POLLOUT if WRITE, is among these filters and ready; -EBADF, -ENOENT:
 * the descriptor was closed or reused.
 */
static int file_events(struct xpoll *queue, const struct xp_file *file, unsigned wanted,
                       bool poll_level)
{
	int events = (wanted & XP_BIT(XP_READ) ? POLLIN : 0) |
		(wanted & XP_BIT(XP_WRITE) ? POLLOUT : 0);
	struct stat status;
	int rc = file_status(queue, file, &status);

	if (rc == -EBADF || rc == -ENOENT)
		return rc;
	/*
	 * After any other error of fstat(2), report the file as ready, so that the program's
	 * read(2) returns the error.
	 */
	if (rc < 0 || !file->has_end || poll_level || !(events & POLLIN))
		return events;
	xp_count(&queue->counters.syscalls_check);
	/* An offset beyond the end counts as ready, as in FreeBSD. */
	return xp_sys_offset(file->fd) == status.st_size ? events & ~POLLIN : events;
}

static struct xp_file *file_first(const struct xp_list *list)
{
	return XP_CONTAINER_OF(list->next, struct xp_file, list_link);
}

void xp_files_begin(struct xpoll *queue, bool poll_level)
{
	/*
	 * xpoll_pwait and xpoll_wait report files as always ready, like poll(2): let the pass check
	 * all files in files.asleep, otherwise only XP_ASK_EVERY of them.
	 */
	int checks = poll_level ? INT32_MAX : XP_ASK_EVERY;

	queue->files.pass++;
	while (checks-- > 0 && !xp_list_empty(&queue->files.asleep))
		file_move_to_list(file_first(&queue->files.asleep), &queue->files.awake);
}

bool xp_files_next(struct xpoll *queue, bool poll_level, int *fd, int *events)
{
	struct xp_file *file = file_first(&queue->files.awake);
	unsigned wanted;

	if (xp_list_empty(&queue->files.awake) || file->pass == queue->files.pass)
		return false;
	file->pass = queue->files.pass;
	wanted = file_filters_to_check(queue, file);
	*fd = file->fd;
	*events = 0;
	if (!wanted && !file->gone) {
		file_move_to_list(file, NULL);
		return true;
	}
	*events = file_events(queue, file, wanted, poll_level);
	if (*events < 0)
		return true;
	file_move_to_list(file, *events ? &queue->files.awake : &queue->files.asleep);
	/*
	 * A filter with CLEAR that was ready is not checked again until the file grows or the
	 * filter is enabled.
	 */
	file->pending_edges &= ~xp_filters_of((uint32_t)*events);
	return true;
}

bool xp_files_ready(struct xpoll *queue)
{
	XP_LIST_EACH(struct xp_file, file, &queue->files.awake, list_link) {
		unsigned wanted = file_filters_to_check(queue, file);

		if (wanted && file_events(queue, file, wanted, false) > 0)
			return true;
	}
	return false;
}

/* The queue's table of files that the kernel cannot wait for. */
#include "core/file.h"

#include <errno.h>

#include "base/alloc.h"
#include "core/deliver.h"
#include "core/interest.h"
#include "core/wait.h"
#include "os/sys.h"

/* The entry of a descriptor that is known to have one. */
static struct xp_file *file_get(struct xpoll *queue, int fd)
{
	struct xp_file *file = queue->files;

	while (file->fd != fd)
		file++;
	XP_ASSERT(file < queue->files + queue->files_len);
	return file;
}

static int files_reserve(struct xpoll *queue)
{
	int cap = queue->files_cap ? queue->files_cap * 2 : 8;
	struct xp_file *files;

	if (queue->files_len < queue->files_cap)
		return 0;
	files = xp_realloc(queue->files, (size_t)cap * sizeof *files);
	if (!files)
		return -ENOMEM;
	queue->files = files;
	queue->files_cap = cap;
	return 0;
}

int xp_file_add(struct xpoll *queue, int fd)
{
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	if (rc == 0)
		rc = files_reserve(queue);
	if (rc < 0)
		return rc;
	queue->files[queue->files_len++] = (struct xp_file){
		.fd = fd,
		.regular = S_ISREG(status.st_mode),
		.due = XP_ALL_FILTERS,
		.device = status.st_dev,
		.inode = status.st_ino,
	};
	xp_kick(queue); /* A thread that sleeps has not looked at it. */
	return 0;
}

void xp_file_remove(struct xpoll *queue, int fd)
{
	struct xp_file *file = file_get(queue, fd);

	XP_ASSERT(queue->files_len > 0);
	*file = queue->files[--queue->files_len];
}

static int file_status(const struct xp_file *file, struct stat *status)
{
	int rc = xp_sys_fstat(file->fd, status);

	if (rc < 0)
		return rc;
	if (status->st_dev != file->device || status->st_ino != file->inode)
		return -ENOENT;
	return 0;
}

int xp_file_confirm(struct xpoll *queue, int fd)
{
	struct stat status;

	xp_count(&queue->counters.syscalls_check);
	return file_status(file_get(queue, fd), &status);
}

void xp_file_ask(struct xpoll *queue, int fd)
{
	file_get(queue, fd)->due = XP_ALL_FILTERS;
	xp_kick(queue);
}

/* The poll(2) bits of a file, or -EBADF, -ENOENT: another file by now. */
static int file_events(struct xpoll *queue, const struct xp_file *file,
                       bool poll_level)
{
	int events = POLLIN | POLLOUT;
	struct stat status;
	int rc = file_status(file, &status);

	xp_count(&queue->counters.syscalls_check);
	if (rc < 0)
		return rc;
	if (file->regular && !poll_level) {
		int64_t offset = xp_sys_tell(file->fd);

		xp_count(&queue->counters.syscalls_check);
		if (offset >= status.st_size)
			events &= ~POLLIN;
	}
	return events;
}

/* The filters of the file that are to be looked at. */
static unsigned file_wanted(const struct xp_file *file,
                            const struct xp_slot *slot)
{
	return slot->enabled & (file->due | ~(unsigned)slot->edge);
}

/* A CLEAR filter, once reported, is silent until it is asked for again. */
static void file_deliver(struct xpoll *queue, struct xp_wait *wait,
                         struct xp_file *file, struct xp_slot *slot)
{
	int fd = file->fd;
	unsigned wanted = file_wanted(file, slot);
	int events = file_events(queue, file, wait->events == NULL);

	if (events < 0) {
		xp_interest_drop(queue, fd, slot);
		return;
	}
	if (!(wanted & XP_BIT(XP_READ)))
		events &= ~POLLIN;
	if (!(wanted & XP_BIT(XP_WRITE)))
		events &= ~POLLOUT;
	if (events & POLLIN)
		file->due &= ~XP_BIT(XP_READ);
	if (events & POLLOUT)
		file->due &= ~XP_BIT(XP_WRITE);
	if (events)
		xp_deliver_slot(queue, wait, fd, slot, (uint32_t)events);
}

void xp_deliver_files(struct xpoll *queue, struct xp_wait *wait)
{
	int left = queue->files_len;

	while (left-- > 0 && queue->files_len > 0 && !xp_wait_full(wait)) {
		struct xp_file *file;
		struct xp_slot *slot;

		if (++queue->files_turn >= queue->files_len)
			queue->files_turn = 0;
		file = &queue->files[queue->files_turn];
		slot = xp_slots_get(&queue->slots, file->fd);
		if (file_wanted(file, slot))
			file_deliver(queue, wait, file, slot);
	}
}

bool xp_files_ready(struct xpoll *queue)
{
	for (int i = 0; i < queue->files_len; i++) {
		const struct xp_file *file = &queue->files[i];
		const struct xp_slot *slot = xp_slots_get(&queue->slots, file->fd);
		unsigned wanted = file_wanted(file, slot);
		int events;

		if (!wanted)
			continue;
		events = file_events(queue, file, false);
		if ((events & POLLIN && wanted & XP_BIT(XP_READ)) ||
		    (events & POLLOUT && wanted & XP_BIT(XP_WRITE)))
			return true;
	}
	return false;
}

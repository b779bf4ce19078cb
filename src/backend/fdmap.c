/* The table of the array back ends; doubles as numbers grow. */
#include "backend/fdmap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "os/sys.h"

int xp_fdmap_init(struct xp_fdmap *map)
{
	return xp_marks_open(&map->marks);
}

int xp_fdmap_reserve(struct xp_fdmap *map, int fd)
{
	struct xp_fdmap_entry *entries;
	int len = map->len < 64 ? 64 : map->len;

	if (fd < map->len)
		return 0;
	while (len <= fd)
		len = len > INT32_MAX / 2 ? INT32_MAX : len * 2;
	entries = xp_realloc(map->entries, (size_t)len * sizeof *entries);
	if (!entries)
		return -ENOMEM;
	memset(entries + map->len, 0,
	       (size_t)(len - map->len) * sizeof *entries);
	map->entries = entries;
	map->len = len;
	return 0;
}

void xp_fdmap_fini(struct xp_fdmap *map)
{
	xp_marks_close(&map->marks);
	xp_free(map->entries);
	map->entries = NULL;
	map->len = 0;
}

/*
 * Within a device no two files are mixed up, across devices hardly any; but the
 * anonymous ones of Linux (eventfd, timerfd, epoll) all have one inode.
 */
static uint64_t fdmap_file(const struct stat *status)
{
	return (uint64_t)status->st_ino * UINT64_C(0x9e3779b97f4a7c15) ^
		(uint64_t)status->st_dev * UINT64_C(0xc2b2ae3d27d4eb4f);
}

int xp_fdmap_confirm(struct xp_fdmap *map, int fd, struct xp_counters *counters)
{
	const struct xp_fdmap_entry *entry = xp_fdmap_find(map, fd);
	struct stat status;
	int rc = xp_sys_fstat(fd, &status);

	xp_count(&counters->syscalls_check);
	if (rc < 0)
		return rc;
	if (!entry || fdmap_file(&status) != entry->file)
		return -ENOENT;
	if (!xp_is_nameless(&status))
		return 0;
	xp_count(&counters->syscalls_check);
	return xp_marks_have(&map->marks, fd) ? 0 : -ENOENT;
}

int xp_fdmap_admit(struct xp_fdmap *map, struct xp_edge *edge, int fd,
                   uint64_t token)
{
	struct stat status;
	int admitted = xp_edge_admit(edge, fd, &status);
	int rc = admitted < 0 ? admitted : xp_fdmap_reserve(map, fd);

	if (rc == 0 && xp_is_nameless(&status))
		rc = xp_marks_add(&map->marks, fd);
	if (rc < 0)
		return rc;
	map->entries[fd].socket = S_ISSOCK(status.st_mode) != 0;
	map->entries[fd].token = token;
	map->entries[fd].file = fdmap_file(&status);
	map->entries[fd].fixed = admitted > 0;
	return 0;
}

void xp_fdmap_forget(struct xp_fdmap *map, int fd)
{
	struct xp_fdmap_entry *entry = &map->entries[fd];

	entry->place = XP_PLACE_NONE;
	if (entry->file == 0)
		xp_marks_remove(&map->marks, fd);
}

struct xp_fired xp_fdmap_fired(const struct xp_fdmap *map, int fd, uint32_t bits)
{
	const struct xp_fdmap_entry *entry = &map->entries[fd];

	if (entry->socket && xp_pollbits_in_doubt(entry->watch, bits) &&
	    xp_sys_half_closed(fd))
		bits |= POLLRDHUP;
	return (struct xp_fired){.token = entry->token, .events = bits};
}

/* The table of the array back ends; doubles as numbers grow. */
#include "backend/fdmap.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "os/sys.h"

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
	return entry && fdmap_file(&status) == entry->file ? 0 : -ENOENT;
}

int xp_fdmap_admit(struct xp_fdmap *map, struct xp_edge *edge, int fd,
                   uint64_t token)
{
	struct stat status;
	int admitted = xp_edge_admit(edge, fd, &status);
	int rc = admitted < 0 ? admitted : xp_fdmap_reserve(map, fd);

	if (rc < 0)
		return rc;
	map->entries[fd].token = token;
	map->entries[fd].file = fdmap_file(&status);
	map->entries[fd].fixed = admitted > 0;
	return 0;
}

/*
 * For providers that watch a file by its name, and hear late, or not of all, of what is
 * written to it: event ports and handles of directories.
 */
#ifndef XP_SOURCE_INODE_LATE_H
#define XP_SOURCE_INODE_LATE_H

#include "source/inode_provider.h"

/* FNV-1a, from there on. */
#define XP_INODE_HASH UINT64_C(0xcbf29ce484222325)

static inline uint64_t xp_inode_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;

	for (; size > 0; size--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * Is it a file to be looked at now and then as well, for what is written to it?  1 or 0,
 * as xp_inode_join has it.
 */
static inline int xp_inode_is_late(const struct xp_inode_user *user)
{
	return S_ISREG(user->last.st_mode) && user->notes & XP_NOTES_WRITTEN;
}

#endif

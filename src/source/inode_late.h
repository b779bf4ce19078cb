/*
 * For providers that watch a file by its path and get reports of writes late or not at all: event
 * ports (sunos) and change handles of directories (windows).
 */
#ifndef XP_SOURCE_INODE_LATE_H
#define XP_SOURCE_INODE_LATE_H

#include "source/inode_provider.h"

/* The initial value of the FNV-1a hash. */
#define XP_INODE_HASH UINT64_C(0xcbf29ce484222325)

/* Add bytes to an FNV-1a hash, and return the new hash. */
static inline uint64_t xp_inode_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;

	for (; size > 0; size--)
		hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
	return hash;
}

/*
 * Returns the result of xp_inode_join for a watched file: 1 if the file has to be compared at
 * intervals (COMPARE_INTERVAL_NS) as well, because of writes; otherwise 0.
 */
static inline int xp_inode_needs_polling(const struct xp_inode_user *user)
{
	return S_ISREG(user->last.st_mode) && user->notes & XP_NOTES_WRITTEN;
}

#endif

/* Results of the library's functions: 0 or more, or a negative errno value. */
#ifndef XP_BASE_RESULT_H
#define XP_BASE_RESULT_H

#include <errno.h>
#include <stdbool.h>

/*
 * Returns true if memory, descriptors or inotify watches (ENOSPC) are lacking: a later attempt may
 * succeed.
 */
static inline bool xp_is_lack(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EMFILE || rc == -ENFILE;
}

/*
 * Returns what a public function returns: a result >= 0 unchanged; for an error -1, and sets errno.
 */
static inline int xp_public_result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

#endif

/* Converts results of the library to the caller's errno. */
#ifndef XP_BASE_RESULT_H
#define XP_BASE_RESULT_H

#include <errno.h>
#include <stdbool.h>

/* Returns true for errors of lacking memory or descriptors, which may be available later. */
static inline bool xp_is_lack(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EMFILE || rc == -ENFILE;
}

/* Returns a result >= 0 unchanged; a negative errno value becomes -1 and errno. */
static inline int xp_result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

#endif

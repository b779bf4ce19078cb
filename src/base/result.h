/* The edge between the library's results and the caller's errno. */
#ifndef XP_BASE_RESULT_H
#define XP_BASE_RESULT_H

#include <errno.h>
#include <stdbool.h>

/* Did the system lack memory or the like?  It may have some the next time. */
static inline bool xp_is_lack(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EMFILE || rc == -ENFILE;
}

/* A result >= 0 as it is; a negative errno value becomes -1 and errno. */
static inline int xp_result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

#endif

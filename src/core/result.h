/* The edge between the library's results and the caller's errno. */
#ifndef XP_CORE_RESULT_H
#define XP_CORE_RESULT_H

#include <errno.h>

/* A result >= 0 as it is; a negative errno value becomes -1 and errno. */
static inline int xp_result(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

#endif

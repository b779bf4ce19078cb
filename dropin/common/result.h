/* What a function returns that sets errno, of what one does that does not. */
#ifndef DROPIN_COMMON_RESULT_H
#define DROPIN_COMMON_RESULT_H

#include <errno.h>

static inline int result_of(int rc)
{
	if (rc >= 0)
		return rc;
	errno = -rc;
	return -1;
}

#endif

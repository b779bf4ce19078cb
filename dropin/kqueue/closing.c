/* Closing a range of numbers. */
#include "closing.h"

/* One by one those of queues; the others by the call that follows. */
static void kq_close_some(unsigned first, unsigned last)
{
	unsigned end = kq_numbers_end();

	for (unsigned fd = first; fd < end && fd <= last; fd++) {
		struct closing closing;

		closing_begin(&closing, (int)fd);
		if (closing.kq)
			real_close.close((int)fd);
		closing_end(&closing, 0);
	}
}

int closing_range(unsigned first, unsigned last, int flags)
{
	/* CLOEXEC closes nothing, UNSHARE is for those about to execute. */
	if (flags == 0)
		kq_close_some(first, last);
	return real_close.close_range(first, last, flags);
}

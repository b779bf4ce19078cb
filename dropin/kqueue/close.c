/*
 * The functions that close descriptors, as the program finds them.
 *
 * kqueue drops the registrations of a number when it is closed, and ends with
 * its own.  Linux reports a close to nobody, so these are in front of the C
 * library's.  What they do not see, closes inside the C library and bare
 * system calls, is found out later: see docs/internals/kqueue.md.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "kq.h"

KQ_EXPORT int close_range(unsigned first, unsigned last, int flags);
KQ_EXPORT void closefrom(int first);

KQ_EXPORT int close(int fd)
{
	struct kq_closing closing;
	bool concerns = kq_close_begin(&closing, fd);
	int rc;

	if (XP_UNLIKELY(fd == KQ_PROBE_FD))
		kq_real.seen = true;
	rc = kq_real.close(fd);
	if (XP_UNLIKELY(concerns))
		kq_close_end(&closing);
	return rc;
}

KQ_EXPORT int dup2(int fd, int number)
{
	struct kq_closing closing;
	bool concerns = fd != number && kq_close_begin(&closing, number);
	int rc = kq_real.dup2(fd, number);

	if (concerns)
		kq_close_end(&closing);
	return rc;
}

KQ_EXPORT int dup3(int fd, int number, int flags)
{
	struct kq_closing closing;
	bool concerns = fd != number && kq_close_begin(&closing, number);
	int rc = kq_real.dup3(fd, number, flags);

	if (concerns)
		kq_close_end(&closing);
	return rc;
}

/* One by one those that concern us; the others by the call that follows. */
static void kq_close_some(unsigned first, unsigned last)
{
	unsigned end = kq_numbers_end();

	for (unsigned fd = first; fd < end && fd <= last; fd++) {
		struct kq_closing closing;

		if (!kq_close_begin(&closing, (int)fd))
			continue;
		kq_real.close((int)fd);
		kq_close_end(&closing);
	}
}

KQ_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	/* CLOEXEC closes nothing, UNSHARE is for those about to execute. */
	if (flags == 0)
		kq_close_some(first, last);
	return kq_real.close_range(first, last, flags);
}

KQ_EXPORT void closefrom(int first)
{
	int saved = errno;

	if (first < 0)
		first = 0;
	kq_close_some((unsigned)first, UINT_MAX);
	if (kq_real.closefrom)
		kq_real.closefrom(first);
	else
		kq_real.close_range((unsigned)first, UINT_MAX, 0);
	errno = saved;
}

/*
 * Under a name of its own: the C library's declaration says that the stream is
 * never NULL, and a compiler that believes it drops the test for it.
 */
KQ_EXPORT int kq_fclose(FILE *stream) __asm__("fclose");

int kq_fclose(FILE *stream)
{
	struct kq_closing closing;
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;
	bool concerns = kq_close_begin(&closing, fd);
	int rc;

	errno = saved;
	rc = kq_real.fclose ? kq_real.fclose(stream) : EOF;
	if (concerns)
		kq_close_end(&closing);
	return rc;
}

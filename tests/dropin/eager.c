/*
 * Ends the test unless its environment makes the drop-in take up every array at
 * once; the drop-in has read the environment before main, so the test cannot
 * set it.  Raises the limit of descriptors, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define FILES 4096

__attribute__((constructor)) static void eager(void)
{
	struct rlimit limit;

	if (!getenv("XPOLL_POLL_AFTER")) {
		fputs("run me by ctest, or with XPOLL_POLL_MIN=1 XPOLL_POLL_AFTER=0 "
		      "XPOLL_POLL_RECHECK=0\n", stderr);
		exit(2);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

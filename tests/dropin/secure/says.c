/*
 * Shows the effect of the environment: prints whether the system treats this
 * program as set-user-ID, the back end of a queue, and whether AIO is
 * available.
 */
#include <stdio.h>
#include <sys/auxv.h>

#include <xpoll.h>

int main(void)
{
	struct xpoll *queue = xpoll_open(NULL);

	printf("%d %s %d\n", getauxval(AT_SECURE) != 0,
	       queue ? xpoll_backend(queue) : "none",
	       xpoll_supports(queue, XPOLL_FILT_AIO, 0));
	xpoll_destroy(queue);
	return 0;
}

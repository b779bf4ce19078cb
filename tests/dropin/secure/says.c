/*
 * Shows the effect of the environment: prints whether the system treats this as a set-user-ID
 * program, the back end of a queue, and whether there is AIO.
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

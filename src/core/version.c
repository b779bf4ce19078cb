/* The version of the library that runs. */
#include <xpoll.h>

unsigned xpoll_version(void)
{
	return XPOLL_VERSION;
}

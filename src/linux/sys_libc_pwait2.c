/*
 * Finds the C library's epoll_pwait2: glibc has this function since 2.35, musl 1.2 does not.  The
 * symbol is weak, because the library is also linked with C libraries that lack the function.  In a
 * static program the symbol is NULL, unless the program itself calls the function.
 */
#include "linux/sys_linux.h"

#include <stddef.h>
#include <sys/epoll.h>

__attribute__((weak)) xp_epoll_pwait2 epoll_pwait2;

xp_epoll_pwait2 *xp_sys_libc_epoll_pwait2(void)
{
	/*
	 * NULL if the function takes a time of another size: 32-bit glibc has one for 32 and one
	 * for 64 bits.
	 */
	return sizeof(time_t) == sizeof(long) ? epoll_pwait2 : NULL;
}

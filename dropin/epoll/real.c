/* Looks up the C library's functions that this library replaces. */
#include "real.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static struct ep_real real;
static atomic_bool found;

/*
 * Exit from a program that was linked with -static: in such a program dlsym(3) finds no function of
 * the C library.
 */
static void refuse_static(void)
{
	fputs("libxpoll-epoll: this program was linked with -static, which it does not support\n",
	      stderr);
	_exit(1);
}

/*
 * Look up all functions of struct ep_real and struct real_close.  Called as a constructor; or
 * earlier by ep_real, if a constructor of another library calls poll(2), for example.
 */
__attribute__((constructor)) static void find_all(void)
{
	int saved = errno;

	real_close_find();
#ifdef __NetBSD__
	/*
	 * NetBSD's headers map these functions to the symbols below; the plain symbols have an old
	 * ABI.
	 */
	real_find("__select50", &real.select);
	real_find("__pselect50", &real.pselect);
	real_find("__dup3100", &real_close.dup3);
#else
	real_find("select", &real.select);
	real_find("pselect", &real.pselect);
#endif
	real_find("poll", &real.poll);
	real_find("ppoll", &real.ppoll);
	real_find("read", &real.read);
	real_find("write", &real.write);
	real_find("dup", &real.dup);
	real_find("fcntl", &real.fcntl);
	if (!real.read)
		refuse_static();
	atomic_store_explicit(&found, true, memory_order_release);
	errno = saved;
}

const struct ep_real *ep_real(void)
{
	if (!atomic_load_explicit(&found, memory_order_acquire))
		find_all();
	return &real;
}

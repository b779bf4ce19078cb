/*
 * Replaces prctl(2) and libseccomp's seccomp_load, to see when the process installs a seccomp
 * filter.  The filter may end the process for a system call that the program itself does not make,
 * such as epoll_wait(2).  So from then on every poll(2) and select(2) passes through to the C
 * library, in forked children too.
 *
 * A filter that was installed before the program started does not count: a container or a service
 * manager has chosen it for all kinds of programs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/real.h"
#include "export.h"
#include "pool.h"
#include "real.h"

typedef int load_filter(void *filter);

EXPORT int prctl(int option, ...);
EXPORT int seccomp_load(void *filter);

EXPORT int prctl(int option, ...)
{
	unsigned long words[4];
	va_list arguments;
	int rc;

	/* Read four arguments even if the program has passed fewer, like the C library's prctl. */
	va_start(arguments, option);
	for (int i = 0; i < 4; i++)
		words[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	rc = real.prctl ? real.prctl(option, words[0], words[1], words[2], words[3])
		: (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
	if (option == PR_SET_SECCOMP && rc == 0)
		pool_stop_for_seccomp();
	return rc;
}

/*
 * Returns libseccomp's seccomp_load, or NULL.  If a module that dlopen(3) has loaded needs
 * libseccomp, RTLD_NEXT does not find the function, so look in the library itself.
 */
static load_filter *find_load(void)
{
	load_filter *load;
	void *library, *found = dlsym(RTLD_NEXT, "seccomp_load");

	if (!found) {
		library = dlopen("libseccomp.so.2", RTLD_LAZY | RTLD_NOLOAD);
		found = library ? dlsym(library, "seccomp_load") : NULL;
	}
	memcpy(&load, &found, sizeof found);
	return load;
}

EXPORT int seccomp_load(void *filter)
{
	load_filter *load = find_load();
	int rc = load ? load(filter) : -ENOSYS;

	if (rc == 0)
		pool_stop_for_seccomp();
	return rc;
}

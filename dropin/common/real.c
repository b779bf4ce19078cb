/* Looks up the C library's functions that the drop-ins replace: see common/real.h. */
#include "common/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>

static int default_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static int default_dup3(int fd, int number, int flags)
{
	return (int)syscall(SYS_dup3, fd, number, flags);
}

static int default_dup2(int fd, int number)
{
	if (fd == number) /* dup3 fails with EINVAL; dup2 only checks that fd is open */
		return syscall(SYS_fcntl, fd, 1 /* F_GETFD */) < 0 ? -1 : fd;
	return default_dup3(fd, number, 0);
}

static int default_close_range(unsigned first, unsigned last, int flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}
#else

/*
 * Systems other than Linux do not promise a stable interface below the C library.  So default_close
 * and default_dup2 look up the C library's functions at the first call, and then call these
 * functions.
 */
static int default_close(int fd)
{
	real_close_find();
	return real_close.close(fd);
}

static int default_dup2(int fd, int number)
{
	real_close_find();
	return real_close.dup2(fd, number);
}

/* This default stays in use if the C library lacks dup3. */
static int default_dup3(int fd, int number, int flags)
{
	(void)fd, (void)number, (void)flags;
	errno = ENOSYS;
	return -1;
}

static int default_close_range(unsigned first, unsigned last, int flags)
{
	(void)first, (void)last, (void)flags;
	errno = ENOSYS;
	return -1;
}
#endif

struct real_close real_close = {
	.close = default_close,
	.dup2 = default_dup2,
	.dup3 = default_dup3,
	.close_range = default_close_range,
};

/* Returns true if the function is one of this library. */
static bool is_own(void *function)
{
	Dl_info found, own;

	return dladdr(function, &found) && dladdr(&real_close, &own) &&
		found.dli_fbase == own.dli_fbase;
}

void real_find(const char *name, void *pointer)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		found = dlsym(RTLD_DEFAULT, name);
	/*
	 * If the look-up has found this library's own function, no other library defines the name:
	 * leave *pointer unchanged.
	 */
	if (found && is_own(found))
		return;
	if (found) /* copied, because C cannot convert a void * to a pointer to a function */
		memcpy(pointer, &found, sizeof found);
}

void real_close_find(void)
{
	real_find("close", &real_close.close);
	real_find("dup2", &real_close.dup2);
	real_find("dup3", &real_close.dup3);
	real_find("close_range", &real_close.close_range);
	real_find("closefrom", &real_close.closefrom);
	real_find("fclose", &real_close.fclose);
}

/*
 * Numbers of descriptors.  Inside the library a descriptor is a small number, which indexes
 * tables.  Outside it is the system's: the same number, or on Windows a handle.  A handle, without
 * its two lowest bits, is an index into the process's table of handles, too, which has fewer than
 * 2^24 entries.
 */
#ifndef XP_SYS_FDNUM_H
#define XP_SYS_FDNUM_H

#include <stdint.h>

#ifdef _WIN32
#define XP_HANDLES_MOST (1 << 24)

/* Returns the number of an ident; -1: no such descriptor is possible. */
static inline int xp_fd_number(uint64_t ident)
{
	return ident & 3 || ident >> 2 >= XP_HANDLES_MOST ? -1
		: (int)(ident >> 2);
}

static inline uint64_t xp_fd_ident(int fd)
{
	return (uint64_t)fd << 2;
}

/* Returns the number of a parameter of type xpoll_fd_t; negative: none. */
static inline int xp_fd_of(uintptr_t handle)
{
	return xp_fd_number(handle);
}
#else
/* Returns the number of an ident; -1: it is no descriptor. */
static inline int xp_fd_number(uint64_t ident)
{
	return ident > INT32_MAX ? -1 : (int)ident;
}

static inline uint64_t xp_fd_ident(int fd)
{
	return (uint64_t)fd;
}

static inline int xp_fd_of(int fd)
{
	return fd;
}
#endif

#endif

/*
 * Numbers of descriptors.  Inside, a descriptor is a small number that tables
 * are indexed by; outside it is what the system has: that number itself, or,
 * on Windows, a handle.  A handle is an index, too, into the process's table of
 * handles, of which the two lowest bits are not part; tables hold less than
 * 2^24 of them.
 */
#ifndef XP_SYS_FDNUM_H
#define XP_SYS_FDNUM_H

#include <stdint.h>

#ifdef _WIN32
#define XP_HANDLES_MOST (1 << 24)

/* -1: there can be no such handle. */
static inline int xp_fd_number(uint64_t ident)
{
	return ident & 3 || ident >> 2 >= XP_HANDLES_MOST ? -1
		: (int)(ident >> 2);
}

static inline uint64_t xp_fd_ident(int fd)
{
	return (uint64_t)fd << 2;
}

/* That of a parameter of type xpoll_fd_t; negative: none. */
static inline int xp_fd_of(uintptr_t handle)
{
	return xp_fd_number(handle);
}
#else
/* -1: no number of a descriptor. */
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

/*
 * Conversion of descriptors between the library and its interface.  Inside the library a descriptor
 * is a small number, because it indexes tables.  In the interface it is a POSIX descriptor, which
 * is the same number, or a Windows handle.  A handle without its two lowest bits is such an index,
 * too: into the process's table of handles, which has fewer than 2^24 entries.
 */
#ifndef XP_SYS_FDNUM_H
#define XP_SYS_FDNUM_H

#include <stdint.h>

#ifdef _WIN32
#define XP_HANDLES_MOST (1 << 24)

/* Returns the library's descriptor for the ident of an event; -1: no handle has this value. */
static inline int xp_fd_number(uint64_t ident)
{
	return ident & 3 || ident >> 2 >= XP_HANDLES_MOST ? -1
		: (int)(ident >> 2);
}

/* Returns the ident of events of this descriptor: the handle. */
static inline uint64_t xp_fd_ident(int fd)
{
	return (uint64_t)fd << 2;
}

/*
 * Returns the library's descriptor for a parameter of type xpoll_fd_t; negative: no handle has this
 * value.
 */
static inline int xp_fd_of(uintptr_t handle)
{
	return xp_fd_number(handle);
}
#else
/* On POSIX the ident of an event is the descriptor itself. */

/* Returns the descriptor that the ident of an event means; -1: the ident is too large for one. */
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

/*
 * The functions that close descriptors, which the drop-ins export in place of the C library's.
 *
 * close.c has close, dup2, dup3, close_range, closefrom and fclose, the same for all drop-ins.
 * close.c calls these functions, which each drop-in defines in its own closing.h:
 *
 *   struct closing   one close: state that closing_begin stores and closing_end uses
 *   closing_refused  returns true if close(2) must fail with EBADF: fd is the drop-in's own
 *   closing_handles_dup  returns true if dup2 or dup3 onto `number` has to be handled
 *   closing_begin    called before fd is closed, or before dup2 or dup3 replaces it
 *   closing_duplicated  called after fd was duplicated to `number`, before closing_end
 *   closing_end      called afterwards; rc < 0: dup2 or dup3 has failed
 *   closing_range    does all of a close_range(2), with the C library's function
 *   closing_before_unshare  called before this thread gets its own copy of the table of descriptors
 *
 * A close inside the C library, or by a system call of the program's own, calls none of these.
 */
#ifndef DROPIN_COMMON_CLOSE_H
#define DROPIN_COMMON_CLOSE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "closing.h"

/*
 * Returns true if this process has, or may have, other threads, which may share this thread's table
 * of descriptors.
 */
bool fd_table_may_be_shared(void);

/*
 * Call closing_begin for the descriptor of a stream; fd is -1 for a NULL stream.  The program may
 * pass NULL to a C library that handles it, so NULL is checked here.  `volatile` keeps the compiler
 * from dropping the check because the parameter of fileno is declared nonnull.
 */
static inline void closing_begin_stream(struct closing *closing, FILE *volatile stream)
{
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;

	errno = saved;
	closing_begin(closing, fd);
}

#endif

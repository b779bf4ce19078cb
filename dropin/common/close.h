/*
 * The functions that close descriptors, which the drop-ins export in place of the C library's.
 *
 * close.c has close, dup2, dup3, close_range, closefrom and fclose, the same for all drop-ins.
 * close.c calls these functions, which each drop-in defines in its own closing.h:
 *
 *   struct closing   one close: state that closing_begin stores and closing_end uses
 *   closing_refused  returns true if fd is a private descriptor of the drop-in, for which close(2)
 *                    must fail with EBADF
 *   closing_handles_dup  returns true if a dup2 or dup3 of fd onto `number` needs closing_begin and
 *                    closing_end
 *   closing_begin    called before fd is closed, or before dup2 or dup3 replaces it
 *   closing_duplicated  called after fd was duplicated to `number`, before closing_end
 *   closing_end      called after the close, dup2 or dup3; rc < 0: the dup2 or dup3 has failed
 *   closing_range    does a whole close_range(2), and itself calls the C library's function
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
 * Call closing_begin with the descriptor of `stream`, or with -1 if `stream` is NULL, because some
 * C libraries accept fclose(NULL).  The parameter of fileno is declared nonnull, so a compiler
 * could drop the check for NULL here; `volatile` prevents that.
 */
static inline void closing_begin_stream(struct closing *closing, FILE *volatile stream)
{
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;

	errno = saved;
	closing_begin(closing, fd);
}

#endif

/*
 * The functions that close descriptors, which the drop-ins export in place of the C library's.
 *
 * close.c has close, dup2, dup3, close_range, closefrom and fclose.  The closing.h of each drop-in
 * has what it does before and after a close:
 *
 *   struct closing   state kept from the beginning of a close to its end
 *   closing_refused  returns true if to the program the descriptor is not open (EBADF)
 *   closing_heeds    returns true if a dup3 onto a descriptor has to be handled
 *   closing_begin    called before a descriptor is closed or reused
 *   closing_duplicated  number is a duplicate of fd now; called before closing_end
 *   closing_end      called afterwards; rc < 0: the descriptor was not reused
 *   closing_range    does all of a close_range
 *   closing_part     this thread is about to get a table of descriptors of its own
 *
 * Closes inside the C library, and by system calls of the program's own, are not noticed.
 */
#ifndef DROPIN_COMMON_CLOSE_H
#define DROPIN_COMMON_CLOSE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "closing.h"

/* Returns true if other threads share this thread's table of descriptors, or if that is unknown. */
bool close_is_shared(void);

/*
 * Begin the close of a stream.  The volatile pointer keeps the check for NULL, which the C library
 * handles although the parameter is declared nonnull.
 */
static inline void closing_begin_stream(struct closing *closing, FILE *volatile stream)
{
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;

	errno = saved;
	closing_begin(closing, fd);
}

#endif

/*
 * The functions that close, in front of the C library's, for both drop-ins.
 *
 * close.c has close, dup2, dup3, close_range, closefrom and fclose.  The closing.h
 * of each drop-in has its work before and after a number is closed:
 *
 *   struct closing   what is remembered from the beginning of a close to its end
 *   closing_refused  to the program this number is not open: close is EBADF
 *   closing_heeds    dup3 will put another file there, and that matters
 *   closing_begin    before it is closed, or another file gets it
 *   closing_duplicated  number is a duplicate of fd now; called before closing_end
 *   closing_end      afterwards; rc < 0: no other file has come
 *   closing_range    close_range as a whole
 *   closing_part     this thread gets a table of descriptors of its own
 *
 * Closes inside the C library, and by bare system calls, are not seen.
 */
#ifndef DROPIN_COMMON_CLOSE_H
#define DROPIN_COMMON_CLOSE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "closing.h"

/* Do other threads use the descriptors of this one?  True if that is not known. */
bool close_is_shared(void);

/* NULL is the C library's to refuse, though it is declared as if never given. */
static inline void closing_begin_stream(struct closing *closing, FILE *volatile stream)
{
	int saved = errno;
	int fd = stream ? fileno(stream) : -1;

	errno = saved;
	closing_begin(closing, fd);
}

#endif

/*
 * Files for the tests on Windows: handles, and names in a directory of the
 * test.
 */
#ifndef NT_KIT_H
#define NT_KIT_H

#include "xt.h"

#include <windows.h>

#undef DELETE

/* Returns the handle as an ident. */
static inline uint64_t nt_ident(HANDLE handle)
{
	return (uint64_t)(uintptr_t)handle;
}

/* Returns a path in the test's directory, valid for 8 calls; the first call makes the directory. */
const char *nt_name(const char *name);
/* Open the file with these flags, and share it with all others. */
HANDLE nt_open(const char *name, DWORD access, DWORD how, DWORD flags);
/* Create a file with this text. */
HANDLE nt_make(const char *name, const char *text);
/* Write by another handle, at this offset; -1: at the end. */
void nt_write(const char *name, int64_t offset, const char *text);
/* Remove the folder with its contents. */
void nt_clean(void);

#endif

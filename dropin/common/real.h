/*
 * Pointers to the "real" functions: the C library's, which a drop-in replaces by functions of the
 * same names, so that it can call them only through pointers.
 *
 * The constructor of the drop-in looks the functions up.  Constructors of other libraries may run
 * earlier and close descriptors, so until then `close`, `dup2`, `dup3` and `close_range` make bare
 * system calls on Linux.  On other systems `close` and `dup2` do the look-up, and `dup3` and
 * `close_range` fail with ENOSYS.
 */
#ifndef DROPIN_COMMON_REAL_H
#define DROPIN_COMMON_REAL_H

#include <stdio.h>

/* Marks a function that the drop-in exports; all other functions are hidden. */
#define EXPORT __attribute__((visibility("default")))

/* Each member calls the C library's function of the same name. */
struct real_close {
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned, unsigned, int);

	/*
	 * closefrom and fclose are NULL before real_close_find, and if the C library lacks the
	 * function.
	 */
	void (*closefrom)(int);
	int (*fclose)(FILE *);
};
extern struct real_close real_close;

/*
 * Store the address of the function `name` in *pointer, a pointer to a function.  The next library
 * after this one that defines it is used, which is the C library or another one in front of it.
 * Where the loader finds the C library before this one, the first library that defines the function
 * is used, and the program's calls do not reach this library's function.  If no other library
 * defines it, *pointer stays unchanged.
 */
void real_find(const char *name, void *pointer);

/*
 * Look up all members of real_close.  Called by the drop-in's constructor, or by an earlier close
 * of a stream, for example.  Not async-signal-safe.
 */
void real_close_find(void);

#endif

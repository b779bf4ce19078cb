/*
 * Pointers to the "real" functions of the C library.  A drop-in replaces them by functions of the
 * same names, so it can call the real ones only through pointers.
 *
 * The constructor of the drop-in looks the functions up.  Constructors of other libraries may run
 * earlier and close descriptors.  Until the look-up, `close`, `dup2`, `dup3` and `close_range` make
 * bare system calls on Linux.  On other systems `close` and `dup2` do the look-up, and `dup3` and
 * `close_range` fail with ENOSYS.
 */
#ifndef DROPIN_COMMON_REAL_H
#define DROPIN_COMMON_REAL_H

#include <stdio.h>

/* Marks a function that the drop-in exports; all other functions are hidden. */
#define EXPORT __attribute__((visibility("default")))

/*
 * The C library's functions.  A member other than the last two points to a default until
 * real_close_find, and afterwards if the C library lacks the function.
 */
struct real_close {
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned, unsigned, int);

	/* These two have no default: they are NULL where the others point to a default. */
	void (*closefrom)(int);
	int (*fclose)(FILE *);
};
extern struct real_close real_close;

/*
 * Look up the function `name`, and store its address in *pointer, a pointer to a function.
 *
 * First searches the libraries after this one in the loader's order.  That finds the C library's
 * function, or the function of another library in front of the C library.  If the C library is
 * loaded before this library, that search finds nothing, and a second search takes the first
 * library that defines the function.  The program's own calls then reach the same function, not
 * this library's.  If only this library defines the function, *pointer stays unchanged.
 */
void real_find(const char *name, void *pointer);

/*
 * Look up all members of real_close.  Called by the drop-in's constructor, or earlier, for example
 * by fclose.  Not async-signal-safe.
 */
void real_close_find(void);

#endif

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

/* Each member points to the C library's function of the same name, or to a default. */
struct real_close {
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned, unsigned, int);

	/*
	 * closefrom and fclose have no default: they are NULL before real_close_find, and if the C
	 * library lacks the function.
	 */
	void (*closefrom)(int);
	int (*fclose)(FILE *);
};
extern struct real_close real_close;

/*
 * Store the address of the function `name` in *pointer, a pointer to a function.  Uses the next
 * library after this one that defines the function: the C library, or another library in front of
 * it.  If the loader finds the C library before this library, uses the first library that defines
 * the function; the program's calls do not reach this library's function then.  If no other library
 * defines the function, *pointer stays unchanged.
 */
void real_find(const char *name, void *pointer);

/*
 * Look up all members of real_close.  Called by the drop-in's constructor, or earlier, for example
 * by fclose.  Not async-signal-safe.
 */
void real_close_find(void);

#endif

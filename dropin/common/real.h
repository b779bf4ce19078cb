/*
 * The C library's functions behind those that a drop-in exports.
 *
 * They are called through pointers, because their names are the drop-in's own functions.
 * The constructor of the drop-in looks them up.  Constructors of other libraries may run
 * earlier and close descriptors, so until then the functions that close are bare system calls.
 */
#ifndef DROPIN_COMMON_REAL_H
#define DROPIN_COMMON_REAL_H

#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct real_close {
	int (*close)(int);
	int (*dup2)(int, int);
	int (*dup3)(int, int, int);
	int (*close_range)(unsigned, unsigned, int);

	/* NULL before real_close_find, and if the C library lacks the function. */
	void (*closefrom)(int);
	int (*fclose)(FILE *);
};
extern struct real_close real_close;

/*
 * Store the address of the next definition of this function after ours in *pointer, if there is
 * one.
 */
void real_find(const char *name, void *pointer);

/* Look up all members of real_close.  Not async-signal-safe; called at the start. */
void real_close_find(void);

#endif

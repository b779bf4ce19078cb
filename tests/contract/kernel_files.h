/*
 * Files of Linux that a program can wait for, for tests that compare the library with
 * poll(2) and epoll(7): how each is made, what makes it ready, and what calms it.
 */
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

#include "xt.h"

enum { FILE_QUEUE, FILE_POLL, FILE_SEEN, FILE_EDGE, FILE_FDS = FILE_EDGE + 3 };

/*
 * One file, opened for the queue, for poll(2), for the kind itself, and for an epoll set of
 * each filter: where poll(2) takes away what it reports, each has an open file of its own,
 * else all are one.
 */
struct kernel_file {
	const struct kernel_kind *kind;
	int fds[FILE_FDS];
	int other;  /* the other end, a child, a process: the kind's own; -1: none */
	int helper; /* the same */
	void *memory[FILE_FDS];
};

struct kernel_kind {
	const char *name;
	bool consumed; /* poll(2) takes away what it reports */
	/* Returns false if there is no such file here. */
	bool (*make)(struct kernel_file *file);
	void (*stir)(struct kernel_file *file); /* NULL: nothing makes it ready */
	void (*calm)(struct kernel_file *file); /* NULL: poll(2) does */
};

extern const struct kernel_kind kernel_kinds[];
extern const int kernel_kinds_count;

/*
 * Enter namespaces of mounts and of host names, in which a test may change both.  False:
 * not possible here, and such files are not among those that can be made.
 */
bool kernel_files_begin(void);

/* The file, all of which is closed when the test ends; false: there is none here. */
bool kernel_file_make(struct kernel_file *file, const struct kernel_kind *kind);
const struct kernel_kind *kernel_kind(const char *name);

#endif

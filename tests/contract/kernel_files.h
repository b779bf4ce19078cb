/*
 * Files of Linux that a program can wait for, for tests that compare the library with
 * poll(2) and epoll(7): how each is made, what makes it ready, and what calms it.
 */
#ifndef KERNEL_FILES_H
#define KERNEL_FILES_H

#include "xt.h"

enum { FILE_QUEUE, FILE_POLL, FILE_SEEN, FILE_EDGE, FILE_FDS = FILE_EDGE + 3 };

/*
 * A file, opened for the queue, for poll(2), for the functions of its kind, and for an epoll set of
 * each filter.  If poll(2) clears what it reports, each has an open file of its own, else all share
 * one.
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
	bool consumed; /* poll(2) clears what it reports */
	int filters;   /* that programs register of it: R, W, X */
	/* Returns false if there is no such file here. */
	bool (*make)(struct kernel_file *file);
	void (*stir)(struct kernel_file *file); /* NULL: nothing makes it ready */
	void (*calm)(struct kernel_file *file); /* NULL: poll(2) does */
};

enum { R = 1, W = 2, X = 4 };

/* All kinds, by a number from 0 on; NULL: there are no more. */
const struct kernel_kind *kernel_kind_at(int n);
/* The first of them: those that are consumed (kernel_news.c). */
extern const struct kernel_kind kernel_news[];
extern const int kernel_news_count;

/*
 * Enter a namespace of mounts, in which a test may change them.  Returns false if that is
 * not possible: then no mount table is among the files.
 */
bool kernel_files_begin(void);

/* The file, all of which is closed when the test ends; false: there is none here. */
bool kernel_file_make(struct kernel_file *file, const struct kernel_kind *kind);
const struct kernel_kind *kernel_kind(const char *name);
/*
 * A child that does the work for each byte that is written to file->other, and answers it
 * through file->helper; it ends with the test.  -1: none can be made.
 */
int kernel_child_begin(struct kernel_file *file, void (*work)(void));
/* Have the child do its work once; returns when it is done. */
void kernel_child_work(struct kernel_file *file);
enum { KERNEL_RING_PAGES = 3 }; /* of a counter's memory: the head and two of data */

/* Release what is no descriptor; call before the next file is made in the same test. */
void kernel_file_end(struct kernel_file *file);

#endif

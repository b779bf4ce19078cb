/*
 * Files of Linux for which a program can wait, for tests that compare the
 * library with poll(2) and epoll(7): how each is created, made ready, and made
 * not ready.
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
	int other;  /* the other end, a child or a process, depending on the kind; -1: none */
	int helper; /* a second such descriptor */
	void *memory[FILE_FDS];
};

struct kernel_kind {
	const char *name;
	bool consumed; /* poll(2) clears what it reports */
	int filters;   /* the filters that programs register for this kind: R, W, X */
	/* Create the file.  Returns false if this system has no such file. */
	bool (*make)(struct kernel_file *file);
	void (*stir)(struct kernel_file *file); /* make the file ready; NULL: not possible */
	void (*calm)(struct kernel_file *file); /* end the readiness; NULL: poll(2) does that */
};

enum { R = 1, W = 2, X = 4 };

/* Returns the n-th kind, counted from 0; NULL: there are no more. */
const struct kernel_kind *kernel_kind_at(int n);
/* The kinds whose poll(2) clears what it reports come first (kernel_news.c). */
extern const struct kernel_kind kernel_news[];
extern const int kernel_news_count;

/*
 * Enter a mount namespace, in which a test may change mounts.  If that is not possible, returns
 * false, and mount tables are left out.
 */
bool kernel_files_begin(void);

/*
 * Create a file; its descriptors are closed when the test ends.  Returns false if this system has
 * no such file.
 */
bool kernel_file_make(struct kernel_file *file, const struct kernel_kind *kind);
const struct kernel_kind *kernel_kind(const char *name);
/*
 * Start a child that calls `work` for each byte written to file->other, and then answers through
 * file->helper; the child ends with the test.  Returns -1 if that fails.
 */
int kernel_child_begin(struct kernel_file *file, void (*work)(void));
/* Have the child do its work once; returns when it is done. */
void kernel_child_work(struct kernel_file *file);
/* pages of a performance counter's memory: the header and two of data */
enum { KERNEL_RING_PAGES = 3 };

/*
 * Release resources other than descriptors; to be called before the same test creates the next
 * file.
 */
void kernel_file_end(struct kernel_file *file);

#endif

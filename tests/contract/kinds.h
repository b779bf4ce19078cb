/*
 * kinds: descriptors of every kind and state that a test can create on this
 * system, for comparisons of the library with poll(2).
 */
#ifndef KINDS_H
#define KINDS_H

#include "xt.h"

enum {
	/* An unconnected stream socket: the event level delivers nothing for it. */
	KIND_EVENT_SILENT = 1,
	/* A regular file: the event level compares the offset with the size. */
	KIND_FILE = 2,
};

/* The operations that bring one end of a pipe or of a socket pair into its state. */
struct kind_pair {
	int type;      /* type of the socket; 0: a pipe */
	bool writer;   /* of a pipe: use the write end */
	bool put;      /* the peer writes a byte */
	bool fill;     /* the end fills its own send buffer, or the pipe */
	bool unread;   /* the end writes a byte that its peer does not read */
	int shut;      /* shutdown(2) of the end: 1 + SHUT_...; 0: none */
	int shut_peer; /* the same by the peer */
	bool close_peer;
};

struct kind {
	const char *name;
	int (*make)(const struct kind *); /* returns the descriptor; -1: not supported here */
	int traits;
	struct kind_pair pair;
};

extern const struct kind kinds[];
extern const int kinds_count;

#endif

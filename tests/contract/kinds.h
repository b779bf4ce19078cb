/*
 * kinds: descriptors of every sort and state that can be made here, for tests
 * that compare the library with poll(2).
 */
#ifndef KINDS_H
#define KINDS_H

#include "xt.h"

enum {
	/* An unconnected stream socket: the event level says nothing of it. */
	KIND_EVENT_SILENT = 1,
	/* A regular file: the event level goes by the offset. */
	KIND_FILE = 2,
};

/* An operation on one end of a pipe or of a UNIX socket pair. */
struct kind_pair {
	int type;      /* of the socket */
	bool writer;   /* pipe: the end meant */
	bool put;      /* its peer writes a byte */
	bool fill;     /* it fills its own send buffer; pipe: the pipe is full */
	bool unread;   /* it writes a byte that its peer does not read */
	int shut;      /* 1 + SHUT_..., 0: nothing */
	int shut_peer; /* the same by the peer */
	bool close_peer;
};

struct kind {
	const char *name;
	int (*make)(const struct kind *); /* -1: no such thing here */
	int traits;
	struct kind_pair pair;
};

extern const struct kind kinds[];
extern const int kinds_count;

#endif

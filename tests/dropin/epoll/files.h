/* The files that random.c watches, on both sides: how they are made, and what happens to them. */
#ifndef FILES_H
#define FILES_H

#include "side.h"
#include "xt.h"

enum kind {
	PIPE, PIPE_END, FIFO, TCP, UDP, UNIX, LISTENER, PTY, EVENTFD, TIMERFD, SIGNALFD,
	NESTED, KINDS
};
extern const char *const kind_names[KINDS];
enum mode { LEVEL, EDGE, ONESHOT, EDGE_ONCE, EXCLUSIVE, MODES };
enum { SIDES = 2, SETS = 2, SLOTS = 9 };

/* A file that is watched: on each side the descriptor and its peer, -1 if that is closed. */
struct slot {
	enum kind kind;
	int fd[SIDES], peer[SIDES];
	const struct side *calls[SIDES];
	bool is_shut;         /* the peer has shut down */
	int copies;           /* slots of duplicates, by a bit each, with this one */
	bool is_in[SETS];     /* registered */
	uint32_t events[SETS];
	enum mode mode[SETS]; /* of the last ADD or MOD */
};

/* Make the file of a side; a set is made by the caller. */
void file_make(struct slot *slot, int side, const struct side *calls);
/*
 * Events in the life of a file on one side.  put: something to be read arrives, and is there
 * when the function returns; a pipe's end gets room.  get: the file is read.  fill: no room is
 * left.  shut: the peer shuts down.  close: it closes.
 */
void file_put(const struct slot *slot, int side);
void file_get(const struct slot *slot, int side);
void file_fill(const struct slot *slot, int side);
void file_shut(const struct slot *slot, int side);
void file_close_peer(struct slot *slot, int side);

#endif

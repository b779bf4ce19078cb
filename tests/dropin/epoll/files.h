/* The files of a random program: how they are made, and what happens to them. */
#ifndef FILES_H
#define FILES_H

#include "xt.h"

enum kind {
	PIPE, PIPE_END, FIFO, TCP, UDP, UNIX, LISTENER, PTY, EVENTFD, TIMERFD, SIGNALFD,
	NESTED, KINDS
};
extern const char *const kind_names[KINDS];
enum mode { LEVEL, EDGE, ONESHOT, EDGE_ONCE, EXCLUSIVE, MODES };
enum { SETS = 2, SLOTS = 9 };
/* Each signalfd has this signal in its mask; the signal is blocked. */
enum { FILE_SIGNAL = SIGUSR2 };

/* A file that is watched. */
struct slot {
	enum kind kind;
	int fd;
	int peer;             /* -1: closed, or there is none */
	bool is_shut;         /* the peer has shut down */
	int copies;           /* slots of duplicates, by a bit each, with this one */
	bool is_in[SETS];     /* registered */
	uint32_t events[SETS];
	enum mode mode[SETS]; /* of the last ADD or MOD */
	bool is_unsure[SETS]; /* after an allowed difference, until the next ADD or MOD */
};

/* Make the file of a slot; the descriptor of a set is that of the caller. */
void file_make(struct slot *slot);
/*
 * Events in the life of a file.  put: something to be read arrives, and is there when the function
 * returns; a pipe's end gets room.  get: the file is read; returns how much.  fill: no room is
 * left.  shut: the peer shuts down.  close: it closes.
 */
void file_put(const struct slot *slot, uint64_t value);
uint64_t file_get(const struct slot *slot);
void file_fill(const struct slot *slot);
void file_shut(const struct slot *slot);
void file_close_peer(struct slot *slot);

#endif

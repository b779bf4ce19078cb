/*
 * The files of a random program: functions that make them and cause activity.
 */
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
	int peer;             /* descriptor of the other end; -1: closed, or there is none */
	bool is_shut;         /* the peer has shut down */
	/* bit set of the slots with duplicates of this file, and of this slot */
	int copies;
	bool is_in[SETS];     /* registered in this set */
	uint32_t events[SETS];
	enum mode mode[SETS]; /* mode of the last ADD or MOD */
	/*
	 * an allowed difference has occurred since the last ADD or MOD, so the entry's state is
	 * unknown
	 */
	bool is_unsure[SETS];
};

/* Make the file of a slot; for a set the caller has stored the descriptor. */
void file_make(struct slot *slot);
/*
 * Activity of a file.  put: data arrives, and is there when the function returns; a pipe's write
 * end gets room.  get: read the file; returns the number of bytes, or the value.  fill: write until
 * there is no room.  shut: the peer shuts down.  close: the peer closes.
 */
void file_put(const struct slot *slot, uint64_t value);
uint64_t file_get(const struct slot *slot);
void file_fill(const struct slot *slot);
void file_shut(const struct slot *slot);
void file_close_peer(struct slot *slot);

#endif

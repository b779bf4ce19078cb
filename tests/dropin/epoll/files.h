/* Functions that make the files of a random program (program.h) and cause activity of a file. */
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
	/* bit set of the slots whose descriptors are duplicates of this one, and of this slot */
	int copies;
	bool is_in[SETS];     /* registered in this set */
	uint32_t events[SETS];
	enum mode mode[SETS]; /* mode of the last ADD or MOD */
	/*
	 * Since the last ADD or MOD a result has differed from that of Linux in an allowed way, so
	 * the state of the entry is not known.
	 */
	bool is_unsure[SETS];
};

/* Make the file of a slot; for a set the caller has stored the descriptor. */
void file_make(struct slot *slot);
/*
 * Have data arrive at the file, before the function returns; at the write end of a pipe, make room.
 */
void file_put(const struct slot *slot, uint64_t value);
/* Read the file.  Returns the number of bytes, or the value of an eventfd or timerfd. */
uint64_t file_get(const struct slot *slot);
/* Write to the file until there is no room. */
void file_fill(const struct slot *slot);
/* Have the peer shut down its side. */
void file_shut(const struct slot *slot);
/* Close the peer's descriptor. */
void file_close_peer(struct slot *slot);

#endif

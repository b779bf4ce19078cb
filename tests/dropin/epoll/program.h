/*
 * A random program for epoll(7): steps on files of all kinds that are
 * registered in two sets, and the results of each step.
 *
 * draw.c chooses the steps, perform.c carries them out on the epoll(7) of the
 * process, and recording.c writes steps with their results as lines of text,
 * and reads them:
 *
 *     ADD 3 0 80000005 = 0
 *     wait 0 0 8 = 0 3:5*1 7:1*2
 *
 * These are the operation, the slot, the set, a number, and after "=" the name
 * of the errno value or 0.  After a wait follow the reported slots, each with
 * its bits and how often it was reported.  After a read follows the number of
 * bytes, or the value of an eventfd or a timerfd.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "files.h"

enum op {
	ADD, MOD, DEL, PUT, GET, FILL, SHUT, CLOSE_PEER, CLOSE, DUP, WAIT, WAITERS, MAKE, OPS
};
extern const char *const op_names[OPS];
extern const char *const mode_names[MODES];
/* The EPOLL* flags of each mode, indexed by enum mode. */
extern const uint32_t mode_flags[MODES];

struct step {
	enum op op;
	int index; /* the slot's index */
	int set;
	/*
	 * ADD and MOD: events.  PUT: the value for an eventfd.  DUP: the slot that becomes the
	 * duplicate.  WAIT: maxevents.  WAITERS: number of threads.  MAKE: the kind of the new
	 * file.
	 */
	uint32_t value;
};

/*
 * The data of the stop pipe, which ends the waits of threads; the data of all other entries are
 * their slots.
 */
enum { STOP = SLOTS };

/* The events that were reported of each slot: the union of their bits, and their number. */
struct seen {
	uint32_t events[SLOTS + 1];
	int count[SLOTS + 1];
};

struct answer {
	char error[16]; /* "0", or the name of the errno value */
	uint64_t value; /* result of a read */
	struct seen seen;
};

/* perform.c: the state of this process's program -------------------------------------- */

extern struct state {
	struct slot slots[SLOTS];
	int set[SETS];
	int step; /* number of the present step */
} state;

void perform_begin(void);
/* Carry out a step with this process's epoll(7), and add the results to *answer. */
void perform(const struct step *step, struct answer *answer);
/* Repeat the wait of a wait step, because some files report late. */
void perform_again(const struct step *step, struct answer *answer);
/*
 * Called after a step, with the answer of Linux: if the step was a successful ADD, MOD or DEL,
 * updates what the slot says of its registration in the set.
 */
void program_note(const struct step *step, const struct answer *answer);
void perform_end(void);

/* recording.c --------------------------------------------------------------------------- */

void recording_write(FILE *file, const struct step *step, const struct answer *answer);
/* Returns false at the end of the recording, or if the text is malformed. */
bool recording_read(FILE *file, struct step *step, struct answer *answer);

/*
 * pairs_count counts a step in the table of pairs; pairs_ran returns how often the step's pair of
 * operation and kind has run.
 */
void pairs_count(const struct step *step, const struct answer *answer);
long pairs_ran(const struct step *step, enum op op);
/*
 * If XPOLL_EPOLL_PAIRS is set, print how often each operation met each kind of file in each mode.
 * Returns the number of pairs that never ran.
 */
int pairs_print(void);

/* draw.c --------------------------------------------------------------------------------- */

/* Choose the next step. */
void draw(struct step *step, uint64_t *random);
/* Choose the first file of a slot, at the beginning and after a close. */
void draw_make(struct step *step, int index, uint64_t *random);

#endif

/*
 * One descriptor, a model of epoll, and the behaviour that the contract
 * requires: see explore.c.
 */
#ifndef EXPLORE_MODEL_H
#define EXPLORE_MODEL_H

#include "xt.h"

enum { LENGTH_MOST = 64 };

enum step {
	ADD, ADD_WRITE = ADD + 4,  /* ADD of READ, then of WRITE, each in four modes */
	DELETE = ADD_WRITE + 4, DELETE_WRITE,
	ENABLE, ENABLE_WRITE,
	DISABLE, DISABLE_WRITE,
	PUT, TAKE, FILL,           /* another program writes, reads, or fills the file */
	LOOK,                      /* a wait that does not sleep */
	PEEK,                      /* the same at the poll-like level */
	/* a thread goes to sleep, and the next steps are another thread's, until */
	SLEEP, NAP,
	DOZE,                      /* (DOZE sleeps at the poll-like level) */
	COME_OUT,                  /* COME_OUT: the thread has an event or is woken, */
	EXPIRE,                    /* EXPIRE: or its deadline has passed */
	/* the thread has taken reports, and comes out or expires in a later step */
	HARVEST,
	STEPS
};

extern const char *const step_names[STEPS];

/* The sequence to be run, and its length. */
extern uint8_t sequence[LENGTH_MOST];
extern int length;
/* The violation of the contract; NULL: none was found. */
extern const char *fault;
/* State after the last run, on which all later behaviour depends. */
extern uint64_t state_at_end;

/* Open the file that the sequences use. */
void explore_open(void);
void explore_close(void);

/* Run the sequence from the beginning.  Returns false if one of its steps cannot be made. */
bool run(void);

#endif

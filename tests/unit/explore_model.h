/* A descriptor, a model of epoll, and what the contract says of both: explore.c. */
#ifndef EXPLORE_MODEL_H
#define EXPLORE_MODEL_H

#include "xt.h"

enum { LENGTH_MOST = 64 };

enum step {
	ADD, ADD_WRITE = ADD + 4,  /* READ, then WRITE; each in four modes */
	DELETE = ADD_WRITE + 4, DELETE_WRITE,
	ENABLE, ENABLE_WRITE,
	DISABLE, DISABLE_WRITE,
	PUT, TAKE, FILL,           /* what another program does with the file */
	LOOK,                      /* a wait that does not sleep */
	PEEK,                      /* the same at the poll-like level */
	SLEEP, NAP,                /* a thread sleeps; what follows is another's, until */
	DOZE,                      /* (at the poll-like level) */
	COME_OUT,                  /* something is there for it, or it is woken; */
	EXPIRE,                    /* its deadline is over; */
	HARVEST,                   /* it has taken something: it comes out or expires later */
	STEPS
};

extern const char *const step_names[STEPS];

/* The sequence to be gone through, and its length. */
extern uint8_t sequence[LENGTH_MOST];
extern int length;
/* The violation of the contract; NULL: none was found. */
extern const char *fault;
/* State after the last run, on which all later behaviour depends. */
extern uint64_t state_at_end;

/* The file that the sequences are about. */
void explore_open(void);
void explore_close(void);

/* Go through the sequence from the beginning; false: it cannot be. */
bool run(void);

#endif

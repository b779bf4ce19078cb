/*
 * A storm of pthread_cancel, for tests of the library and of both drop-ins: a thread waits, then
 * disables cancellation and reads with a mutex held; another thread ends its wait and cancels it;
 * then the next thread begins.
 *
 * A thread may be cancelled inside its wait, never inside its read: a cancel signal that a wait
 * leaves behind would end the thread there, and the mutex would stay locked.
 */
#ifndef XT_CANCEL_H
#define XT_CANCEL_H

#include "xt.h"

struct xt_late;

struct xt_storm {
	/* Wait once until pipe.r is readable; limited: for at most 50 us. */
	void (*wait)(struct xt_storm *storm, bool limited);
	void *object; /* the object that `wait` uses */
	bool limited;
	struct xt_pair pipe;
	int zero;            /* /dev/zero, from which a read never waits */
	struct xt_pair gate; /* blocking; has a byte once the cancel signal is sent */
	struct xt_late *late;
	struct xt_thread *thread; /* the thread that is cancelled */
	pthread_mutex_t mutex;    /* held while a thread reads */
	atomic_int begun;         /* 1: the thread is about to wait for the first time */
	atomic_int cancelling;    /* 1: pthread_cancel has been or is about to be called */
	atomic_int reading;       /* 1: the thread is about to read from the gate */
	atomic_int died_inside;   /* number of threads that ended with the mutex locked */
	atomic_int cancelled;     /* number of threads that ended by cancellation */
	atomic_int waits;         /* number of waits that returned */
};

/* Open the descriptors, or skip the test. */
#define XT_STORM_PREPARE(storm)                                                   \
	do {                                                                      \
		if (XT_SANITIZED)                                                 \
			XT_SKIP("a sanitizer loses track of a cancelled thread"); \
		xt_storm_prepare(storm);                                          \
	} while (0)

void xt_storm_prepare(struct xt_storm *storm);
/*
 * Cancel `count` threads, one after the other, for each second of XPOLL_STRESS_SECONDS.  The caller
 * must have set storm->wait and storm->object.
 */
void xt_storm_run(struct xt_storm *storm, int count);

/*
 * Makes cancel signals late: between pthread_cancel's marking of the thread as cancelled and its
 * sending of the signal, before_signal is called.  Returns NULL if this system cannot delay the
 * signal.
 */
struct xt_late *xt_late_new(void (*before_signal)(void *argument), void *argument);
void xt_late_send(struct xt_late *late, pthread_t thread);
void xt_late_free(struct xt_late *late); /* joins the threads of `late` */

#endif

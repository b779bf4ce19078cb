/*
 * Observation of signals: what the source SIGNAL needs from its provider.
 *
 * A self-pipe is a descriptor, one per queue, that becomes readable when a signal that it wants was
 * delivered to the process.  A count for each signal shows how often.
 */
#ifndef XP_SOURCE_SIGNAL_H
#define XP_SOURCE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/wakefd.h"

/* One more than the highest signal number; FreeBSD's NSIG leaves out real-time signals. */
#ifdef _SIG_MAXSIG
enum { XP_SIGNALS = _SIG_MAXSIG + 1 };
#else
enum { XP_SIGNALS = NSIG };
#endif

struct xp_selfpipe;
struct sigaction;

/* Open a self-pipe.  Returns 0 or a negative errno value. */
int xp_selfpipe_open(struct xp_selfpipe **selfpipe);
struct xp_wakefd xp_selfpipe_wakefd(const struct xp_selfpipe *selfpipe);
/*
 * Make signals write to the descriptor from now on; called before a thread may sleep.  Returns true
 * if a signal has come already.
 */
bool xp_selfpipe_arm(struct xp_selfpipe *selfpipe);
/* No thread sleeps: signals need not write until it is armed again. */
void xp_selfpipe_disarm(struct xp_selfpipe *selfpipe);
/*
 * Allow further writes to the self-pipe, after its signals were counted.  reported: the descriptor
 * is known to be readable.
 */
void xp_selfpipe_clear(struct xp_selfpipe *selfpipe, bool reported);
/* Close a self-pipe; not in a forked child, which has only its descriptor. */
void xp_selfpipe_close(struct xp_selfpipe *selfpipe);
/* Set whether the self-pipe wants this signal.  Returns false if that is not new. */
bool xp_selfpipe_want(struct xp_selfpipe *selfpipe, unsigned number, bool want);
/* Make the self-pipes readable that want the signal.  Async-signal-safe, and never blocks. */
void xp_selfpipes_signal(unsigned number);
/* In a new process: forget the self-pipes, which are the parent's. */
void xp_selfpipes_begin(void);

/*
 * Observe a signal for a self-pipe.  If the program has replaced our handler since, it is installed
 * again.  Does nothing if observing would change the effect of the signal.
 *
 * -EINVAL: no such signal, or it cannot be observed; -EBUSY: the program has changed its action too
 * often.  *losses: see xp_signal_losses.
 */
int xp_signal_observe(struct xp_selfpipe *selfpipe, unsigned number, uint64_t *losses);
/* Returns true if our handler is still installed. */
bool xp_signal_in_place(unsigned number);
/*
 * Returns true if the program has a handler for any signal.  Makes one system call for each signal,
 * and takes no lock.
 */
bool xp_signal_program_handles(void);
/* Install our handler again, if the signal is observed; async-signal-safe. */
int xp_signal_observe_again(unsigned number);
/*
 * sigaction(2) as if the signal were not observed: sets and returns the action behind our handler.
 * Async-signal-safe.
 */
int xp_signal_action(unsigned number, const struct sigaction *action,
                     struct sigaction *before);
void xp_signal_ignore(struct xp_selfpipe *selfpipe, unsigned number);

/*
 * Blocked signals.  Each has a descriptor in a set, which is a descriptor too, and becomes readable
 * when such a signal is sent and stays pending.
 */

/* Open a set.  Returns its descriptor or a negative errno value; -ENOTSUP: not supported. */
int xp_pending_open(void);
/* Add a descriptor for the signal and return it; or return a negative errno value. */
int xp_pending_watch(int set, unsigned number);
/* Returns the number of a signal that was reported since the last call, or 0. */
unsigned xp_pending_next(int set);
/* Returns true if the calling thread blocks the signal and the signal is pending. */
bool xp_pending_now(unsigned number);
/*
 * The signal was reported again.  Returns true if it may have been accepted and sent again:
 * all threads block it, and the program has no handler for it.
 */
bool xp_pending_may_be_new(unsigned number);
/*
 * A pending signal is not pending any more.  Returns true if no handler can be about to
 * run for it, because all other threads sleep.
 */
bool xp_pending_is_gone(void);
/*
 * Accept the signal of this descriptor as often as it is pending, count it, and make the
 * self-pipes of all queues readable.  Returns false if a thread does not block it.
 */
bool xp_pending_accept(int fd, unsigned number);
/* Count signals that were accepted. */
void xp_signal_accepted(unsigned number, unsigned count);

/* Returns the number of deliveries so far, with accepted ones; it may grow at any time. */
uint64_t xp_signal_delivered(unsigned number);

/* Returns how often the program has ended the observation of this signal. */
uint64_t xp_signal_losses(unsigned number);

/* Initialise in a new process, perhaps a copy of one whose threads held the lock. */
void xp_signal_begin(void);

#endif

/*
 * Noticing that signals are delivered: what SIGNAL asks of its provider.
 *
 * A self-pipe is a descriptor, one per queue, that becomes readable when a signal
 * the self-pipe wants was delivered to the process.  How often it was, each
 * signal's count says.
 */
#ifndef XP_SOURCE_SIGNAL_H
#define XP_SOURCE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/wakefd.h"

/* One more than the highest; FreeBSD's NSIG leaves real-time signals out. */
#ifdef _SIG_MAXSIG
enum { XP_SIGNALS = _SIG_MAXSIG + 1 };
#else
enum { XP_SIGNALS = NSIG };
#endif

struct xp_selfpipe;
struct sigaction;

/* 0 or a negative errno value. */
int xp_selfpipe_open(struct xp_selfpipe **selfpipe);
struct xp_wakefd xp_selfpipe_wakefd(const struct xp_selfpipe *selfpipe);
/*
 * Have signals make the descriptor readable from now on; true: some have come already.
 * Before anybody may sleep.
 */
bool xp_selfpipe_arm(struct xp_selfpipe *selfpipe);
/* Nobody sleeps: they need not until it is armed again. */
void xp_selfpipe_disarm(struct xp_selfpipe *selfpipe);
/*
 * The self-pipe may be written to again; the signals that did so are counted.  reported: the
 * descriptor is known to be readable.
 */
void xp_selfpipe_clear(struct xp_selfpipe *selfpipe, bool reported);
/* Not in a forked child, where the self-pipe is gone and only its descriptor open. */
void xp_selfpipe_close(struct xp_selfpipe *selfpipe);
/* Does it want this signal from now on?  False: that is not new. */
bool xp_selfpipe_want(struct xp_selfpipe *selfpipe, unsigned number, bool want);
/* Ring all that want it.  Async-signal-safe, and never waits. */
void xp_selfpipes_signal(unsigned number);
/* A process begins: none of the self-pipes is its own. */
void xp_selfpipes_begin(void);

/*
 * Have the signal ring the self-pipe.  If the program has changed the signal's
 * action since, this is made up for.  Does nothing where observing would
 * change what the signal does.
 *
 * -EINVAL: no such signal, or not to be observed; -EBUSY: the program has
 * changed its action too often.  *losses: see xp_signal_losses.
 */
int xp_signal_observe(struct xp_selfpipe *selfpipe, unsigned number, uint64_t *losses);
/* Is there nothing to be made up for? */
bool xp_signal_in_place(unsigned number);
/*
 * Returns true if the program has a handler of its own for any signal.  Makes one system
 * call for each signal, and takes no lock.
 */
bool xp_signal_program_handles(void);
/* That again, for whoever observes it; async-signal-safe. */
int xp_signal_observe_again(unsigned number);
/*
 * sigaction(2) as if nobody observed the signal: sets and shows what is behind
 * our handler.  Async-signal-safe.
 */
int xp_signal_action(unsigned number, const struct sigaction *action,
                     struct sigaction *before);
void xp_signal_ignore(struct xp_selfpipe *selfpipe, unsigned number);

/*
 * Blocked signals.  Each has a descriptor in a set, which is a descriptor as well and
 * becomes readable when such a signal is sent and stays pending.
 */

/* Make a set.  Returns a negative errno value on failure: -ENOTSUP where there is none. */
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

/* Deliveries so far, with those that were accepted; grows at any time. */
uint64_t xp_signal_delivered(unsigned number);

/* How often the program has ended the observation of this signal. */
uint64_t xp_signal_losses(unsigned number);

/* A process begins, perhaps as a copy of one whose threads were in here. */
void xp_signal_begin(void);

#endif

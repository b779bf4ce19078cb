/*
 * Observation of signals: the functions that the source SIGNAL needs from its provider, such as
 * posix/signal_handler.c.
 *
 * A self-pipe, one per queue, has a descriptor that becomes readable when a signal that it wants
 * was delivered to the process.  A count for each signal shows how often it was delivered.
 */
#ifndef XP_SOURCE_SIGNAL_H
#define XP_SOURCE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/wakefd.h"

/*
 * One more than the highest signal number.  On FreeBSD that is not NSIG, which leaves out real-time
 * signals.
 */
#ifdef _SIG_MAXSIG
enum { XP_SIGNALS = _SIG_MAXSIG + 1 };
#else
enum { XP_SIGNALS = NSIG };
#endif

struct xp_selfpipe;
struct sigaction;

/* Open a self-pipe.  Returns 0 or a negative errno value. */
int xp_selfpipe_open(struct xp_selfpipe **selfpipe);
/* Returns the self-pipe's descriptors: the queue watches one, and a forked child closes both. */
struct xp_wakefd xp_selfpipe_wakefd(const struct xp_selfpipe *selfpipe);
/*
 * Make handlers write to the self-pipe's descriptor from now on; called before a thread may sleep.
 * Returns true if a wanted signal has been delivered since the last xp_selfpipe_clear.
 */
bool xp_selfpipe_arm(struct xp_selfpipe *selfpipe);
/*
 * Allow handlers not to write to the self-pipe's descriptor until the next xp_selfpipe_arm, because
 * no thread sleeps.
 */
void xp_selfpipe_disarm(struct xp_selfpipe *selfpipe);
/*
 * Make the self-pipe's descriptor unreadable, and have the handler of the next signal write to the
 * descriptor again.  The caller reads the counts of signals afterwards.  reported: the descriptor
 * is known to be readable.
 */
void xp_selfpipe_clear(struct xp_selfpipe *selfpipe, bool reported);
/* Close a self-pipe.  Not for a forked child, which closes only the descriptors. */
void xp_selfpipe_close(struct xp_selfpipe *selfpipe);
/* Set whether the self-pipe wants this signal.  Returns false if that changes nothing. */
bool xp_selfpipe_want(struct xp_selfpipe *selfpipe, unsigned number, bool want);
/*
 * Record the signal in all self-pipes that want it, and make those of them readable that are armed.
 * Async-signal-safe, and never blocks.
 */
void xp_selfpipes_signal(unsigned number);
/* In a new process, perhaps a forked child: forget the self-pipes of the parent. */
void xp_selfpipes_init_process(void);

/*
 * Observe a signal for a self-pipe: from now on its deliveries are counted.  If the program has
 * replaced the library's handler since an earlier call, the handler is installed again.  If a
 * handler in place of the signal's present action (ignore the signal, or end the process) would
 * change what the signal does, installs none and returns 0.
 *
 * -EINVAL: no such signal, or it cannot be observed; -EBUSY: the program has changed its action too
 * often.  *losses: see xp_signal_handler_losses.
 */
int xp_signal_observe(struct xp_selfpipe *selfpipe, unsigned number, uint64_t *losses);
/*
 * Returns true if xp_signal_observe has nothing to do: the library's handler is installed, or the
 * signal's action is one that the handler must not replace, such as the end of the process.
 */
bool xp_signal_observe_is_noop(unsigned number);
/*
 * Returns true if the program has a handler for any signal.  Takes no lock, and makes at most one
 * system call for each signal, until it finds a handler.
 */
bool xp_signal_any_is_handled(void);
/*
 * If the signal is observed, install the library's handler again, unless that handler is installed.
 * Async-signal-safe.  Returns 0 or an error.
 */
int xp_signal_reinstall(unsigned number);
/*
 * Does for an observed signal what sigaction(2) does for another: sets the program's action, which
 * the library's handler calls, and stores the program's previous one.  action NULL: only stores
 * that.  Async-signal-safe.
 */
int xp_signal_action(unsigned number, const struct sigaction *action,
                     struct sigaction *before);
/*
 * End the observation of a signal for a self-pipe.  If no other self-pipe wants the signal, restore
 * the program's action.
 */
void xp_signal_unobserve(struct xp_selfpipe *selfpipe, unsigned number);

/*
 * Blocked signals, for which no handler runs.  Each has a descriptor, such as a signalfd, in a set,
 * which is a descriptor, too.  The set becomes readable when such a signal is sent and stays
 * pending.
 */

/* Open a set.  Returns its descriptor or a negative errno value; -ENOTSUP: this system has none. */
int xp_pending_open_set(void);
/*
 * Open a descriptor for the signal, and add it to the set.  Returns the descriptor, or a negative
 * errno value.
 */
int xp_pending_open_fd(int set, unsigned number);
/*
 * Returns the number of a signal that was sent since this function last returned that number; 0:
 * there is none.
 */
unsigned xp_pending_next(int set);
/*
 * Returns true if the calling thread blocks the signal and the signal is pending; false also on
 * systems other than Linux.
 */
bool xp_pending_now(unsigned number);
/*
 * Call if the descriptor of a blocked signal has reported a pending signal again.  Returns true if
 * it may be a new signal: a thread has accepted the first one by sigwait(3), and another was sent.
 * If the program has no handler for the signal, and all other threads block it (or it is unknown
 * whether they do), no handler can have taken the first one, so this returns true.
 */
bool xp_pending_may_be_resent(unsigned number);
/*
 * Call if a pending signal is not pending any more: a handler has taken and will count it, or a
 * thread has accepted it by sigwait(3).  Returns true if no handler can be about to run, because
 * all other threads sleep interruptibly or have exited: then the signal was accepted.  Returns true
 * also if the states of the threads are unknown.
 */
bool xp_pending_others_asleep(void);
/*
 * Accept the signal of this descriptor as often as it is pending, and call
 * xp_signal_count_accepted.  Returns false if some thread does not block the signal, or if the
 * signal was not pending any more.
 */
bool xp_pending_accept(int fd, unsigned number);
/* Add `count` accepted signals to the signal's deliveries, and call xp_selfpipes_signal. */
void xp_signal_count_accepted(unsigned number, unsigned count);

/*
 * Returns how often the signal was delivered or accepted so far.  A handler may increase this
 * number at any time.
 */
uint64_t xp_signal_delivered(unsigned number);

/* Returns how often the program has replaced the library's handler of this signal. */
uint64_t xp_signal_handler_losses(unsigned number);

/*
 * Initialise in a new process.  In a forked child the lock may be a copy that is locked for ever,
 * because a thread of the parent held it.
 */
void xp_signal_init_process(void);

#endif

/*
 * Holding back signals, so that one that comes between two sleeps of a call
 * interrupts the next sleep.  To the program the two are one.
 */
#ifndef DROPIN_SIGNALS_H
#define DROPIN_SIGNALS_H

#include <signal.h>

/*
 * Block all but those that report what this thread itself has done wrong; `mask` is
 * what was blocked before.  Async-signal-safe; leaves errno alone.
 */
void signals_hold(sigset_t *mask);
void signals_release(const sigset_t *mask);

#endif

/*
 * disturb: runs a function in a child, which is stopped, continued and deprived
 * of the processor at random until it ends.
 */
#ifndef DISTURB_H
#define DISTURB_H

#include <stdbool.h>

/*
 * Called by the child: true suspends the disturbance.  A thread that is stopped and continued
 * returns from epoll_wait, which would hide a missing wake-up.
 */
void disturb_pause(bool pause);

/* Run a function in a child.  Checks that fail there count as failures of the test. */
void disturb_child(void (*run)(void *), void *argument);

#endif

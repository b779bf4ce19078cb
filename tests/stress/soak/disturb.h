/*
 * disturb: run something in a child that is stopped, continued and starved of
 * the processor at random, until it ends.
 */
#ifndef DISTURB_H
#define DISTURB_H

#include <stdbool.h>

/*
 * By the child: leave it in peace for a while.  Who is stopped and continued
 * returns from epoll_wait, which would hide a wake that is missing.
 */
void disturb_pause(bool pause);

/* Run a function in a child; its failed checks are failures of the test. */
void disturb_child(void (*run)(void *), void *argument);

#endif

/* runner: what runs its tests, and what it has to be where there is no init. */
#ifndef RUNNER_H
#define RUNNER_H

#include <stdbool.h>

/* As process 1: a console, a loopback address, files that can be written. */
void init_begin(void);
/* Ends the system. */
void init_end(void);

#endif

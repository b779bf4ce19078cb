/* runner: what runs its tests, and what it has to be where there is no init. */
#ifndef RUNNER_H
#define RUNNER_H

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* As process 1: a console, a loopback address, files that can be written. */
void init_begin(void);
/* Ends the system. */
void init_end(void);

/* Every standard file is the kernel's console. */
static inline void init_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	for (int number = 0; fd >= 0 && number < 3; number++)
		if (fd != number)
			(void)dup2(fd, number);
	if (fd > 2)
		close(fd);
}

#endif

/* runner: runs test programs, as the first process (init) of a system under test. */
#ifndef RUNNER_H
#define RUNNER_H

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

/* Called as process 1: makes the console, the loopback address and a writable file system. */
void init_begin(void);
/* Power the system off. */
void init_end(void);

/* Make descriptors 0, 1 and 2 refer to the kernel's console. */
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

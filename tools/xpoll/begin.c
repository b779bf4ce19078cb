/* The process of the command: its standard descriptors and its signals. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tool.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

static void (*sigpipe_before)(int);

/*
 * Open closed standard descriptors; otherwise a queue could get one of their numbers, and output
 * would go to the queue.  The replacements can be neither read nor written, and are close-on-exec,
 * so a command that is started finds them closed.
 */
static void hold_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

void tool_begin(void)
{
	hold_standard_descriptors();
	/* If the reader of standard output exits, writes fail with EPIPE: tool_flush handles it. */
	sigpipe_before = signal(SIGPIPE, SIG_IGN);
}

void tool_restore_signals(void)
{
	(void)signal(SIGPIPE, sigpipe_before);
}

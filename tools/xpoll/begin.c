/*
 * The process that the command finds itself in: its standard descriptors and its
 * signals.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tool.h"

#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

static void (*sigpipe_before)(int);

/*
 * Of the standard descriptors those that are closed must not become a queue's, or
 * what is printed would go there.  What takes their place can neither be read nor
 * written, and a command that is started finds them closed.
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
	/* A reader that leaves is seen by tool_flush. */
	sigpipe_before = signal(SIGPIPE, SIG_IGN);
}

void tool_restore_signals(void)
{
	(void)signal(SIGPIPE, sigpipe_before);
}

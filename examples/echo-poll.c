/*
 * Send back what arrives, on any number of descriptors, with poll(2): the
 * starting point of Figure 4 of the kqueue paper.
 *
 *     echo-poll [FD]...       a terminal or sockets; default 0: the terminal
 *
 * echo-queue.c is this program converted line by line, and echo-udata.c is
 * what can become of it then: compare them side by side.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define FDS 1024

static struct pollfd pfd[FDS]; /* indexed by descriptor; fd is -1 in entries that are not watched */
static struct buffer {
	char text[4096];
	ssize_t len;
} buffers[FDS];
static int wanted;

static void update_fd(int fd, int events)
{
	wanted += (events != 0) - (pfd[fd].fd >= 0);
	pfd[fd].fd = events != 0 ? fd : -1;
	pfd[fd].events = (short)events;
}

static void readable_fd(int fd)
{
	buffers[fd].len = read(fd, buffers[fd].text, sizeof buffers[fd].text);
	update_fd(fd, buffers[fd].len > 0 ? POLLOUT : 0);
}

static void writeable_fd(int fd)
{
	ssize_t len = write(fd, buffers[fd].text, (size_t)buffers[fd].len);

	update_fd(fd, len == buffers[fd].len ? POLLIN : 0);
}

static int handle_events(void)
{
	int n = poll(pfd, FDS, -1);

	for (int i = 0; n > 0 && i < FDS; i++) {
		if (pfd[i].fd < 0 || pfd[i].revents == 0)
			continue;
		n--;
		if (pfd[i].revents & (POLLERR | POLLNVAL))
			update_fd(i, 0);
		else if (pfd[i].revents & POLLOUT)
			writeable_fd(i);
		else
			readable_fd(i);
	}
	return n;
}

int main(int argc, char **argv)
{
	for (int fd = 0; fd < FDS; fd++)
		pfd[fd].fd = -1;
	if (argc == 1)
		update_fd(STDIN_FILENO, POLLIN);
	for (int i = 1; i < argc; i++)
		update_fd(atoi(argv[i]) % FDS, POLLIN);
	while (wanted > 0)
		if (handle_events() < 0)
			return 1;
	return 0;
}

/*
 * Functions of struct crowd: an array that was polled so often that the kernel
 * watches it.
 */
#include "dropin.h"

__attribute__((noinline)) int crowd_poll(struct crowd *crowd, int timeout_ms)
{
	/*
	 * volatile, because with a tail call the drop-in would see the caller's place as that of
	 * the call.
	 */
	volatile int rc = poll(crowd->fds, CROWD, timeout_ms);

	return rc;
}

void crowd_settle(struct crowd *crowd)
{
	for (int i = 0; i < 2 * CROWD; i++)
		XT_EQ(crowd_poll(crowd, 0), 0);
}

void crowd_open(struct crowd *crowd)
{
	for (int i = 0; i < CROWD; i++) {
		crowd->pipes[i] = xt_pipe();
		crowd->fds[i] = (struct pollfd){
			.fd = crowd->pipes[i].r,
			.events = POLLIN,
		};
	}
	crowd_settle(crowd);
}

fd_set crowd_set(const struct crowd *crowd)
{
	fd_set set;

	FD_ZERO(&set);
	for (int i = 0; i < CROWD; i++)
		FD_SET(crowd->fds[i].fd, &set);
	return set;
}

int crowd_ready(struct crowd *crowd)
{
	int rc = crowd_poll(crowd, 0);

	if (rc != 1)
		return rc == 0 ? -1 : -2;
	for (int i = 0; i < CROWD; i++)
		if (crowd->fds[i].revents != 0)
			return i;
	return -2;
}

void crowd_reopen(int number)
{
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	if (pipe.r == number)
		return;
	/* fcntl fails if the descriptor is still in use, where dup2 would close it. */
	XT_EQ(fcntl(pipe.r, F_DUPFD_CLOEXEC, number), number);
	xt_keep(number);
}

int find_own(void)
{
	char path[40];
	char name[64];

	for (int fd = 200; fd < 4096; fd++) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		ssize_t len = readlink(path, name, sizeof name - 1);

		if (len <= 0)
			continue;
		name[len] = '\0';
		if (strcmp(name, "anon_inode:[eventpoll]") == 0)
			return fd;
	}
	return -1;
}

/* Where poll(2) refuses bits that are not in POSIX. */
#include "os/pollbits.h"

int xp_pollbits_refused(struct pollfd *fds, size_t count, int ready)
{
	int left = ready;

	for (size_t i = 0; i < count && left > 0; i++) {
		left -= fds[i].revents != 0;
		if (!(fds[i].revents & POLLNVAL) || !(fds[i].events & POLLRDHUP))
			continue;
		fds[i].events &= (short)~POLLRDHUP;
		if (poll(&fds[i], 1, 0) == 0)
			ready--;
	}
	return ready;
}

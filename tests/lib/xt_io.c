/* xt_io: small reads, writes and polls of descriptors.  Any thread may call them. */
#include "xt_internal.h"

#if defined(__FreeBSD__) || defined(__OpenBSD__) || defined(__NetBSD__) || defined(__APPLE__)
#include <sys/event.h>
#define IO_KEVENT 1
#endif

void xt_put(int fd)
{
	if (write(fd, "x", 1) != 1)
		xt_fail(__FILE__, __LINE__, "write to %d: %s", fd,
		        xt_error_name(errno));
}

struct xt_pair xt_ready_pair(void)
{
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	xt_put(pair.w);
	return pair;
}

int xt_get(int fd)
{
	char byte = 0;
	ssize_t got = read(fd, &byte, 1);

	if (got == 1)
		return (unsigned char)byte;
	return got == 0 ? 0 : -1;
}

void xt_fill(int fd)
{
	static const char block[4096];
	size_t size = sizeof block;

	/* Write single bytes at the end: a socket may refuse a block and accept less. */
	while (size > 0) {
		ssize_t put = write(fd, block, size);

		/* A datagram may be too long, or the receiver's buffer may be full. */
		if (put < 0 && errno != EAGAIN && errno != EMSGSIZE &&
		    errno != ENOBUFS)
			xt_broken("write");
		if (put < 0)
			size /= 2;
	}
}

int xt_drain(int fd)
{
	char block[4096];
	int total = 0;

	for (;;) {
		ssize_t got = read(fd, block, sizeof block);

		if (got <= 0)
			return total;
		total += (int)got;
	}
}

short xt_poll(int fd, int events)
{
	struct pollfd entry = {.fd = fd, .events = (short)events};

	if (poll(&entry, 1, 0) < 0)
		xt_broken("poll");
	return entry.revents;
}

/*
 * Returns true if all wanted bits are set; on the BSDs an error of a socket is not POLLERR, but
 * POLLIN or POLLHUP.
 */
static bool has_all(int revents, int wanted)
{
#ifdef __linux__
	return (revents & wanted) == wanted;
#else
	return wanted & POLLERR ? revents != 0 : (revents & wanted) == wanted;
#endif
}

#ifdef IO_KEVENT
/* Use a kqueue, because poll(2) of some systems does not report that the peer has ended. */
bool xt_ended(int fd)
{
	int64_t deadline = xt_now() + XT_SOON;
	int queue = kqueue();
	struct kevent change, event;
	bool over = false;

	EV_SET(&change, fd, EVFILT_READ, EV_ADD, 0, 0, 0);
	while (queue >= 0 && !over && xt_now() < deadline) {
		struct timespec moment = {.tv_nsec = 1000000};

		over = kevent(queue, &change, 1, &event, 1, &moment) == 1 &&
			event.flags & EV_EOF;
	}
	(void)close(queue);
	return over;
}
#else
bool xt_ended(int fd)
{
	return xt_poll_until(fd, POLLRDHUP, POLLRDHUP);
}
#endif

/* Repeat, because kernels limit how many such errors they send in a second. */
bool xt_refused(int fd)
{
#ifdef __linux__
	struct pollfd entry = {.fd = fd};
#else
	struct pollfd entry = {.fd = fd, .events = POLLIN};
#endif
	int64_t deadline = xt_now() + XT_SOON;
	int ready = 0;

	while (ready == 0 && xt_now() < deadline) {
		(void)send(fd, "x", 1, 0);
		ready = poll(&entry, 1, 100);
	}
	return ready > 0;
}

bool xt_poll_until(int fd, int events, int revents)
{
	int64_t deadline = xt_now() + XT_SOON;

	while (!has_all(xt_poll(fd, events), revents)) {
		struct pollfd entry = {.fd = fd, .events = (short)events};

		if (xt_now() > deadline)
			return false;
		/* Some bits may be set, but not all: poll again from time to time. */
		if (poll(&entry, 1, 1) < 0 && errno != EINTR)
			xt_broken("poll");
	}
	return true;
}

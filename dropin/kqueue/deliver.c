/* Makes events of xpoll like FreeBSD's, where their fflags, data or filter differ. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kq.h"

enum { KQ_TCP_CLOSE = 7 /* TCP_CLOSE in the kernel's tcp_states.h: not connected any more */ };

/*
 * Returns true if an event with EV_EOF is of a listening socket that was shut down; `bits` are the
 * results of poll(2).  A TCP listener then has POLLHUP without POLLRDHUP.  Another listener has
 * POLLRDHUP, like a connection: query SO_ACCEPTCONN, which only a listener has.  The query is
 * needed only if `data` is 1, because a listener has no bytes to count, and its `data` is always 1.
 */
static bool kq_is_ended_listener(int fd, const struct kevent *event, int bits)
{
	int listens = 0;
	socklen_t len = sizeof listens;

	if (!(bits & POLLRDHUP))
		return bits & POLLHUP;
	return event->data == 1 &&
		getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 &&
		listens;
}

/*
 * Returns the error of a broken connection, which FreeBSD stores in fflags, or 0.  Reading SO_ERROR
 * would clear the error in Linux, and the program would find none.  So the error is derived from
 * the state of the connection; a program that needs the exact one reads SO_ERROR.
 */
static unsigned kq_infer_socket_error(int fd, struct kevent *event)
{
	struct pollfd probe = {.fd = fd, .events = POLLRDHUP};
	struct tcp_info info;
	socklen_t len = sizeof info;

	if (poll(&probe, 1, 0) != 1)
		return 0;
	if (event->filter == EVFILT_READ && !(probe.revents & POLLERR) &&
	    kq_is_ended_listener(fd, event, probe.revents)) {
		event->data = 0;
		return ECONNABORTED;
	}
	if (!(probe.revents & POLLERR))
		return 0;
	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return ECONNRESET; /* no TCP socket; a UNIX domain socket has only this error */
	if (info.tcpi_state != KQ_TCP_CLOSE)
		return 0;
	if (info.tcpi_retransmits || info.tcpi_probes)
		return ETIMEDOUT;
	/*
	 * Without a measured round trip the connection was never established, so the peer refused
	 * it.
	 */
	return info.tcpi_rtt == 0 ? ECONNREFUSED : ECONNRESET;
}

/*
 * Complete a READ or WRITE event that has EV_EOF: set fflags and data like FreeBSD.  A WRITE event
 * of a pipe without readers gets EV_ONESHOT, and its registration is deleted.
 */
static void kq_deliver_eof(struct kq *kq, struct kevent *event)
{
	int fd = (int)event->ident;
	struct stat status;
	struct xpoll_event delete;
	int bytes;

	if (fstat(fd, &status) < 0)
		return;
	if (S_ISSOCK(status.st_mode))
		event->fflags = kq_infer_socket_error(fd, event);
	else if (event->filter == EVFILT_READ && ioctl(fd, FIONREAD, &bytes) < 0)
		event->data = 0; /* nothing is left to read from a terminal that has hung up */
	if (event->filter != EVFILT_WRITE || !kq_is_pipe(fd))
		return;
	/* Delete the WRITE registration of a pipe without readers, like FreeBSD. */
	event->flags |= EV_ONESHOT;
	xpoll_set(&delete, (uint64_t)fd, XPOLL_FILT_WRITE, XPOLL_DELETE, 0, 0,
	          NULL);
	xpoll_event(kq->queue, &delete, 1, NULL, 0, 0);
}

/* Returns true if fd is a regular file or directory: their WRITE events have data 0 in FreeBSD. */
static bool kq_is_file_or_directory(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
		(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

bool kq_deliver(struct kq *kq, struct kevent *event)
{
	bool descriptor = event->filter == EVFILT_READ ||
		event->filter == EVFILT_WRITE;

	if (event->flags & EV_ERROR) {
		/*
		 * The status of a failed change.  In FreeBSD its fflags are 0, because the kernel
		 * has moved them into the registration, unless the kernel has found no file or no
		 * registration.
		 */
		if (event->data != EBADF && event->data != ENOENT)
			event->fflags = 0;
		return true;
	}
	/* FreeBSD returns a ONESHOT event of USER with fflags and data 0, whatever their values. */
	if (event->filter == EVFILT_USER && event->flags & EV_ONESHOT) {
		event->fflags = 0;
		event->data = 0;
	}
	if (event->filter == EVFILT_WRITE && event->data == 1 &&
	    kq_is_file_or_directory((int)event->ident))
		event->data = 0;
	if (event->flags & EV_EOF && descriptor)
		kq_deliver_eof(kq, event);
	if (atomic_load_explicit(&kq->extras_len, memory_order_relaxed)) {
		kq_procdesc_event(kq, event);
		kq_ext_fill(kq, event);
	}
	return !atomic_load_explicit(&kq->aio_requests, memory_order_relaxed) ||
		kq_aio_deliver(kq, event);
}

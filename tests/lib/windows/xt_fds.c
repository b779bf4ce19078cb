/*
 * xt_fds on Windows: nonblocking sockets, which are closed when the test ends.  Functions for other
 * kinds of files end the test as skipped.
 */
#include "xt_internal.h"

#define FDS_MOST 16384

static int fds_kept[FDS_MOST];
static int fds_count;

/* Set errno from the last error of Windows.  Returns -1. */
static int fds_failed(void)
{
	switch (WSAGetLastError()) {
	case WSAEWOULDBLOCK:
	case WSAENOBUFS:
		errno = EAGAIN;
		break;
	case WSAENOTSOCK:
		errno = EBADF;
		break;
	default:
		errno = EIO;
	}
	return -1;
}

int xt_nt_read(int fd, void *buffer, size_t size)
{
	int got = recv((SOCKET)fd, buffer, (int)size, 0);

	return got < 0 ? fds_failed() : got;
}

int xt_nt_write(int fd, const void *buffer, size_t size)
{
	int put = send((SOCKET)fd, buffer, (int)size, 0);

	return put < 0 ? fds_failed() : put;
}

int xt_nt_close(int fd)
{
	return closesocket((SOCKET)fd) == 0 ? 0 : fds_failed();
}

/* connect(2): a connection in progress is EINPROGRESS, as in POSIX. */
int xt_nt_connect(int fd, const struct sockaddr *address, int size)
{
	if ((connect)((SOCKET)fd, address, size) == 0)
		return 0;
	if (WSAGetLastError() != WSAEWOULDBLOCK)
		return fds_failed();
	errno = EINPROGRESS;
	return -1;
}

int xt_nt_flags(int fd, int command, ...)
{
	int type = 0;
	int size = sizeof type;

	(void)command;
	return getsockopt((SOCKET)fd, SOL_SOCKET, SO_TYPE, (char *)&type,
	                  &size) == 0 ? 0 : fds_failed();
}

/* Poll one entry by select, whose sets have room for few sockets. */
static short fds_look(const struct pollfd *entry)
{
	struct timeval now = {0, 0};
	fd_set in, out, other;
	short revents = 0;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&other);
	FD_SET(entry->fd, &in);
	FD_SET(entry->fd, &out);
	FD_SET(entry->fd, &other);
	if (select(0, &in, &out, &other, &now) < 0)
		return POLLNVAL;
	if (entry->events & POLLIN && FD_ISSET(entry->fd, &in))
		revents |= POLLIN;
	if (entry->events & POLLOUT && FD_ISSET(entry->fd, &out))
		revents |= POLLOUT;
	if (entry->events & POLLPRI && FD_ISSET(entry->fd, &other))
		revents |= POLLPRI;
	return revents;
}

int xt_nt_poll(struct pollfd *fds, unsigned long count, int timeout_ms)
{
	int64_t deadline = xt_now() + timeout_ms * INT64_C(1000000);
	int ready = 0;

	for (;;) {
		for (unsigned long i = 0; i < count; i++) {
			fds[i].revents = fds_look(&fds[i]);
			ready += fds[i].revents != 0;
		}
		if (ready > 0 || (timeout_ms >= 0 && xt_now() >= deadline))
			return ready;
		Sleep(1);
	}
}

int xt_keep(int fd)
{
	if (fd < 0 || fds_count == FDS_MOST)
		xt_broken("a descriptor");
	fds_kept[fds_count++] = fd;
	return fd;
}

int xt_own(int fd)
{
	u_long on = 1;

	(void)xt_keep(fd);
	if (ioctlsocket((SOCKET)fd, (long)FIONBIO, &on) != 0)
		xt_broken("FIONBIO");
	/* Ignore the error of a datagram socket, which lacks this option. */
	(void)setsockopt((SOCKET)fd, IPPROTO_TCP, TCP_NODELAY, (char *)&on, sizeof on);
	return fd;
}

static void fds_forget(int fd)
{
	for (int i = fds_count - 1; i >= 0; i--)
		if (fds_kept[i] == fd) {
			fds_kept[i] = fds_kept[--fds_count];
			return;
		}
}

void xt_fds_release(void)
{
	while (fds_count > 0)
		/* The test may have closed the socket already: ignore the error. */
		(void)closesocket((SOCKET)fds_kept[--fds_count]);
}

void xt_close(int fd)
{
	fds_forget(fd);
	if (xt_nt_close(fd) < 0)
		xt_fail(__FILE__, __LINE__, "closesocket(%d): %s", fd,
		        xt_error_name(errno));
}

struct xt_pair xt_pipe(void)
{
	return xt_tcp();
}

/* A pipe for threads of the harness, which is not closed at the end of the test. */
int xt_nt_pipe(int ends[2])
{
	struct xt_pair pair = xt_tcp();

	fds_forget(pair.r);
	fds_forget(pair.w);
	ends[0] = pair.r;
	ends[1] = pair.w;
	return 0;
}

static struct xt_pair fds_datagrams(void)
{
	struct sockaddr_in r;
	struct sockaddr_in w;
	struct xt_pair pair = {.r = xt_udp(&r), .w = xt_udp(&w)};

	if (connect(pair.r, (struct sockaddr *)&w, sizeof w) != 0 ||
	    connect(pair.w, (struct sockaddr *)&r, sizeof r) != 0)
		xt_broken("connect");
	return pair;
}

struct xt_pair xt_socketpair(int type)
{
	if (type == SOCK_SEQPACKET)
		xt_absent("sockets of records");
	return type == SOCK_DGRAM ? fds_datagrams() : xt_tcp();
}

struct xt_pair xt_pty(void)
{
	xt_absent("terminals");
}

int xt_file(const char *text)
{
	(void)text;
	xt_absent("files in a queue");
}

int xt_open_path(const char *path, int flags)
{
	(void)path, (void)flags;
	xt_absent("files in a queue");
}

int xt_eventfd(void)
{
	return -1;
}

int xt_timerfd(int64_t first_ns)
{
	(void)first_ns;
	return -1;
}

int xt_nt_mkfifo(const char *path)
{
	(void)path;
	xt_absent("pipes with names");
}

int xt_dup(int fd)
{
	(void)fd;
	xt_absent("duplicates of a socket");
}

void xt_number(int fd, int number)
{
	(void)fd, (void)number;
	xt_absent("choice of the number");
}

int xt_raise_files(int wanted)
{
	return wanted < FDS_MOST ? wanted : FDS_MOST;
}

bool xt_inherited(int fd)
{
	DWORD flags = 0;

	return GetHandleInformation((HANDLE)(uintptr_t)fd, &flags) &&
		flags & HANDLE_FLAG_INHERIT;
}

/* Handles are not small numbers: set as many bits as there are open handles. */
void xt_set_open(unsigned char *bits, int count)
{
	memset(bits, 0, (size_t)count);
}

int xt_count_open(void)
{
	DWORD count = 0;

	(void)GetProcessHandleCount(GetCurrentProcess(), &count);
	return (int)count;
}

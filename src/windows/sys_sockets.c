/* Properties of sockets, and poll(2) for sockets. */
#include <errno.h>
#include <poll.h>
#include <ws2tcpip.h>

#include "sys/fdkind.h"
#include "sys/fdnum.h"
#include "sys/sys.h"
#include "windows/nt.h"

static SOCKET socket_of(int fd)
{
	return (SOCKET)xp_fd_ident(fd);
}

/*
 * Query a socket option.  The value of WSAGetLastError is preserved, because programs use it like
 * errno.  Returns 0 or a negative errno value.
 */
static int get_socket_option(int fd, int name, int *value)
{
	int saved = WSAGetLastError();
	int size = sizeof *value;
	int rc = 0;

	if (getsockopt(socket_of(fd), SOL_SOCKET, name, (char *)value, &size) != 0)
		rc = xp_nt_to_errno((DWORD)WSAGetLastError());
	WSASetLastError(saved);
	return rc;
}

bool xp_nt_is_socket(int fd)
{
	int type = 0;

	return get_socket_option(fd, SO_TYPE, &type) == 0;
}

int xp_sys_close(int fd)
{
	if (closesocket(socket_of(fd)) == 0)
		return 0;
	if (WSAGetLastError() == WSAENOTSOCK && xp_nt_wait_kind(fd) != -EBADF &&
	    CloseHandle(xp_nt_handle(fd)))
		return 0;
	return -EBADF;
}

int xp_sys_open_flags(int fd)
{
	if (xp_nt_is_socket(fd) || xp_nt_file_type(fd) >= 0)
		return 0;
	return xp_nt_wait_kind(fd) == -EBADF ? -EBADF : 0;
}

int xp_fd_kind(int fd)
{
	int rc = xp_sys_open_flags(fd);

	if (rc < 0)
		return rc;
	if (xp_nt_is_socket(fd))
		return XP_KIND_SOCKET;
	switch (xp_nt_file_type(fd)) {
	case FILE_TYPE_DISK:
		return XP_KIND_REGULAR;
	case FILE_TYPE_PIPE:
		return XP_KIND_FIFO;
	case FILE_TYPE_CHAR:
		return XP_KIND_TTY;
	default:
		return xp_nt_wait_kind(fd) == XP_NT_WAIT_TAKES ? XP_KIND_CLEARED : XP_KIND_OTHER;
	}
}

bool xp_sys_is_stream(int fd)
{
	int type = 0;

	return get_socket_option(fd, SO_TYPE, &type) == 0 && type == SOCK_STREAM;
}

int64_t xp_sys_unread(int fd)
{
	int saved = WSAGetLastError();
	u_long count = 0;
	int rc = 0;

	if (!xp_nt_is_socket(fd) && xp_nt_file_type(fd) == FILE_TYPE_PIPE)
		return xp_nt_pipe_unread(fd);
	if (ioctlsocket(socket_of(fd), (long)FIONREAD, &count) != 0)
		rc = xp_nt_to_errno((DWORD)WSAGetLastError());
	WSASetLastError(saved);
	return rc < 0 ? rc : (int64_t)count;
}

bool xp_sys_is_listener(int fd)
{
	int listens = 0;

	return get_socket_option(fd, SO_ACCEPTCONN, &listens) == 0 && listens;
}

/* Returns false, because shutdown(2) refuses a listener here. */
bool xp_sys_was_listener(int fd)
{
	(void)fd;
	return false;
}

/* The number of waiting connections cannot be queried: assume one. */
int64_t xp_sys_backlog(int fd)
{
	return xp_sys_is_listener(fd) ? 1 : -EINVAL;
}

/* The free bytes of the send buffer cannot be queried: return its size. */
int64_t xp_sys_socket_room(int fd)
{
	int size = 0;
	int rc = get_socket_option(fd, SO_SNDBUF, &size);

	return rc < 0 ? rc : size;
}

int xp_sys_take_error(int fd)
{
	int error = 0;
	int rc = get_socket_option(fd, SO_ERROR, &error);

	return rc < 0 ? rc : error;
}

/* --- poll(2) with timeout 0, by polls of the driver ------------------------------------- */

static struct xp_afd_handle probe_handle(const struct pollfd *entry)
{
	return (struct xp_afd_handle){
		.handle = xp_nt_base((SOCKET)xp_fd_ident((int)entry->fd)),
		.events = xp_afd_from_poll_bits((uint32_t)(unsigned short)entry->events),
	};
}

/*
 * Store those of the reported bits that were requested or that poll(2) always reports.  Returns 1
 * if there are any, otherwise 0.
 */
static int probe_result(struct pollfd *entry, uint32_t reported)
{
	uint32_t wanted = (uint32_t)(unsigned short)entry->events | POLLERR |
		POLLHUP | POLLNVAL;

	entry->revents = (short)(reported & wanted);
	return entry->revents != 0;
}

static uint32_t probe_one(struct pollfd *entry)
{
	struct xp_afd_handle handle = probe_handle(entry);

	if (xp_nt_probe(&handle, 1) == 0)
		return xp_afd_to_poll_bits(handle.events);
	return xp_nt_is_socket((int)entry->fd) ? POLLNVAL
		: xp_nt_file_probe((int)entry->fd);
}

/*
 * Poll each descriptor alone, because a poll of all has failed: probably one is not a socket, or
 * was closed.
 */
static int probe_each(struct pollfd *fds, int count)
{
	int ready = 0;

	for (int i = 0; i < count; i++)
		ready += probe_result(&fds[i], probe_one(&fds[i]));
	return ready;
}

/* Poll descriptors that fit into one poll of the driver.  Returns the number of ready ones. */
static int probe_some(struct pollfd *fds, int count)
{
	struct xp_afd_handle handles[XP_AFD_PROBE_MOST];
	int ready = 0;

	for (int i = 0; i < count; i++)
		handles[i] = probe_handle(&fds[i]);
	if (xp_nt_probe(handles, count) < 0)
		return probe_each(fds, count);
	for (int i = 0; i < count; i++)
		ready += probe_result(&fds[i], xp_afd_to_poll_bits(handles[i].events));
	return ready;
}

int xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	int ready = 0;

	for (size_t i = 0; i < count; i += XP_AFD_PROBE_MOST) {
		size_t left = count - i;

		ready += probe_some(fds + i,
		                    left < XP_AFD_PROBE_MOST ? (int)left
		                                         : XP_AFD_PROBE_MOST);
	}
	return ready;
}

/* Reads options and states of sockets. */
#include "sys/sys.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "sys/libcall.h"

int xp_sys_option(int fd, int level, int name, void *value, size_t size)
{
	socklen_t length = (socklen_t)size;
	return XP_LIBCALL(getsockopt(fd, level, name, value, &length));
}

bool xp_sys_is_stream(int fd)
{
	int type = 0;

	return xp_sys_option(fd, SOL_SOCKET, SO_TYPE, &type,
	                     sizeof type) == 0 && type == SOCK_STREAM;
}

/*
 * Returns 1 if the socket listens, 0 if not, or a negative errno value; -ENOPROTOOPT: the system
 * cannot show whether a socket listens.
 */
static int is_listening(int fd)
{
	int listens = 0;
	int rc = xp_sys_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, sizeof listens);

	return rc < 0 ? rc : listens != 0;
}

bool xp_sys_is_listener(int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof peer;
	int saved = errno;
	int listens = is_listening(fd);

	if (listens != -ENOPROTOOPT)
		return listens > 0;
	/*
	 * Systems without SO_ACCEPTCONN (OpenBSD): take a stream socket without a peer for a
	 * listener.
	 */
	listens = xp_sys_is_stream(fd) &&
		getpeername(fd, (struct sockaddr *)&peer, &size) < 0 && errno == ENOTCONN;
	errno = saved;
	return listens;
}

/*
 * True on systems, such as FreeBSD, whose poll(2) reports the shutdown of a listener only while the
 * socket's SO_ERROR is set (assumed for all but Linux).  getsockopt(2) clears SO_ERROR, so it must
 * not be read there.
 */
#ifndef XP_SHUTDOWN_NEEDS_SO_ERROR
#ifdef __linux__
#define XP_SHUTDOWN_NEEDS_SO_ERROR false
#else
#define XP_SHUTDOWN_NEEDS_SO_ERROR true
#endif
#endif

int xp_sys_take_error(int fd)
{
	int error = 0;
	int rc;

	if (XP_SHUTDOWN_NEEDS_SO_ERROR && is_listening(fd) > 0)
		return 0;
	rc = xp_sys_option(fd, SOL_SOCKET, SO_ERROR, &error, sizeof error);
	return rc < 0 ? rc : error;
}

/* --- Listeners after shutdown(2), which Linux's poll(2) reports like unconnected sockets --- */

#ifdef __linux__

/*
 * The beginning of the kernel's struct tcp_info, as of Linux 4.6.  C libraries declare less or
 * more.
 */
struct tcp_info_to_unsent {
	uint8_t state;
	uint8_t flags[7];
	uint32_t timeouts[2];
	uint32_t send_mss;
	uint32_t receive_mss;
	uint32_t counts_and_times[9];
	uint32_t path_mtu;
	uint32_t metrics[20];
	uint32_t unsent;
};
_Static_assert(offsetof(struct tcp_info_to_unsent, receive_mss) == 20 &&
               offsetof(struct tcp_info_to_unsent, path_mtu) == 60 &&
               offsetof(struct tcp_info_to_unsent, unsent) == 144,
               "as the kernel has it");

/*
 * After shutdown(2) a listener looks like a socket that was never used, except for two traces: its
 * count of unsent bytes is not 0, because its stream numbers have advanced, and it has a segment
 * size for receiving (since Linux 4.13).  A socket that has tried to connect also has a path MTU.
 */
bool xp_sys_was_listener(int fd)
{
	struct tcp_info_to_unsent seen = {0};

	return xp_sys_option(fd, IPPROTO_TCP, TCP_INFO, &seen, sizeof seen) == 0 &&
		seen.state == TCP_CLOSE && seen.path_mtu == 0 &&
		seen.receive_mss > 0 && seen.unsent > 0;
}

#else

/*
 * Returns false on systems whose poll(2) reports the shutdown of a listener, or whose shutdown(2)
 * refuses a listener.
 */
bool xp_sys_was_listener(int fd)
{
	(void)fd;
	return false;
}

#endif

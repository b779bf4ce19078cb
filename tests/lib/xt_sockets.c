/*
 * xt_sockets: the sockets of a test, by the calls that POSIX and Windows share.
 */
#include "xt_internal.h"

void xt_shut(struct xt_pair pair)
{
	xt_close(pair.r);
	xt_close(pair.w);
}

int xt_socket(int domain, int type)
{
	return xt_own((int)socket(domain, type, 0));
}

static int bound(int type, struct sockaddr_in *address)
{
	socklen_t length = sizeof *address;
	int fd = xt_socket(AF_INET, type);

	memset(address, 0, sizeof *address);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)address, length) < 0 ||
	    getsockname(fd, (struct sockaddr *)address, &length) < 0)
		xt_broken("bind to loopback");
	return fd;
}

int xt_udp(struct sockaddr_in *address)
{
	return bound(SOCK_DGRAM, address);
}

int xt_udp_refusing(struct sockaddr_in *address)
{
	int fd = xt_udp(address);

	if (connect(fd, (struct sockaddr *)address, sizeof *address) < 0)
		xt_broken("connect to itself");
	return fd;
}

int xt_listener(struct sockaddr_in *address)
{
	int fd = bound(SOCK_STREAM, address);

	if (listen(fd, 128) < 0)
		xt_broken("listen");
	return fd;
}

struct xt_pair xt_tcp(void)
{
	struct sockaddr_in address;
	struct xt_pair pair;
	int listener = xt_listener(&address);

	pair.w = xt_socket(AF_INET, SOCK_STREAM);
	if (connect(pair.w, (struct sockaddr *)&address, sizeof address) < 0 &&
	    errno != EINPROGRESS)
		xt_broken("connect");
	if (!xt_poll_until(listener, POLLIN, POLLIN))
		xt_broken("no connection");
	pair.r = xt_own((int)accept(listener, NULL, NULL));
	if (!xt_poll_until(pair.w, POLLOUT, POLLOUT))
		xt_broken("not connected");
	xt_close(listener);
	return pair;
}

void xt_reset(struct xt_pair tcp)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	if (setsockopt(tcp.w, SOL_SOCKET, SO_LINGER, (const void *)&linger, sizeof linger) < 0)
		xt_broken("SO_LINGER");
	xt_close(tcp.w);
}

/* The functions for sockets that the example servers share; see loopback.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"

static int loopback_prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int loopback_bind(int fd, long port)
{
	struct sockaddr_in address;
	socklen_t len = sizeof address;
	int yes = 1;

	memset(&address, 0, sizeof address);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    loopback_prepare(fd) < 0)
		return -1;
	printf("listening on 127.0.0.1 port %d\n", ntohs(address.sin_port));
	return fflush(stdout);
}

int loopback_listen(const char *port)
{
	char *end;
	long number = strtol(port, &end, 10);
	int fd;

	if (end == port || *end != '\0' || number < 0 || number > 65535) {
		fprintf(stderr, "port %s: expected a number from 0 to 65535\n", port);
		return -1;
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd >= 0 && loopback_bind(fd, number) == 0)
		return fd;
	fprintf(stderr, "port %s: %s\n", port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int loopback_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd >= 0 && loopback_prepare(fd) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

int loopback_echo(int fd, struct loopback_text *it)
{
	ssize_t len;

	if (it->sent == it->len) {
		len = read(fd, it->text, sizeof it->text);
		if (len <= 0)
			return len < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
		it->sent = 0;
		it->len = (size_t)len;
	}
	len = write(fd, it->text + it->sent, it->len - it->sent);
	if (len < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	it->sent += len > 0 ? (size_t)len : 0;
	return it->sent < it->len;
}

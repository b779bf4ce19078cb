/* xpoll watch --listen: a port and its connections.  Data that arrives is counted and discarded. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "watch.h"

#define BACKLOG 128

struct address {
	char text[INET6_ADDRSTRLEN + 10]; /* "127.0.0.1:80", "[::1]:80" */
};

struct listener {
	struct watch_item item;
	int fd;
	struct address address; /* the local one */
	int connections; /* number of open connections */
};

struct connection {
	struct watch_item item;
	struct listener *listener;
	int fd;
	struct address peer;
};

static void address_print(struct address *address, const struct sockaddr_storage *from,
                          socklen_t len)
{
	char host[INET6_ADDRSTRLEN], port[8];

	if (getnameinfo((const struct sockaddr *)from, len, host, sizeof host, port,
	                sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		host[0] = port[0] = '\0';
	snprintf(address->text, sizeof address->text,
	         strchr(host, ':') != NULL ? "[%s]:%s" : "%s:%s", host, port);
}

static void listen_show(struct watch *w, struct watch_record *record,
                        const struct listener *listener, const struct address *peer,
                        int error)
{
	watch_about(record, "", "address", listener->address.text);
	watch_about(record, " <- ", "peer", peer->text);
	if (error != 0)
		watch_about(record, ": ", "error", strerror(error));
	watch_show(w, record);
}

static void connection_close(struct watch *w, struct watch_item *item)
{
	struct connection *it = (struct connection *)item;

	(void)w;
	xpoll_close_fd(it->fd);
	it->listener->connections--;
	free(it);
}

static void connection_readable(struct watch *w, struct watch_item *item,
                                const struct xpoll_event *event)
{
	static char scratch[65536];
	struct connection *it = (struct connection *)item;
	struct watch_record record = { .source = "listen" };
	ssize_t len = recv(it->fd, scratch, sizeof scratch, MSG_DONTWAIT);
	int error = errno;

	(void)event;
	if (len < 0 && (error == EAGAIN || error == EINTR))
		return;
	if (len > 0) {
		watch_say_number(&record, "read", "bytes", len);
		listen_show(w, &record, it->listener, &it->peer, 0);
		return;
	}
	watch_say(&record, "close");
	listen_show(w, &record, it->listener, &it->peer, len < 0 ? error : 0);
	/* A descriptor is free now: enable the listener, which listener_rest may have disabled. */
	(void)watch_register(w, (uint64_t)it->listener->fd, XPOLL_FILT_READ, XPOLL_ENABLE,
	                     0, 0, &it->listener->item);
	watch_unlink(w, item);
	connection_close(w, item);
}

static int connection_open(struct watch *w, struct listener *listener, int fd,
                           const struct address *peer)
{
	struct connection *it = calloc(1, sizeof *it);
	int error = ENOMEM;

	if (it != NULL) {
		it->item.happened = connection_readable;
		it->item.close = connection_close;
		it->listener = listener;
		it->fd = fd;
		it->peer = *peer;
		error = watch_register(w, (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0,
		                       &it->item);
	}
	if (error != 0) {
		free(it);
		close(fd);
		return error;
	}
	watch_link(w, &it->item);
	listener->connections++;
	return 0;
}

/*
 * No descriptor is free for a waiting connection: disable the listener until another connection
 * closes.  If there is none, end the listener.
 */
static void listener_rest(struct watch *w, struct listener *it, int error)
{
	tool_warn(w->usage, "--listen %s: cannot accept: %s", it->address.text,
	          watch_reason(error));
	w->incomplete = true;
	(void)watch_register(w, (uint64_t)it->fd, XPOLL_FILT_READ,
	                     it->connections > 0 ? XPOLL_DISABLE : XPOLL_DELETE, 0, 0,
	                     &it->item);
	if (it->connections == 0)
		w->sources--;
}

static void listener_readable(struct watch *w, struct watch_item *item,
                              const struct xpoll_event *event)
{
	struct listener *it = (struct listener *)item;
	struct watch_record record = { .source = "listen" };
	struct sockaddr_storage from;
	socklen_t len = sizeof from;
	struct address peer;
	int fd = accept4(it->fd, (struct sockaddr *)&from, &len,
	                 SOCK_CLOEXEC | SOCK_NONBLOCK);
	int error = fd < 0 ? errno : 0;

	(void)event;
	if (fd >= 0) {
		address_print(&peer, &from, len);
		error = connection_open(w, it, fd, &peer);
	}
	if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS)
		listener_rest(w, it, error);
	if (error != 0) /* on other errors, such as ECONNABORTED, there is no connection: go on */
		return;
	watch_say(&record, "accept");
	listen_show(w, &record, it, &peer, 0);
}

static void listener_close(struct watch *w, struct watch_item *item)
{
	(void)w;
	xpoll_close_fd(((struct listener *)item)->fd);
	free(item);
}

/*
 * Parse "80" (on 127.0.0.1), "127.0.0.1:80" or "[::1]:80".  The caller frees the result with
 * freeaddrinfo; NULL: the text is wrong.
 */
static struct addrinfo *find_address(const char *text)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	const char *port = colon != NULL ? colon + 1 : text;
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	struct addrinfo *result = NULL;

	if (port[0] == '\0' || port[strspn(port, "0123456789")] != '\0' ||
	    strlen(port) > 5 || atoi(port) > 65535 || len >= sizeof host)
		return NULL;
	if (len > 2 && text[0] == '[' && colon[-1] == ']')
		snprintf(host, sizeof host, "%.*s", (int)len - 2, text + 1);
	else if (colon != NULL)
		snprintf(host, sizeof host, "%.*s", (int)len, text);
	return getaddrinfo(host, port, &hints, &result) == 0 ? result : NULL;
}

static int open_listener(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, error;

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
	    bind(fd, address->ai_addr, address->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int watch_add_listen(struct watch *w, const struct tool_item *argument)
{
	struct addrinfo *address = find_address(argument->text);
	struct sockaddr_storage local;
	socklen_t len = sizeof local;
	struct listener *it;
	int fd, result;

	if (address == NULL)
		return tool_complain(w->usage, "%s %s: expected a port from 0 to 65535, or "
		                     "ADDRESS:PORT", argument->option, argument->text);
	fd = open_listener(address);
	result = errno;
	freeaddrinfo(address);
	it = fd >= 0 ? calloc(1, sizeof *it) : NULL;
	if (it == NULL) {
		if (fd >= 0)
			close(fd);
		return watch_refuse(w, argument, fd < 0 ? result : ENOMEM);
	}
	it->item.happened = listener_readable;
	it->item.close = listener_close;
	it->fd = fd;
	if (getsockname(fd, (struct sockaddr *)&local, &len) == 0)
		address_print(&it->address, &local, len);
	result = watch_add(w, argument, (uint64_t)fd, XPOLL_FILT_READ, XPOLL_ADD, 0, 0,
	                   &it->item);
	if (result != TOOL_GO_ON)
		listener_close(w, &it->item);
	else if (!w->quiet)
		fprintf(stderr, "%s: listening on %s\n", w->usage->name, it->address.text);
	return result;
}

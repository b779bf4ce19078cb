/*
 * What the example servers need of sockets, so that they can be about queues.
 * All sockets are on 127.0.0.1, non-blocking and close-on-exec.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stddef.h>

/*
 * Listen on a port, "0" for any, and print "listening on 127.0.0.1 port N".
 * Returns the listener; or -1, after a message on standard error.
 */
int loopback_listen(const char *port);

/* The next connection; or -1 with errno. */
int loopback_accept(int listener);

/* What a client has sent; the part up to `sent` is on its way back. */
struct loopback_text {
	size_t sent, len;
	char text[4096];
};

/*
 * Send back what there is, after reading if there is nothing.  Returns 1 if some of
 * it has to wait until the connection is writable, 0 if all of it was sent, -1 at
 * the end.
 */
int loopback_echo(int fd, struct loopback_text *it);

#endif

/*
 * The functions for sockets that the example servers share, so that each server shows only its use
 * of the queue.  All sockets are on 127.0.0.1, non-blocking and close-on-exec.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stddef.h>

/*
 * Listen on a port, "0" for any, and print "listening on 127.0.0.1 port N".  Returns the listener;
 * -1 after a message on standard error.
 */
int loopback_listen(const char *port);

/* Accept a connection.  Returns its descriptor; -1 with errno. */
int loopback_accept(int listener);

/* Text that a client has sent; the part before `sent` was sent back. */
struct loopback_text {
	size_t sent, len;
	char text[4096];
};

/*
 * Send text back, after reading some if there is none.  Returns 1 if some of it has to wait until
 * the connection is writable; 0 if all of it was sent; -1 at the end.
 */
int loopback_echo(int fd, struct loopback_text *it);

#endif

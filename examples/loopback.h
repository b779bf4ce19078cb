/*
 * What the example servers need of sockets, so that they can be about queues.
 * All sockets are on 127.0.0.1, non-blocking and close-on-exec.
 */
#ifndef LOOPBACK_H
#define LOOPBACK_H

/*
 * Listen on a port, "0" for any, and print "listening on 127.0.0.1 port N".
 * Returns the listener; or -1, and has said why.
 */
int loopback_listen(const char *port);

/* The next connection; or -1 with errno. */
int loopback_accept(int listener);

#endif

/* An echo server on a queue, for the programs whose loop is another library's. */
#ifndef GUEST_H
#define GUEST_H

/* Listen on that port of the loopback; the descriptor of its queue, or -1 after a message. */
int guest_open(const char *port);

/* The descriptor is readable: do what there is to do, and return. */
void guest_serve(void);

#endif

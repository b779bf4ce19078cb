/* An echo server on a queue, for the programs whose loop is another library's. */
#ifndef GUEST_H
#define GUEST_H

/* Listen on the port of 127.0.0.1.  Returns the descriptor of the queue; -1 after a message. */
int guest_open(const char *port);

/* Call when the descriptor is readable: serves all events and returns without waiting. */
void guest_serve(void);

#endif

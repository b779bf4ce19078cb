/*
 * Replaces <poll.h>: hides POLLRDHUP if MODEL_NO_RDHUP is defined, for a
 * modelled system without it.
 */
#ifndef MODEL_BSD_POLL_H
#define MODEL_BSD_POLL_H
#pragma GCC system_header
#include_next <poll.h>

#ifdef MODEL_NO_RDHUP
#undef POLLRDHUP
#endif
#endif

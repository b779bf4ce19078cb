/* <poll.h> as a system has it that does not know of half-closes. */
#ifndef MODEL_BSD_POLL_H
#define MODEL_BSD_POLL_H
#pragma GCC system_header
#include_next <poll.h>

#ifdef MODEL_NO_RDHUP
#undef POLLRDHUP
#endif
#endif

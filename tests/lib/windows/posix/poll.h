/* poll(2), made of select(): not of the mechanism that the library under test uses. */
#ifndef XT_NT_POLL_H
#define XT_NT_POLL_H

#include <xt_nt.h>

typedef unsigned long nfds_t;

#define poll(fds, count, timeout_ms) xt_nt_poll(fds, count, timeout_ms)

#endif

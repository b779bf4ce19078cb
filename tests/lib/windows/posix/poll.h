/*
 * Declares poll(2), which the harness implements by select(), so that it does
 * not use the mechanism of the library under test.
 */
#ifndef XT_NT_POLL_H
#define XT_NT_POLL_H

#include <xt_nt.h>

typedef unsigned long nfds_t;

#define poll(fds, count, timeout_ms) xt_nt_poll(fds, count, timeout_ms)

#endif

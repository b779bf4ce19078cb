/*
 * xt_tsan: what ThreadSanitizer reports and is not a race of memory.
 *
 * It models a descriptor as memory that open writes and close frees.  The
 * library closes by raw system call, which it does not see, so that the next
 * use of the number looks like a race; and some tests close under a waiter on
 * purpose, whose stack it has sometimes lost when fstat(2) reads the number in
 * the library: a kind that is another file's by then belongs to a registration
 * that has ended, and goes with it.  A thread that is cancelled leaves its
 * interceptor by unwinding, after which ThreadSanitizer no longer sees the
 * locks it takes.
 */
#include "xt_internal.h"

void xt_tsan_link(void)
{
	/* That main calls it brings this file out of the archive. */
}

#if XT_TSAN
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:^pipe$\n"
	       "race:^pipe2$\n"
	       "race:^socketpair$\n"
	       "race:^eventfd$\n"
	       "race:^epoll_create1$\n"
	       "race:^dup2$\n"
	       "race:^churn_close$\n"
	       "race:^churn_open$\n"
	       "race:^fstat$\n"
	       "race:^cancelled$\n";
}
#endif

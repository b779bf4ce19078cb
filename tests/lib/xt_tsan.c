/*
 * xt_tsan: suppresses reports of ThreadSanitizer that are neither races of memory nor deadlocks.
 *
 * ThreadSanitizer models a descriptor as memory that open writes and close
 * frees.  The library closes by raw system calls, which ThreadSanitizer does
 * not see, so the next use of the descriptor looks like a race.  Some tests
 * close a descriptor on purpose while a thread waits for it, and sometimes the
 * stack of the close is lost when the library reads the descriptor by fstat(2);
 * the result of that fstat(2) is dropped with the registration, which has
 * ended.  A cancelled thread leaves an interceptor by unwinding, after which
 * ThreadSanitizer does not see the locks that the thread takes.
 *
 * The epoll drop-in locks an outer set before the sets in it.  A program may
 * take sets out of each other and put them in again the other way round;
 * ThreadSanitizer takes that for a deadlock.
 */
#include "xt_internal.h"

void xt_tsan_link(void)
{
	/* main calls this, so that the linker takes this file from the archive */
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
	       "race:^cancelled$\n"
	       "deadlock:^levels_below$\n"
	       "deadlock:^contains$\n"
	       "deadlock:^ep_is_ready$\n";
}
#endif

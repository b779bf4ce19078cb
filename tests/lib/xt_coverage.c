/*
 * xt_coverage: only in builds for gcov, linked with --wrap=_exit.  What a forked
 * child runs counts, although it ends past the handlers that write the counts.
 */
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}

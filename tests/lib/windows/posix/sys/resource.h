/*
 * RLIMIT_NOFILE, so that tests compile: Windows has no such limit, and tests that need it are
 * skipped.
 */
#ifndef XT_NT_RESOURCE_H
#define XT_NT_RESOURCE_H

#include <xt_nt.h>

#define RLIMIT_NOFILE 7

typedef unsigned long rlim_t;

struct rlimit {
	rlim_t rlim_cur;
	rlim_t rlim_max;
};

#define getrlimit(which, limit) xt_nt_no_limit(which, limit)
#define setrlimit(which, limit) xt_nt_no_limit(which, limit)

#endif

/*
 * The sweep: in each run of a test one system call or one allocation of the
 * library fails.  See docs/internals/testing.md.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "xt_internal.h"

#define SWEEP_CALLS 65536 /* number of calls that are recorded in a run; later ones never fail */
#define SWEEP_SHORT (-1)  /* in place of an error: the call reads or writes less than possible */

/* The kinds of calls, in the order of the table in fault.c. */
enum sweep_kind {
	SWEEP_ALLOC,
	SWEEP_ALLOC_LINES,
	SWEEP_REALLOC,
	SWEEP_POLL_NOW,
	SWEEP_SELECT_NOW,
	SWEEP_EPOLL_NOW,
	SWEEP_EPOLL_ADD,
	SWEEP_READ,
	SWEEP_CLOSE,
	SWEEP_OPEN,
	SWEEP_LIST,
	SWEEP_PIDFD_OPEN,
	SWEEP_PIDFD_INFO,
	SWEEP_PERF_OPEN,
	SWEEP_PERF_OUTPUT,
	SWEEP_SOCKET,
	SWEEP_BIND,
	SWEEP_OPTION,
	SWEEP_SEND,
	SWEEP_RECEIVE,
	SWEEP_REPLACE,
	SWEEP_DUPLICATE,
	SWEEP_MAKE_FD,
	SWEEP_STEP_FD,
	SWEEP_FSTAT,
	SWEEP_TELL,
	SWEEP_FS_TYPE,
	SWEEP_IS_TTY,
	SWEEP_READLINK,
	SWEEP_WAIT,
	SWEEP_ARRAY_WAIT,
	SWEEP_WATCH_OPEN,
	SWEEP_WATCH_ADD,
	SWEEP_COUNT,
	SWEEP_MAP,
	SWEEP_READ_CACHED,
	SWEEP_TRANSFER,
	SWEEP_SYNC,
	SWEEP_THREAD,
	SWEEP_CONDITION,
	SWEEP_RING,
	SWEEP_RING_ENTER,
	SWEEP_RING_PROBE,
	SWEEP_KINDS,
	/* not a call: a registration may end because its descriptor was reused */
	SWEEP_GONE = SWEEP_KINDS
};

/* Memory shared by the process that runs a test and the process that judges it. */
struct sweep_shared {
	const char *test;  /* name of the test, and its source file */
	const char *file;
	int target;        /* number of the call that has to fail; 0: none */
	int error;         /* errno value for that call, or SWEEP_SHORT */
	atomic_int calls;  /* number of calls so far, in all processes of the test */
	atomic_int failed; /* kind of the call that was made to fail, plus 1; 0: none yet */
	atomic_bool lax;   /* the test may notice the fault, so its failure proves nothing */
	atomic_bool found; /* `finding` has been written */
	bool ended;        /* the test has returned, so the following members are set */
	int result;        /* result of xt_run_one */
	int blocks;        /* number of allocations and mappings that were not freed */
	int fds;           /* number of the library's descriptors that were not closed */
	int64_t ns;        /* duration of the test */
	char finding[256];
	unsigned char kinds[SWEEP_CALLS];
	/* call stack of each call, from the run without a fault; for plan.c */
	uint32_t places[SWEEP_CALLS];
};

extern struct sweep_shared *sweep_shared;

/* fault.c: count a call of this kind.  Returns true if it has to fail with *error. */
bool sweep_fails(enum sweep_kind kind, int *error);
const char *sweep_kind_name(enum sweep_kind kind);
const int *sweep_kind_errors(enum sweep_kind kind); /* the list ends with 0 */
/* sweep_minded returns true if a call of this thread has failed since its last sweep_mind. */
void sweep_mind(void);
bool sweep_minded(void);
/* Set when the kernel has reported that a descriptor no longer refers to the library's file. */
extern _Thread_local bool sweep_unknown;
/* +1: calls of this thread no longer count and never fail; -1: undo that */
void sweep_pause(int by);
void sweep_lax(void);
void sweep_find(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Count the descriptors and allocations that the library itself owns, to detect leaks. */
void sweep_own(int fd);
void sweep_disown(int fd);
void sweep_hold(int blocks);
void sweep_count_left(void); /* store the numbers of those that are left in sweep_shared */

/* For plan.c: a call of the test, and its position in the order of faults. */
struct sweep_point {
	int call; /* number of the call in the run */
	enum sweep_kind kind;
	uint32_t place;
	int depth; /* 0: first call of its place; 1: the last one; then as in plan.c */
};

/* Returns a hash of the call stack, which identifies the place of this call. */
uint32_t sweep_place(void);
/*
 * Returns the calls of the last run, of which there were `calls`, in the order in which they have
 * to fail; *places: number of different places, which is also the number of calls of depth 0.  The
 * caller frees the result.
 */
struct sweep_point *sweep_plan(int calls, int *places);

/* Functions of run.c. */
enum sweep_verdict {
	SWEEP_FINE,
	SWEEP_SKIPPED,
	SWEEP_NOT_REACHED, /* the test made fewer calls this time, so none was made to fail */
	SWEEP_STUCK,       /* the test waits for an event of the call that was made to fail */
	SWEEP_FAILED,      /* the test fails or hangs, perhaps by chance */
	SWEEP_BAD
};

struct sweep_limits {
	int fds;    /* number of descriptors that a run without a fault leaves open */
	int blocks;
	int64_t ns; /* duration of a run without a fault */
	int patience; /* factor for the time to wait for the test; usually 1 */
};

/* Run the test in a process of its own.  If limits are given, also judge leaks and duration. */
enum sweep_verdict sweep_run(const struct xt_test *test, int target, int error,
                             const struct sweep_limits *limits);
/* Returns true if this test may notice a fault of this kind: see the table in known.c. */
bool sweep_may_notice(const char *test, int kind);

#endif

/*
 * The sweep: one call into the system or one allocation of the library fails
 * in one run of a test.  See docs/internals/testing.md.
 */
#ifndef SWEEP_H
#define SWEEP_H

#include "xt_internal.h"

#define SWEEP_CALLS 65536 /* number of calls that are remembered of a run; later ones never fail */
#define SWEEP_SHORT (-1)  /* as an error: less is read than there is */

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
	SWEEP_GONE = SWEEP_KINDS /* no call: that a descriptor is another one */
};

/* Memory that the process of a test and the one that judges it share. */
struct sweep_shared {
	const char *test;  /* its name, and its file */
	const char *file;
	int target;        /* the number of the call that fails; 0: none */
	int error;         /* its errno, or SWEEP_SHORT */
	atomic_int calls;  /* made so far, in all processes of the test */
	atomic_int failed; /* the kind of the call that was made to, + 1 */
	atomic_bool lax;   /* the test may notice it */
	atomic_bool found; /* `finding` is taken */
	bool ended;        /* the test returned: what follows is set */
	int result;        /* of xt_run_one */
	int blocks;        /* of memory, and mappings, that are left */
	int fds;           /* the library's own that are left */
	int64_t ns;        /* how long it took */
	char finding[256];
	unsigned char kinds[SWEEP_CALLS];
	uint32_t places[SWEEP_CALLS]; /* plan.c; of a run without a fault */
};

extern struct sweep_shared *sweep_shared;

/* fault.c: count a call of this kind.  Returns true if it has to fail with *error. */
bool sweep_fails(enum sweep_kind kind, int *error);
const char *sweep_kind_name(enum sweep_kind kind);
const int *sweep_kind_errors(enum sweep_kind kind); /* ends with 0 */
/* Did one of this thread's calls fail since sweep_mind? */
void sweep_mind(void);
bool sweep_minded(void);
/* The kernel reported that the descriptor is not the one it knew. */
extern _Thread_local bool sweep_unknown;
void sweep_pause(int by); /* +1: what this thread does is not swept; -1 */
void sweep_lax(void);
void sweep_find(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library's own. */
void sweep_own(int fd);
void sweep_disown(int fd);
void sweep_hold(int blocks);
void sweep_count_left(void); /* into sweep_shared */

/* plan.c: a call, and how soon it has its turn. */
struct sweep_point {
	int call; /* its number */
	enum sweep_kind kind;
	uint32_t place;
	int depth; /* 0: the place's first call; 1: its last */
};

/* Where this call comes from: the same for the same stack of calls. */
uint32_t sweep_place(void);
/*
 * Returns the calls of the last run, of which there were `calls`, in the order in which they have
 * to fail; *places: number of different places, which is also the number of calls of depth 0.  The
 * caller frees the result.
 */
struct sweep_point *sweep_plan(int calls, int *places);

/* run.c */
enum sweep_verdict {
	SWEEP_FINE,
	SWEEP_SKIPPED,
	SWEEP_NOT_REACHED, /* fewer calls this time */
	SWEEP_STUCK,       /* the test waits for the call that fails */
	SWEEP_FAILED,      /* the test fails, or is stuck: perhaps by chance */
	SWEEP_BAD
};

struct sweep_limits {
	int fds;    /* that a run without a fault leaves */
	int blocks;
	int64_t ns; /* that it takes */
	int patience; /* so many times as long it is waited for; 1 */
};

/* Run the test in a process of its own; with limits, judge it. */
enum sweep_verdict sweep_run(const struct xt_test *test, int target, int error,
                             const struct sweep_limits *limits);
/* May this test notice a fault of this kind?  known.c knows why. */
bool sweep_may_notice(const char *test, int kind);

#endif

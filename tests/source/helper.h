/*
 * Helpers: processes that do what a test asks them to, one step at a time, so
 * that no test has to sleep.  A helper ends when the test does.
 */
#ifndef HELPER_H
#define HELPER_H

#include "xt.h"

#include <limits.h>

extern char helper_program[PATH_MAX]; /* the path of this program */

/* The status of one that exits with this code. */
#ifdef _WIN32
#define HELPER_STATUS(code) (code)
#define HELPER_LINGERS      true /* while anybody has a handle of it */
typedef int uid_t;
#else
#define HELPER_STATUS(code) ((code) << 8)
#define HELPER_LINGERS      false
#endif

struct helper {
	int fd; /* the strings */
	pid_t pid;
};

/* A child of the test: a new image of this program. */
struct helper helper_start(void);

/* Start a helper with this process ID, or with another one if that is not possible. */
struct helper helper_start_as(pid_t wanted);

/* A child of the helper, made by its first thread or by another one. */
struct helper helper_fork(struct helper parent);
struct helper helper_fork_by_thread(struct helper parent);

/* Fork a child by vfork(2) and reap it.  Returns its ID. */
pid_t helper_vfork(struct helper parent);

/*
 * The helper, and all that it makes, make `width` children each, `depth` times,
 * and all of them run until the test ends.  Returns when they are there.
 */
void helper_grow(struct helper helper, int width, int depth);

/*
 * Start `count` children, all of which make one child at the same time; they run until the test
 * ends.  Returns when the grandchildren run.
 */
void helper_storm(struct helper helper, int count);

/* Start `count` children that exit with `code` at once, and reap them. */
void helper_burst(struct helper helper, int count, int code);

/* The wait status of a child of the helper, which reaps it. */
int helper_reap(struct helper helper, pid_t child);

void helper_thread(struct helper helper);      /* one that sleeps */
void helper_thread_obeys(struct helper helper); /* instead of the first one */
void helper_leader_ends(struct helper helper); /* the first thread exits, another one continues */

void helper_exec(struct helper helper);           /* this program, obeying */
void helper_exec_by_thread(struct helper helper); /* by another thread */
void helper_exec_fails(struct helper helper);
void helper_exec_copy(struct helper helper, const char *path); /* of this one */
/* Another program, that ends at once with status 0. */
void helper_exec_other(struct helper helper, const char *path);

void helper_ignores_children(struct helper helper); /* SIGCHLD: SIG_IGN */

/* These functions return before the helper has ended. */
void helper_exit(struct helper helper, int code);
void helper_kill(struct helper helper, int signal);

/* Wait until it has ended, leaving it for others to reap. */
void helper_await_end(struct helper helper);
/* The wait status of a child of the test. */
int helper_wait(struct helper helper);

/* Reap those of earlier tests: they end by themselves. */
void helper_all_gone(void);

#endif

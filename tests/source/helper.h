/*
 * Helpers: processes that do what a test orders, one step at a time, so that no
 * test has to sleep.  A helper ends when the test does.
 */
#ifndef HELPER_H
#define HELPER_H

#include "xt.h"

#include <limits.h>

extern char helper_program[PATH_MAX]; /* the path of this program */

/* The wait status of a helper that exits with this code. */
#ifdef _WIN32
#define HELPER_STATUS(code) (code)
#define HELPER_LINGERS      true /* until the last handle of the process is closed */
typedef int uid_t;
#else
#define HELPER_STATUS(code) ((code) << 8)
#define HELPER_LINGERS      false
#endif

struct helper {
	int fd; /* the socket for orders and answers */
	pid_t pid;
};

/* Start a child of the test: this program, executed again. */
struct helper helper_start(void);

/* Start a helper with this process ID, or with another one if that is not possible. */
struct helper helper_start_as(pid_t wanted);

/* A child of the helper, made by its first thread or by another one. */
struct helper helper_fork(struct helper parent);
struct helper helper_fork_by_thread(struct helper parent);

/* Fork a child by vfork(2) and reap it.  Returns its ID. */
pid_t helper_vfork(struct helper parent);

/*
 * The helper makes `width` children, each of these makes `width` children, and so on, `depth`
 * times; all of them run until the test ends.  Returns when all run.
 */
void helper_grow(struct helper helper, int width, int depth);

/*
 * Start `count` children, all of which make one child at the same time; they run until the test
 * ends.  Returns when the grandchildren run.
 */
void helper_storm(struct helper helper, int count);

/* Start `count` children that exit with `code` at once, and reap them. */
void helper_burst(struct helper helper, int count, int code);

/* Reap a child of the helper.  Returns the child's wait status. */
int helper_reap(struct helper helper, pid_t child);

void helper_thread(struct helper helper);      /* start a thread that sleeps */
/* start a thread that obeys instead of the first one */
void helper_thread_obeys(struct helper helper);
void helper_leader_ends(struct helper helper); /* the first thread exits, another one continues */

void helper_exec(struct helper helper);           /* execute this program again, which then obeys */
void helper_exec_by_thread(struct helper helper); /* the same, called by another thread */
void helper_exec_fails(struct helper helper);
/* execute this copy of the program */
void helper_exec_copy(struct helper helper, const char *path);
/* Execute another program, which exits at once with status 0. */
void helper_exec_other(struct helper helper, const char *path);

void helper_ignores_children(struct helper helper); /* set SIGCHLD to SIG_IGN */

/* These functions return before the helper has ended. */
void helper_exit(struct helper helper, int code);
void helper_kill(struct helper helper, int signal);

/* Wait until the helper has exited, without reaping it. */
void helper_await_end(struct helper helper);
/* Reap the helper, which is a child of the test.  Returns its wait status. */
int helper_wait(struct helper helper);

/* Reap the helpers of earlier tests, which end by themselves. */
void helper_all_gone(void);

#endif

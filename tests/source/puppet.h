/*
 * Puppets: processes that do what a test tells them, one step at a time, so
 * that no test has to sleep.  A puppet ends when the test does.
 */
#ifndef PUPPET_H
#define PUPPET_H

#include "xt.h"

#include <limits.h>

extern char puppet_program[PATH_MAX]; /* the path of this program */

/* The status of one that exits with this code. */
#ifdef _WIN32
#define PUPPET_STATUS(code) (code)
#define PUPPET_LINGERS      true /* while anybody has a handle of it */
typedef int uid_t;
#else
#define PUPPET_STATUS(code) ((code) << 8)
#define PUPPET_LINGERS      false
#endif

struct puppet {
	int fd; /* the strings */
	pid_t pid;
};

/* A child of the test: a new image of this program. */
struct puppet puppet_start(void);

/* With this number, or another one if that cannot be had. */
struct puppet puppet_start_as(pid_t wanted);

/* A child of the puppet, made by its first thread or by another one. */
struct puppet puppet_fork(struct puppet parent);
struct puppet puppet_fork_by_thread(struct puppet parent);

/* One by vfork that is reaped already: its number. */
pid_t puppet_vfork(struct puppet parent);

/*
 * The puppet, and all that it makes, make `width` children each, `depth` times,
 * and all of them run until the test ends.  Returns when they are there.
 */
void puppet_grow(struct puppet puppet, int width, int depth);

/*
 * As many children, all of which make one child at the same time; they run
 * until the test ends.  Returns when they have.
 */
void puppet_storm(struct puppet puppet, int count);

/* As many children that exit with `code` at once and are reaped. */
void puppet_burst(struct puppet puppet, int count, int code);

/* The wait status of a child of the puppet, which reaps it. */
int puppet_reap(struct puppet puppet, pid_t child);

void puppet_thread(struct puppet puppet);      /* one that sleeps */
void puppet_thread_obeys(struct puppet puppet); /* instead of the first one */
void puppet_leader_ends(struct puppet puppet); /* another thread goes on */

void puppet_exec(struct puppet puppet);           /* this program, obeying */
void puppet_exec_by_thread(struct puppet puppet); /* by another thread */
void puppet_exec_fails(struct puppet puppet);
void puppet_exec_copy(struct puppet puppet, const char *path); /* of this one */
/* Another program, that ends at once with status 0. */
void puppet_exec_other(struct puppet puppet, const char *path);

void puppet_ignores_children(struct puppet puppet); /* SIGCHLD: SIG_IGN */

/* They do not wait for the end. */
void puppet_exit(struct puppet puppet, int code);
void puppet_kill(struct puppet puppet, int signal);

/* Wait until it has ended, leaving it for others to reap. */
void puppet_await_end(struct puppet puppet);
/* The wait status of a child of the test. */
int puppet_wait(struct puppet puppet);

/* Reap those of earlier tests: they end by themselves. */
void puppet_all_gone(void);

#endif

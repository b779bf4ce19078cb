/*
 * A loop: one way of waiting for descriptors, behind one interface.
 *
 * So a workload is written once, and what differs between its variants is the
 * waiting alone: xpoll, the kernel's calls used by hand, another library.  The
 * price is a call through a pointer for each change and each wait, the same for
 * all of them.
 *
 * Descriptors are known by an id, their place in the workload's table of
 * targets; that is also the cookie that comes back with an event.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stddef.h>

#include <xpoll.h> /* and poll(2), or what Windows has of it */

#include "bench.h"

/* For --help: the variants of a workload that is written on loops. */
#define LOOP_HELP \
	"\n" \
	"xpoll-NAME   xpoll on a back end, through its event level\n" \
	"raw-NAME     the same, written by hand on the kernel's own calls\n" \
	"libev, libevent, libuv   the same on these libraries, if they are here\n"

/* And of one that programs can do, too. */
#define PROGRAM_HELP \
	"mio, polling, nio   Rust's and Java's, if they are in $XPOLL_BENCH_PEERS\n"

/* What xpoll and the libraries are compared with. */
#define LOOP_REFERENCES { "raw-epoll", "raw-poll", "raw-select", "limit" }

#define LOOP_WOKEN (-1) /* no id: somebody called wake */

enum loop_ability {
	LOOP_LEVEL = 1,    /* an event comes again until it is dealt with */
	LOOP_EDGE = 2,     /* an event comes once for each new activity */
	LOOP_DISPATCH = 4, /* an event disables itself */
	LOOP_EXCLUSIVE = 64, /* level, of a listener that others wait for, too */
	LOOP_MODES = LOOP_LEVEL | LOOP_EDGE | LOOP_DISPATCH | LOOP_EXCLUSIVE,
	LOOP_THREADS = 8,  /* several threads may wait at a time */
	LOOP_WAKE = 16,    /* another thread can end a wait */
	LOOP_CLOSES = 32,  /* its descriptors may be closed and opened again */
	LOOP_SWITCHES = 128, /* between reading and writing: LOOP_SWITCH */
	LOOP_NESTS = 256,    /* in another loop of its kind */
	LOOP_TIMERS = 512,
	LOOP_FILES = 1024,
	LOOP_PROCESSES = 2048, /* and signals */
	LOOP_READS = 4096,
};

/* LOOP_SWITCH: the target's events are the other ones now. */
enum loop_change { LOOP_ADD, LOOP_DELETE, LOOP_DISABLE, LOOP_ENABLE, LOOP_CLOSE, LOOP_SWITCH };

struct loop_target {
	int fd;       /* of LOOP_CLOSE: closed afterwards */
	short events; /* POLLIN, POLLOUT or both */
};

struct loop_setup {
	const struct loop_target *targets;
	int len;
	unsigned mode;       /* one of LOOP_MODES */
	bool wakes;          /* wake will be called */
	bool switches;       /* LOOP_SWITCH will be: of POLLIN or POLLOUT */
	unsigned uses;       /* what the workload needs, of enum loop_ability */
	const char *folder;  /* with LOOP_FILES: target i is its file i */
	const char *backend; /* of xpoll */
};

struct loop_ready {
	int id;
	short events;
};

#define LOOP_BLOCK 4096 /* what a read reads */

struct loop_read {
	int id; /* less than the loop's len; that of no other read in flight */
	int fd;
	void *buffer; /* of LOOP_BLOCK */
	off_t offset;
};

/* What one thread needs to wait. */
struct loop_hand {
	struct loop_ready *ready;
	void *records; /* room for cap records of record_size */
	int cap;
	int len; /* what loop_report has put there */
};

/*
 * Functions return >= 0, or -errno.
 *
 * size      of the state: all zero when it is opened, freed when it is closed
 * change    the same change for each of these ids
 * wait      enable these ids (at most hand->cap), then wait until something is
 *           ready, or only look; how many there are in hand->ready.  0 if a
 *           signal came that nobody needs to know.
 * turn      of a library that calls back, whose wait is loop_wait_called: run it once
 * wake      end a wait that runs, or the next one, with LOOP_WOKEN or with 0
 * wake_all  end all waits that run; false: they have ended
 * waits     how many have begun; NULL: nobody knows
 * fd        is readable when something is ready
 * timers    these expire in so many ns; ns is NULL: they are cancelled.  What has expired
 *           is counted by wait, without a record.
 * file      watch target id, or no more
 * process   report its end
 * signal    report it
 * read      begin it; its end is reported
 * syscalls  those that are not counted in bench_calls; NULL: there are none
 * uncounted nobody knows them
 * close     also when open has failed, wherever that was
 */
struct loop_ops {
	size_t size;
	size_t record_size;
	bool uncounted;
	int (*open)(void *loop, const struct loop_setup *setup);
	int (*change)(void *loop, enum loop_change change, const int *ids, int len);
	int (*wait)(void *loop, struct loop_hand *hand, const int *enable, int enable_len,
	            bool block);
	int (*turn)(void *loop, bool block);
	int (*wake)(void *loop);
	int (*wake_all)(void *loop, bool on);
	uint64_t (*waits)(void *loop);
	int (*fd)(void *loop);
	int (*timers)(void *loop, const uint32_t *ids, const int64_t *ns, int len);
	int (*file)(void *loop, int id, bool on);
	int (*process)(void *loop, int id, pid_t pid);
	int (*signal)(void *loop, int number);
	int (*read)(void *loop, const struct loop_read *read);
	uint64_t (*syscalls)(void *loop);
	void (*close)(void *loop);
};

/* What a loop is called, and what it can do. */
struct loop_kind {
	struct bench_variant variant;
	unsigned abilities;
};

/* All but xpoll; ends with a NULL name. */
extern const struct loop_kind loop_kinds[];

extern const struct loop_ops loop_queue;
/* queue.c: queues on this back end have a descriptor. */
bool queue_nests(const char *backend);
extern const struct loop_ops loop_epoll;
extern const struct loop_ops loop_poll;
extern const struct loop_ops loop_select;
extern const struct loop_ops loop_libev;
extern const struct loop_ops loop_libevent;
extern const struct loop_ops loop_libuv;
extern const struct loop_ops loop_hand;
extern const struct loop_ops loop_timerfd;
extern struct bench_library libev_library;
extern struct bench_library libevent_library;
extern struct bench_library libuv_library;

/* With LOOP_FILES: the file of a target. */
#define LOOP_PATH_MAX 64
static inline void loop_path(char path[LOOP_PATH_MAX], const char *folder, int id)
{
	snprintf(path, LOOP_PATH_MAX, "%s/%d", folder, id);
}

/* Pairs, and what a loop knows of them: the read end of pair i has the id i. */
struct loop_field {
	struct bench_pairs pairs;
	struct loop_target *targets;
};

/* 0 or -errno; to be closed also then. */
int loop_field_open(struct loop_field *field, const struct bench_workload *workload, int n);
void loop_field_close(void *field);

/* A loop in use, with one hand: the first member of a state that has one. */
struct loop {
	const struct loop_ops *ops;
	void *state;
	struct loop_hand hand;
};

/* cap: events in one wait.  The second is for a field.  0 or -errno. */
int loop_open(struct loop *loop, const struct bench_way *way, struct loop_setup *setup,
              int cap);
int loop_open_on(struct loop *loop, const struct bench_way *way,
                 const struct loop_field *field, int cap);
/* As a function of struct bench_ops: also of a loop that was not opened. */
void loop_close(void *loop);
/* Hands of further threads; 0 or -errno. */
int loop_hand_open(struct loop_hand *hand, const struct loop_ops *ops, int cap);
void loop_hand_close(struct loop_hand *hand);
/* Add, or whatever it is, all from 0 to len, 64 in a call; 0 or -errno. */
int loop_change_all(struct loop *loop, enum loop_change change, int len);
/* Likewise: made so far by this thread and by the loop; or BENCH_UNKNOWN. */
uint64_t loop_syscalls(const void *loop);

static inline int loop_change(struct loop *loop, enum loop_change change, const int *ids,
                              int len)
{
	return loop->ops->change(loop->state, change, ids, len);
}

static inline int loop_wait(struct loop *loop, const int *enable, int enable_len,
                            bool block)
{
	return loop->ops->wait(loop->state, &loop->hand, enable, enable_len, block);
}

static inline void loop_report(struct loop_hand *hand, int id, short events)
{
	if (hand->len < hand->cap)
		hand->ready[hand->len++] = (struct loop_ready){ id, events };
}

/* The first member of a loop on a library that calls back. */
struct loop_called {
	const struct loop_ops *ops;
	const struct loop_target *targets;
	struct loop_hand *hand;
	bool dispatch;
};

/* A callback is not given whose it is: it is that of the thread that waits. */
extern _Thread_local struct loop_called *loop_running;

void loop_called_init(struct loop_called *loop, const struct loop_ops *ops,
                      const struct loop_setup *setup);
int loop_wait_called(void *loop, struct loop_hand *hand, const int *enable, int enable_len,
                     bool block);

#endif

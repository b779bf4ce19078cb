/*
 * A loop: one way of waiting for descriptors, behind one interface; and what the files of
 * workloads share.
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

#include <netinet/in.h>
#include <pthread.h>
#include <sys/un.h>

#include <xpoll.h> /* and poll(2) */

#include "bench.h"

/* For --help: the variants of a workload that is written on loops. */
#define LOOP_HELP \
	"\n" \
	"xpoll-NAME   xpoll on a back end, through its event level\n" \
	"raw-NAME     the same, written by hand on the kernel's own calls\n" \
	"kevent, libkqueue   the same on kevent(2) of libxpoll-kqueue and of libkqueue\n" \
	"libevent, libev, libuv   the same on these libraries, if they are here\n"

/* And of one that programs can do, too. */
#define PROGRAM_HELP \
	"mio, polling   Rust's, if they are in $XPOLL_BENCH_PEERS\n"

/* Rivals of xpoll and of the libraries. */
#define LOOP_REFERENCES { "raw-epoll", "raw-poll", "limit" }

#define LOOP_WOKEN (-1) /* no id: somebody called wake */
#define LOOP_LAST  1    /* with LOOP_TRACKS: the id of the report after which there is none */

enum loop_ability {
	LOOP_LEVEL = 1,    /* an event comes again until it is dealt with */
	LOOP_EDGE = 2,     /* an event comes once for each new activity */
	LOOP_DISPATCH = 4, /* an event disables itself */
	LOOP_EXCLUSIVE = 64, /* level, of a listener that others wait for, too */
	LOOP_MODES = LOOP_LEVEL | LOOP_EDGE | LOOP_DISPATCH | LOOP_EXCLUSIVE,
	LOOP_THREADS = 8,  /* several threads may wait at a time */
	LOOP_WAKE = 16,    /* another thread can end a wait */
	LOOP_CLOSES = 32,  /* its descriptors may be closed and opened again */
	LOOP_SWITCHES = 128, /* interest in reading and writing: LOOP_WATCH */
	LOOP_NESTS = 256,    /* in another loop of its kind */
	LOOP_TIMERS = 512,
	LOOP_FILES = 1024,
	LOOP_PROCESSES = 2048, /* and signals */
	LOOP_READS = 4096,
	LOOP_USERS = 8192,
	LOOP_TRACKS = 16384, /* a process, and what it forks: POLLIN; each end: POLLOUT */
};

/* LOOP_WATCH: the target's events are others than before. */
enum loop_change { LOOP_ADD, LOOP_DELETE, LOOP_DISABLE, LOOP_ENABLE, LOOP_CLOSE, LOOP_WATCH };

struct loop_target {
	int fd;       /* of LOOP_CLOSE: closed afterwards */
	short events; /* POLLIN, POLLOUT or both; with LOOP_SWITCHES also none */
	short before; /* what they were before the last LOOP_WATCH */
};

/* What a workload has opened for all variants, and a loop knows of its descriptors. */
struct bench_field {
	const struct bench_options *options;
	struct bench_pairs pairs; /* the read end of pair i has the id i */
	struct loop_target *targets;
	int len;
	const char *folder; /* with LOOP_FILES: target i is its file i */
	void *own; /* of the workload's setup_size */
};

struct loop_ready {
	int id;
	short events; /* of a signal: how often it came */
};

#define LOOP_ENABLE_MAX 64 /* in one call of enable */

#define LOOP_BLOCK     4096 /* what a read reads */
#define LOOP_READS_MAX 64   /* in flight */

struct loop_read {
	int id; /* less than the field's len; that of no other read in flight */
	int fd;
	void *buffer; /* of LOOP_BLOCK */
	off_t offset;
};

/* What one thread needs for its waits. */
struct loop_hand {
	struct loop_ready *ready;
	void *records; /* room for cap records of record_size */
	int cap;
	int len; /* what loop_report has put there */
	const struct loop_ready *enable; /* for the next wait of a loop that `enables` */
	int enable_len;
};

/*
 * A rival: what it is called, what it can do, and how.  Functions return >= 0, or -errno.
 *
 * can       a set of enum loop_ability
 * library   that it needs; NULL: none
 * usable    here; NULL: always
 * size      of the state: all zero when it is opened, freed when it is closed
 * change    the same change for each of these ids
 * wait      wait until something is ready, or only look; how many there are in
 *           hand->ready.  0 if a signal came that nobody needs to know.
 * enables   in the same call wait enables what its hand names, at most hand->cap
 * enable    enable again what was reported, at most LOOP_ENABLE_MAX; NULL: LOOP_ENABLE of
 *           each id
 * turn      of a library that calls back, whose wait is loop_wait_called: run it once
 * wake      end a wait that runs, or the next one, with LOOP_WOKEN or with 0
 * wake_all  end all waits that run; false: they have ended
 * waits     how many have begun; NULL: nobody knows
 * fd        is readable when something is ready
 * timers    these expire in so many ns; ns is NULL: they are cancelled.  What has expired
 *           is counted by wait, without a record.
 * trigger   with LOOP_USERS, of whose ids a change is: one, and take its event
 * file      watch target id, or no more
 * process   report its end
 * signal    report it
 * read      begin it; its end is reported
 * syscalls  those that are not counted in bench_calls; NULL: there are none
 * uncounted nobody knows them
 * open, close   NULL: nothing to do; close also when open has failed, wherever that was
 */
struct loop_ops {
	const char *name;
	unsigned can;
	struct bench_library *library;
	bool (*usable)(void);
	size_t size;
	size_t record_size;
	bool uncounted;
	bool enables;
	int (*open)(void *loop, const struct bench_field *field, const struct bench_way *way);
	int (*change)(void *loop, enum loop_change change, const int *ids, int len);
	int (*enable)(void *loop, const struct loop_ready *ready, int len);
	int (*wait)(void *loop, struct loop_hand *hand, bool block);
	int (*turn)(void *loop, bool block);
	int (*wake)(void *loop);
	int (*wake_all)(void *loop, bool on);
	uint64_t (*waits)(void *loop);
	int (*fd)(void *loop);
	int (*timers)(void *loop, const uint32_t *ids, const int64_t *ns, int len);
	int (*trigger)(void *loop, int id);
	int (*file)(void *loop, int id, bool on);
	int (*process)(void *loop, int id, pid_t pid);
	int (*signal)(void *loop, int number);
	int (*read)(void *loop, const struct loop_read *read);
	uint64_t (*syscalls)(void *loop);
	void (*close)(void *loop);
};

extern const struct loop_ops loop_queue, loop_epoll, loop_poll, loop_kevent, loop_libkqueue,
	loop_libevent, loop_libev, loop_libuv, loop_hand, loop_timerfd, loop_io_uring,
	loop_posix_aio, loop_connector;

/* queue.c: queues on this back end have a descriptor. */
bool queue_nests(const char *backend);
/* System calls that this queue has made, or BENCH_UNKNOWN. */
uint64_t queue_calls(struct xpoll *queue);

/* With LOOP_FILES: the file of a target. */
#define LOOP_PATH_MAX 64
static inline void loop_path(char path[LOOP_PATH_MAX], const char *folder, int id)
{
	snprintf(path, LOOP_PATH_MAX, "%s/%d", folder, id);
}

/* A loop in use, with one hand. */
struct loop {
	const struct loop_ops *ops;
	void *state;
	struct loop_hand hand;
};

/* cap: events in one wait.  0 or -errno. */
int loop_open(struct loop *loop, const struct bench_way *way, const struct bench_field *field,
              int cap);
/* Also one that was not opened. */
void loop_close(struct loop *loop);
/* Hands of further threads; 0 or -errno. */
int loop_hand_open(struct loop_hand *hand, const struct loop_ops *ops, int cap);
void loop_hand_close(struct loop_hand *hand);
/* Add, or whatever it is, all from 0 to len, 64 in a call; 0 or -errno. */
int loop_change_all(struct loop *loop, enum loop_change change, int len);
/* Made so far by this thread and by the loop; or BENCH_UNKNOWN. */
uint64_t loop_syscalls(const struct loop *loop);

static inline int loop_change(struct loop *loop, enum loop_change change, const int *ids,
                              int len)
{
	return loop->ops->change(loop->state, change, ids, len);
}

static inline int loop_wait(struct loop *loop, bool block)
{
	return loop->ops->wait(loop->state, &loop->hand, block);
}

/* Wait for an event; how many there are, or -errno. */
static inline int loop_await(struct loop *loop)
{
	int count;

	do
		count = loop_wait(loop, true);
	while (count == 0);
	return count;
}

/* The target's events are these from now on. */
static inline int loop_watch(struct loop *loop, struct bench_field *field, int id, short events)
{
	field->targets[id].before = field->targets[id].events;
	field->targets[id].events = events;
	return loop_change(loop, LOOP_WATCH, &id, 1);
}

static inline int loop_enable(struct loop *loop, const struct loop_ready *ready, int len)
{
	int rc = 0;

	if (loop->ops->enable != NULL)
		return len > 0 ? loop->ops->enable(loop->state, ready, len) : 0;
	for (int i = 0; i < len && rc >= 0; i++)
		rc = loop_change(loop, LOOP_ENABLE, &ready[i].id, 1);
	return rc;
}

static inline int loop_enable_and_wait(struct loop *loop, const struct loop_ready *ready,
                                       int len, bool block)
{
	int rc = 0;

	if (loop->ops->enables) {
		loop->hand.enable = ready;
		loop->hand.enable_len = len;
	} else {
		rc = loop_enable(loop, ready, len);
	}
	return rc < 0 ? rc : loop_wait(loop, block);
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

void loop_called_init(struct loop_called *loop, const struct bench_field *field,
                      const struct bench_way *way);
int loop_wait_called(void *loop, struct loop_hand *hand, bool block);

/* --- What workloads share -------------------------------------------------- */

/* One turn of one variant. */
struct bench_turn {
	struct loop loop; /* the variant's, if it is written on one and ops.room is not 0 */
	const struct bench_way *way;
	struct bench_field *field;
	const struct bench_phase *phase;
	int count;  /* operations that run may do */
	struct bench_sample *sample; /* of this phase: all zero before */
	void *own; /* of the size that the variant's ops say */
};

/* A round: of as many as the phase's value says (0: all), but at most turn->count. */
static inline int bench_round(const struct bench_turn *turn)
{
	int n = turn->way->options->n;
	int value = turn->phase->value;
	int k = value > 0 && value < n ? value : n;

	return k < turn->count ? k : turn->count;
}

/* System calls of this thread, where they are counted one by one. */
extern _Thread_local uint64_t bench_calls;

/* One byte; 0 or -errno. */
static inline int bench_give(const struct bench_pair *pair)
{
	ssize_t len = write(pair->write_fd, "t", 1);

	bench_calls++;
	if (len == 1)
		return 0;
	return len < 0 ? -errno : -EIO;
}
static inline int bench_take(const struct bench_pair *pair)
{
	char byte;
	ssize_t len = read(pair->read_fd, &byte, 1);

	bench_calls++;
	if (len == 1)
		return 0;
	return len < 0 ? -errno : -EIO;
}

/* --- serve: k active descriptors among n, in rounds ------------------------ */

#define SERVE_IDLE_ACTIVE 10 /* those of the workloads idle and drop-in */

extern const struct bench_ops serve_ops;
extern const struct bench_variant serve_limit;

/* --- looptest: one token goes round ------------------------------------------ */

/* On xpoll, through the poll-like calls of the original. */
struct looptest {
	const struct bench_pairs *pipes;
	struct xpoll *queue;
};
int looptest_open(struct bench_turn *turn);
int looptest_run(struct bench_turn *turn);
uint64_t looptest_syscalls(const struct bench_turn *turn);
void looptest_close(struct bench_turn *turn);

#define LOOPTEST_OPS { \
	.size = sizeof(struct looptest), .open = looptest_open, .run = looptest_run, \
	.syscalls = looptest_syscalls, .close = looptest_close, \
}

/* By hand on epoll(7), and on any loop. */
extern const struct bench_ops looptest_epoll_ops, looptest_loop_ops;
int looptest_epoll(const struct bench_turn *turn); /* the descriptor of its set */

/* --- threads, processes and listeners: system.c ------------------------------ */

/* A thread that gets no signals: those are for the one that measures; 0 or -errno. */
int bench_thread_start(pthread_t *thread, void *(*main)(void *argument), void *argument);

/* Like fork(2), but the kernel kills the child when this process ends. */
pid_t bench_fork(void);

/* Read an eventfd that others write to; 0 or -errno. */
int bench_await(int fd);

/* A socket of this family that listens; address: where.  Its number, or -errno. */
struct bench_address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_un un; /* a name that is not in the file system */
	} to;
	socklen_t len;
};
int bench_listen(int family, int flags, int backlog, struct bench_address *address);

#endif

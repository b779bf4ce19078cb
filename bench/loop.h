/*
 * A loop: a way to wait for descriptors, behind one interface; and what the files of workloads
 * share.
 *
 * With loops a workload is written once, and its variants differ in the waiting only: xpoll, the
 * kernel's calls used by hand, another library.  The price is a call through a pointer for each
 * change and each wait, the same for all variants.
 *
 * A descriptor is identified by its id, the index in the workload's table of targets; events
 * contain the id.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <stddef.h>

#include <netinet/in.h>
#include <pthread.h>
#include <sys/un.h>

#include <xpoll.h> /* includes <poll.h>, too */

#include "bench.h"

/* For --help: the variants of each workload that is written on loops. */
#define LOOP_HELP \
	"\n" \
	"xpoll-NAME   xpoll on a back end, through its event level\n" \
	"raw-NAME     the same, written by hand on the kernel's own calls\n" \
	"kevent, libkqueue   the same on kevent(2) of libxpoll-kqueue and of libkqueue\n" \
	"libevent, libev, libuv   the same on these libraries, if they are here\n"

/* For --help: variants of workloads that programs of peers/ can do, too. */
#define PROGRAM_HELP \
	"mio, polling   Rust's, if they are in $XPOLL_BENCH_PEERS\n"

/* The usual `references` of a workload. */
#define LOOP_REFERENCES { "raw-epoll", "raw-poll", "limit" }

#define LOOP_WOKEN (-1) /* in place of an id: `wake` was called */
#define LOOP_LAST  1    /* with LOOP_TRACKS: the id of the last report */

enum loop_ability {
	LOOP_LEVEL = 1,    /* level-triggered */
	LOOP_EDGE = 2,     /* edge-triggered */
	LOOP_DISPATCH = 4, /* an event disables its descriptor */
	LOOP_EXCLUSIVE = 64, /* level-triggered, for a listener in several loops */
	LOOP_MODES = LOOP_LEVEL | LOOP_EDGE | LOOP_DISPATCH | LOOP_EXCLUSIVE,
	LOOP_THREADS = 8,  /* several threads may wait at once */
	LOOP_WAKE = 16,    /* another thread can end a wait */
	LOOP_CLOSES = 32,  /* registered descriptors may be closed and their numbers reused */
	LOOP_SWITCHES = 128, /* the requested events can be changed: LOOP_WATCH */
	LOOP_NESTS = 256,    /* the loop has a descriptor that another loop of its kind can watch */
	LOOP_TIMERS = 512,
	LOOP_FILES = 1024,
	LOOP_PROCESSES = 2048, /* the end of processes, and signals */
	LOOP_READS = 4096,
	LOOP_USERS = 8192,
	/* a process and its descendants: each fork is POLLIN, each end POLLOUT */
	LOOP_TRACKS = 16384,
};

/* A change of a target; LOOP_WATCH: the target's `events` differ from `before`. */
enum loop_change { LOOP_ADD, LOOP_DELETE, LOOP_DISABLE, LOOP_ENABLE, LOOP_CLOSE, LOOP_WATCH };

struct loop_target {
	int fd;       /* LOOP_CLOSE closes it */
	short events; /* requested: POLLIN, POLLOUT or both; with LOOP_SWITCHES also none */
	short before; /* `events` before the last LOOP_WATCH */
};

/* The descriptors and data of a workload, which all variants share. */
struct bench_field {
	const struct bench_options *options;
	struct bench_pairs pairs; /* the read end of pair i has the id i */
	struct loop_target *targets;
	int len;
	const char *folder; /* with LOOP_FILES: the folder whose file "i" is target i */
	void *own; /* the workload's data, of its setup_size */
};

/* An event. */
struct loop_ready {
	int id;
	short events; /* POLL bits; for a signal: how often it came */
};

#define LOOP_ENABLE_MAX 64 /* most ids in one call of `enable` */

#define LOOP_BLOCK     4096 /* bytes of a read */
#define LOOP_READS_MAX 64   /* most reads in flight */

/* An asynchronous read of LOOP_BLOCK bytes. */
struct loop_read {
	int id; /* of no other read in flight; less than the field's `len` */
	int fd;
	void *buffer;
	off_t offset;
};

/*
 * The buffers of one thread for its waits.  Several threads may wait in one loop, each with a hand.
 */
struct loop_hand {
	struct loop_ready *ready;
	void *records; /* for the loop: cap records of its record_size */
	int cap;
	int len; /* number of events in `ready` */
	/* for a loop that `enables`: the next wait enables these */
	const struct loop_ready *enable;
	int enable_len;
};

/*
 * A way to wait: its name, its abilities, and its functions, which return >= 0, or -errno.
 *
 * can       a set of enum loop_ability
 * library   the library that it needs; NULL: none
 * usable    returns true if it works here; NULL: always
 * size      bytes of its state, which is zero before `open`, and freed after `close`
 * change    make the same change for each of these ids
 * wait      wait until there is an event; if not `block`, do not sleep.  Returns the number of
 *           events, which are in hand->ready; 0 also after a signal that nobody waits for.
 * enables   `wait` enables the targets of hand->enable, at most hand->cap, by the same system call
 * enable    enable the targets of these events again, at most LOOP_ENABLE_MAX; NULL: make the
 *           change LOOP_ENABLE for each
 * turn      for a library that calls back, whose `wait` is loop_wait_called: run the library once
 * wake      end the wait that runs, or the next one, which returns LOOP_WOKEN or 0
 * wake_all  on: end all waits that run; off: called after they have ended
 * waits     returns how many waits have begun; NULL: nobody counts them
 * fd        returns a descriptor that is readable while there is an event
 * timers    arm these timers to expire in ns[i] nanoseconds, or cancel them (ns is NULL).  `wait`
 *           counts those that have expired, but returns no records of them.
 * trigger   with LOOP_USERS, whose targets are user events: trigger one, and take its event
 * file      watch the file of this target (on), or stop watching
 * process   report the end of this process
 * signal    report deliveries of this signal
 * read      begin a read, whose end is an event
 * syscalls  returns the number of calls that bench_calls does not contain; NULL: none
 * uncounted nobody knows the number of system calls
 * open, close   NULL: nothing to do.  `close` is called even if opening has failed at any step.
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

/* queue.c: returns true if a queue on this back end has a descriptor. */
bool queue_nests(const char *backend);
/* Returns the number of system calls of this queue, or BENCH_UNKNOWN. */
uint64_t queue_calls(struct xpoll *queue);

/* With LOOP_FILES: store the path of a target's file. */
#define LOOP_PATH_MAX 64
static inline void loop_path(char path[LOOP_PATH_MAX], const char *folder, int id)
{
	snprintf(path, LOOP_PATH_MAX, "%s/%d", folder, id);
}

/* An open loop, with the hand of one thread. */
struct loop {
	const struct loop_ops *ops;
	void *state;
	struct loop_hand hand;
};

/*
 * Open a loop; cap: most events of one wait.  Returns 0 or -errno; close the loop in either case.
 */
int loop_open(struct loop *loop, const struct bench_way *way, const struct bench_field *field,
              int cap);
/* Close a loop; harmless if it is zero. */
void loop_close(struct loop *loop);
/* Open a hand for another thread.  Returns 0 or -errno. */
int loop_hand_open(struct loop_hand *hand, const struct loop_ops *ops, int cap);
void loop_hand_close(struct loop_hand *hand);
/* Make a change for all ids below len, 64 in a call.  Returns 0 or -errno. */
int loop_change_all(struct loop *loop, enum loop_change change, int len);
/* Returns the number of system calls of this thread and of the loop so far, or BENCH_UNKNOWN. */
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

/* Wait until there are events.  Returns their number, or -errno. */
static inline int loop_await(struct loop *loop)
{
	int count;

	do
		count = loop_wait(loop, true);
	while (count == 0);
	return count;
}

/* Request these events of a target from now on, and no others. */
static inline int loop_watch(struct loop *loop, struct bench_field *field, int id, short events)
{
	field->targets[id].before = field->targets[id].events;
	field->targets[id].events = events;
	return loop_change(loop, LOOP_WATCH, &id, 1);
}

/* Enable the targets of these events again. */
static inline int loop_enable(struct loop *loop, const struct loop_ready *ready, int len)
{
	int rc = 0;

	if (loop->ops->enable != NULL)
		return len > 0 ? loop->ops->enable(loop->state, ready, len) : 0;
	for (int i = 0; i < len && rc >= 0; i++)
		rc = loop_change(loop, LOOP_ENABLE, &ready[i].id, 1);
	return rc;
}

/* Enable these targets again, and wait; by one system call if the loop can. */
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

/* Append an event to hand->ready, if there is room. */
static inline void loop_report(struct loop_hand *hand, int id, short events)
{
	if (hand->len < hand->cap)
		hand->ready[hand->len++] = (struct loop_ready){ id, events };
}

/* The first member of the state of a loop on a library that calls back. */
struct loop_called {
	const struct loop_ops *ops;
	const struct loop_target *targets;
	struct loop_hand *hand;
	bool dispatch;
};

/* The loop in whose wait this thread is: libraries do not pass it to callbacks. */
extern _Thread_local struct loop_called *loop_running;

void loop_called_init(struct loop_called *loop, const struct bench_field *field,
                      const struct bench_way *way);
/* `wait` of loops on libraries that call back. */
int loop_wait_called(void *loop, struct loop_hand *hand, bool block);

/* --- What workloads share -------------------------------------------------- */

/* One turn of one variant; the runner passes this to the variant's functions. */
struct bench_turn {
	struct loop loop; /* open if the variant is written on loops and its ops.room is not 0 */
	const struct bench_way *way;
	struct bench_field *field;
	const struct bench_phase *phase;
	int count;  /* most operations that `run` may do */
	struct bench_sample *sample; /* results of this phase, zero at first */
	void *own; /* the variant's data, of its ops.size */
};

/*
 * Returns the number of operations of a round: the phase's value, or n if that is 0 or larger; at
 * most turn->count.
 */
static inline int bench_round(const struct bench_turn *turn)
{
	int n = turn->way->options->n;
	int value = turn->phase->value;
	int k = value > 0 && value < n ? value : n;

	return k < turn->count ? k : turn->count;
}

/* Number of system calls of this thread, which the code that makes them counts. */
extern _Thread_local uint64_t bench_calls;

/* Write one byte to a pair.  Returns 0 or -errno. */
static inline int bench_give(const struct bench_pair *pair)
{
	ssize_t len = write(pair->write_fd, "t", 1);

	bench_calls++;
	if (len == 1)
		return 0;
	return len < 0 ? -errno : -EIO;
}
/* Read one byte from a pair.  Returns 0 or -errno. */
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

#define SERVE_IDLE_ACTIVE 10 /* active descriptors of the workloads idle and drop-in */

extern const struct bench_ops serve_ops;
extern const struct bench_variant serve_limit;

/* --- looptest: one token goes round ------------------------------------------ */

/* looptest on xpoll, by the poll-like calls of the original. */
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

/* looptest by hand on epoll(7), and on any loop. */
extern const struct bench_ops looptest_epoll_ops, looptest_loop_ops;
int looptest_epoll(const struct bench_turn *turn); /* returns the epoll descriptor */

/* --- threads, processes and listeners: system.c ------------------------------ */

/*
 * Start a thread that blocks all signals, because they are for the thread that measures.  Returns 0
 * or -errno.
 */
int bench_thread_start(pthread_t *thread, void *(*main)(void *argument), void *argument);

/* Like fork(2), but the kernel kills the child when the parent ends. */
pid_t bench_fork(void);

/* Wait until another thread writes to this eventfd, and read it.  Returns 0 or -errno. */
int bench_await(int fd);

/*
 * Open a listening socket of this family, and store its address.  Returns the descriptor or -errno.
 */
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

/*
 * xt: the test harness.
 *
 * A program is a list of XT_TEST(name) { ... } bodies.  A failing check prints
 * its place and both values and returns from the test, never from the program.
 * Each test has a watchdog that prints the stacks of all threads.  After each
 * test its queues are destroyed, its descriptors closed, and what is open then
 * and was not before is reported as a leak.
 *
 * Every program runs once per back end (--backend NAME) and per thread mode
 * (--mode single|threads).  In threads mode xt_open gives a queue that two
 * other threads keep changing (registrations of their own), and xt_take is done
 * by two waiting threads at a time, whose results are merged.
 *
 * Not for use by several test threads at once, unless it says so: XT_EXPECT,
 * the xt_put family and plain library calls are.
 */
#ifndef XT_H
#define XT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* pipe2, POLLRDHUP, O_PATH, pthread_timedjoin_np */
#endif

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <xpoll.h>

/* For a program that is linked with --wrap=FUNCTION: its own, and the library's. */
#define XT_WRAP(function) __typeof__(function) __wrap_##function, __real_##function

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif
#define XT_NEEDS_RDHUP() \
	do { \
		if (!POLLRDHUP) \
			XT_SKIP("no POLLRDHUP here"); \
	} while (0)

/* Returns true if this kernel has a filter for EXCEPT. */
bool xt_has_except(void);
#define XT_NEEDS_EXCEPT() \
	do { \
		if (!xt_has_except()) \
			XT_SKIP("no EVFILT_EXCEPT here"); \
	} while (0)
bool xt_pipes_have_except(void);
/* On OpenBSD xpoll_fd is readable until a look after a change: a filter is counted then. */
void xt_settle(struct xpoll *queue);
/*
 * Returns true if the descriptor of the queue is readable: at once, except where a thread of the
 * kernel passes that on.
 */
bool xt_now_readable(struct xpoll *queue);
/* Returns true if that also delays a queue inside another, such as those of VNODE and PROC. */
bool xt_nested_are_late(void);
/* Returns true if kqueue(2) watches devices that are always ready, which others refuse. */
bool xt_watches_devices(void);
/* Returns true if a socket that listens later keeps the filter of one that does not. */
bool xt_chooses_filters_early(void);
/* Returns true if READ reports the shutdown of a listener, as on FreeBSD. */
bool xt_listeners_end(void);
#define XT_NEEDS_LISTENERS_END() \
	do { \
		if (!xt_listeners_end()) \
			XT_SKIP("a listener that was shut down is not readable here"); \
	} while (0)
/* Returns true on a kernel with kqueue(2), or a model of one, whatever the back end. */
bool xt_has_kqueue(void);
/* Return true on one that has no EVFILT_USER, or that does not show whether a socket listens. */
bool xt_lacks_user_events(void);
bool xt_lacks_acceptconn(void);
#define XT_NEEDS_USER_EVENTS() \
	do { \
		if (xt_lacks_user_events()) \
			XT_SKIP("no EVFILT_USER here: EPIPE"); \
	} while (0)

/* Which printf is meant: MinGW has two. */
#ifdef __MINGW_PRINTF_FORMAT
#define XT_PRINTF(text, first) \
	__attribute__((format(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define XT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* Defined under a sanitizer that slows everything down, or replaces malloc. */
#if defined(__SANITIZE_THREAD__)
#define XT_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define XT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define XT_TSAN 1
#elif __has_feature(address_sanitizer)
#define XT_ASAN 1
#endif
#endif
#ifndef XT_TSAN
#define XT_TSAN 0
#endif
#ifndef XT_ASAN
#define XT_ASAN 0
#endif
#define XT_SANITIZED (XT_TSAN || XT_ASAN)

/* Long loops are to be shorter: a sanitizer, an emulator, or Windows, which is mostly Wine. */
#if defined(_WIN32) || defined(XT_EMULATED) || defined(XT_SELFTEST)
#define XT_SLOW 1
#else
#define XT_SLOW XT_SANITIZED
#endif

enum {
	READ = XPOLL_FILT_READ,
	WRITE = XPOLL_FILT_WRITE,
	EXCEPT = XPOLL_FILT_EXCEPT,
	USER = XPOLL_FILT_USER,
	VNODE = XPOLL_FILT_VNODE
};

/* The least bits that poll(2) reports for a connection that was reset. */
#ifdef _WIN32
#define XT_RESET POLLIN
#else
#define XT_RESET POLLHUP
#endif

/* Flag for a descriptor that only names a file; 0: not supported. */
#ifdef O_PATH
#define XT_O_PATH O_PATH
#else
#define XT_O_PATH 0
#endif

/* The first real-time signal; 0: there are none. */
#ifdef SIGRTMIN
#define XT_RTMIN SIGRTMIN
#else
#define XT_RTMIN 0
#endif
/* All signal numbers are below this; FreeBSD's NSIG is too low. */
#ifdef _SIG_MAXSIG
#define XT_NO_SIGNAL (_SIG_MAXSIG + 1)
#else
#define XT_NO_SIGNAL NSIG
#endif
/* Only Linux can queue a signal to a thread; elsewhere any thread of the process may get it. */
#ifdef __linux__
#define XT_SIGNALS_A_THREAD() ((void)0)
#else
#define XT_SIGNALS_A_THREAD() XT_SINGLE_ONLY()
#endif
/* How many of this number of pending standard signals are delivered. */
#ifdef __FreeBSD__
#define XT_STANDARD_OF(count) (count)
#else
#define XT_STANDARD_OF(count) 1
#endif
/* OpenBSD hands SIGCONT to each thread of a process. */
#ifdef __OpenBSD__
#define XT_CONT_COMES_ONCE (!xt_threads)
#else
#define XT_CONT_COMES_ONCE true
#endif
#define XT_NEEDS_RT()                                         \
	do {                                                  \
		if (!XT_RTMIN)                                \
			XT_SKIP("no real-time signals here"); \
	} while (0)

/* By which factor a test may take longer because the machine is busy. */
extern unsigned xt_slowness;
/* How long to wait for an event that must come, in ns: a guard against hanging. */
#define XT_SOON (INT64_C(20) * 1000000000 * xt_slowness)

/* 1.  Tests --------------------------------------------------------------- */

struct xt_test {
	const char *name;
	const char *file;
	void (*run)(void);
	struct xt_test *next;
};

void xt_register(struct xt_test *test);

#define XT_TEST(name)                                                  \
	static void name(void);                                        \
	static struct xt_test xt_test_##name = {#name, __FILE__, name, \
	                                        NULL};                 \
	__attribute__((constructor)) static void xt_add_##name(void)   \
	{                                                              \
		xt_register(&xt_test_##name);                          \
	}                                                              \
	static void name(void)

/* Set by a constructor: main calls it with the arguments first of all. */
extern void (*xt_main_first)(int argc, char **argv);

extern const char *xt_backend; /* the back end under test */
extern bool xt_threads;        /* threads mode */

bool xt_is(const char *backend); /* the back end under test is this one */
bool xt_wine(void); /* Windows is played by Wine */
/*
 * For the peer's end its server peeks at one byte: as long as there is one to be
 * read it does not know.  Windows reports an end behind unread bytes.
 */
#define XT_WINE_PEEKS "Wine does not see an end behind unread bytes"
/* On Windows, of harness and library, pipes and such sockets are TCP connections. */
#define XT_NO_UNIX "no UNIX-domain sockets here"
bool xt_sunos(void); /* illumos is played by models, or it is itself */
bool xt_kqueue(void); /* the library is that of the systems with kqueue(2) */
bool xt_dropin(void); /* and kqueue(2) is played by the drop-in */
bool xt_usable(const char *backend); /* the library has this back end here */
/* Returns true if the back end has a kernel's queue, which xpoll_fd needs. */
bool xt_has_queue_fd(void);
/* Returns true if the back end detects that a descriptor was reused (S7). */
bool xt_sees_reuse(void);
/* Returns true if its ADD and DELETE detect that, for files that fstat(2) distinguishes. */
bool xt_add_sees_reuse(void);

/* Number of failed checks of this test so far.  From any thread. */
int xt_failures(void);
void xt_fail(const char *file, int line, const char *format, ...)
	XT_PRINTF(3, 4);
void xt_skip(const char *reason);
/* Skip and end the test, because the system lacks this.  Called on the thread of the test. */
void xt_absent(const char *what) __attribute__((noreturn));
void xt_note(const char *format, ...) XT_PRINTF(1, 2);
uint64_t xt_seed(void);                /* --seed or XT_SEED, else fixed */
uint32_t xt_random(uint64_t *state);   /* a small generator */
/* --seconds or XPOLL_STRESS_SECONDS, else the usual. */
double xt_stress_seconds(double usual);
const char *xt_error_name(int error);
const char *xt_filter_name(int filter);
void xt_watchdog(unsigned seconds); /* start this test's time anew */

/* 2.  Checks: each returns from a void function when it does not hold ------ */

#define XT_EXPECT(cond) \
	((cond) ? true  \
	        : (xt_fail(__FILE__, __LINE__, "not true: %s", #cond), false))

#define XT_CHECK(cond)                \
	do {                          \
		if (!XT_EXPECT(cond)) \
			return;       \
	} while (0)

bool xt_same(const char *file, int line, const char *text_a, intmax_t a,
             const char *text_b, intmax_t b);
bool xt_status(const char *file, int line, const char *text, int got,
               int want);
bool xt_failed_with(const char *file, int line, const char *text, intmax_t rc,
                    int want);

/* Checks that two integers are equal. */
#define XT_EXPECT_EQ(a, b) \
	xt_same(__FILE__, __LINE__, #a, (intmax_t)(a), #b, (intmax_t)(b))
#define XT_EQ(a, b)                        \
	do {                               \
		if (!XT_EXPECT_EQ((a), (b))) \
			return;            \
	} while (0)

/* Checks a status, 0 or an errno value as xt_change returns it. */
#define XT_EXPECT_STATUS(expr, want) \
	xt_status(__FILE__, __LINE__, #expr, (expr), (want))
#define XT_STATUS(expr, want)                            \
	do {                                             \
		if (!XT_EXPECT_STATUS((expr), (want)))   \
			return;                          \
	} while (0)
#define XT_OK(expr) XT_STATUS((expr), 0)

/* Checks that a POSIX call fails with -1 and this errno. */
#define XT_EXPECT_FAILS(expr, want) \
	(errno = 0,                 \
	 xt_failed_with(__FILE__, __LINE__, #expr, (expr), (want)))
#define XT_FAILS(expr, want)                           \
	do {                                           \
		if (!XT_EXPECT_FAILS((expr), (want)))  \
			return;                        \
	} while (0)

/* Run a helper with checks of its own, and return if one failed. */
#define XT_CALL(expr)               \
	do {                        \
		(void)(expr);       \
		if (xt_failures())  \
			return;     \
	} while (0)

/* Skip the test, because a part of the system is missing. */
#define XT_SKIP(reason)          \
	do {                     \
		xt_skip(reason); \
		return;          \
	} while (0)

/* Skip the test in threads mode, where it would prove nothing. */
#define XT_SINGLE_ONLY()        \
	do {                    \
		if (xt_threads) \
			return; \
	} while (0)

/* 3.  Queues and events --------------------------------------------------- */

/* A queue on the back end under test; destroyed when the test ends. */
struct xpoll *xt_open(void);
struct xpoll *xt_open_quiet(void); /* without the changers of threads mode */
struct xpoll *xt_open_flags(uint32_t flags); /* quiet, with these of xpoll_open */
struct xpoll *xt_open_on(const char *backend); /* quiet, another back end */
void xt_destroy(struct xpoll *queue);          /* one of the above, early */
void xt_forget_queue(struct xpoll *queue);     /* the test destroyed it */

/* Apply one change.  Returns 0 or its errno value. */
int xt_change(struct xpoll *queue, uint64_t ident, int filter, int flags,
              uint32_t fflags, int64_t data, void *udata);
int xt_add(struct xpoll *queue, int fd, int filter, int flags);
int xt_flag(struct xpoll *queue, uint64_t ident, int filter, int flags);
int xt_trigger(struct xpoll *queue, uint64_t ident);

/*
 * Take events like xpoll_event without changes.  In threads mode two threads take them, and the
 * results are merged: a level that both got counts once.
 */
int xt_take(struct xpoll *queue, struct xpoll_event *events, int cap,
            int64_t timeout_ns);

/* Checks that exactly this event comes, and stores it. */
bool xt_gets(const char *file, int line, struct xpoll *queue,
             struct xpoll_event *event, uint64_t ident, int filter);
bool xt_none(const char *file, int line, struct xpoll *queue);
#define XT_GETS(queue, event, ident, filter)                              \
	do {                                                              \
		if (!xt_gets(__FILE__, __LINE__, (queue), (event),        \
		             (uint64_t)(ident), (filter)))                \
			return;                                           \
	} while (0)
#define XT_NONE(queue)                                        \
	do {                                                  \
		if (!xt_none(__FILE__, __LINE__, (queue)))    \
			return;                               \
	} while (0)

/* Returns the index of the first event with this key, or -1. */
int xt_find(const struct xpoll_event *events, int count, uint64_t ident,
            int filter);

/* Returns a change record. */
struct xpoll_event xt_record(uint64_t ident, int filter, int flags);

/* Returns the present counters. */
struct xpoll_stats xt_stats(struct xpoll *queue);

/* 4.  Descriptors: non-blocking, close-on-exec, closed when the test ends --- */

struct xt_pair {
	int r; /* reads what is written to w; sockets: both ways */
	int w;
};

struct xt_pair xt_pipe(void);
struct xt_pair xt_socketpair(int type);
struct xt_pair xt_ready_pair(void); /* streams; r can be read and written */
struct xt_pair xt_tcp(void); /* r accepted, w connected */
struct xt_pair xt_tcp_bounded(void); /* the same; w can be filled with more than r holds */
struct xt_pair xt_pty(void); /* r slave in raw mode, w master */
int xt_listener(struct sockaddr_in *address);
int xt_socket(int domain, int type);
int xt_udp(struct sockaddr_in *address); /* bound to loopback */
/* The same, connected to itself: others are refused, and no other process can take the port. */
int xt_udp_refusing(struct sockaddr_in *address);
int xt_file(const char *text);           /* nameless, offset 0 */
int xt_open_path(const char *path, int flags);
bool xt_put_text(const char *path, const char *text); /* false: it may not be written */
int xt_eventfd(void);                  /* -1 where there is none */
int xt_timerfd(int64_t first_ns);      /* -1 where there is none */
int xt_keep(int fd);                   /* close it when the test ends */
void xt_close(int fd);                 /* close(2), checked */
void xt_shut(struct xt_pair pair);     /* both ends */
int xt_dup(int fd);
void xt_number(int fd, int number); /* move fd to exactly this number */

void xt_put(int fd);            /* write one byte */
int xt_get(int fd);             /* read one byte; 0 at the end, -1 if none */
void xt_fill(int fd);           /* write until EAGAIN */
int xt_drain(int fd);           /* read until EAGAIN; bytes */
short xt_poll(int fd, int events);      /* poll(2) now */
bool xt_poll_until(int fd, int events, int revents); /* until all are set */
bool xt_ended(int fd);                  /* wait until its peer sends no more */
/* Send from a connected datagram socket until the error is reported that nobody listens. */
bool xt_refused(int fd);
void xt_reset(struct xt_pair tcp); /* close w with a TCP reset */
/* Files with names, in a directory that is removed when the test ends. */
const char *xt_scratch(void);          /* the directory */
const char *xt_name(const char *name); /* a path in it; good for 8 calls */
int xt_make(const char *name, const char *text); /* open at the text's end */
int xt_raise_files(int wanted); /* RLIMIT_NOFILE; what is possible */
#define XT_FILES(wanted)                                                       \
	do {                                                                   \
		if (xt_raise_files(wanted) < (wanted))                         \
			XT_SKIP("too few descriptors allowed");                \
	} while (0)
bool xt_inherited(int fd); /* open, and would be in a program that is executed */
int xt_count_open(void);
void xt_set_open(unsigned char *bits, int count);

/* 5.  Threads, children, time ----------------------------------------------- */

struct xt_thread;

/* Start a thread, which is joined at the end of the test at the latest. */
struct xt_thread *xt_start(void (*run)(void *), void *argument);
void xt_join(struct xt_thread *thread);
void xt_threads_reuse(void); /* give back the joined ones: for loops */
pthread_t xt_pthread(struct xt_thread *thread);
bool xt_done(struct xt_thread *thread);
/* Wake all waits of the queue until this thread has ended, and join it. */
void xt_send_home(struct xpoll *queue, struct xt_thread *thread);

/*
 * Wait until the thread sleeps in the kernel, as far as the system shows that.  Tests of sleeping
 * threads use it, but must be right without it.
 */
void xt_asleep(struct xt_thread *thread);
/*
 * Like pthread_sigqueue, which not every C library has.  Returns 0, or -1 with errno.  If threads
 * have no numbers, the signal is sent to the process.
 */
int xt_queue_signal(int thread_number, int number, int value);
int xt_thread_number(void); /* of the calling thread; 0: it has none */

/* A thread that waits for one event: xt_start(xt_sleep, &sleeper). */
struct xt_sleeper {
	struct xpoll *queue;
	int64_t timeout_ns;
	const sigset_t *mask; /* or NULL */
	struct xpoll_event event;
	int rc;
	int error;
};
void xt_sleep(void *sleeper);

/*
 * Several threads sleep in a queue, for ever, each until it has one event.  bring makes one
 * event at a time: each has to reach another thread, which puts its data into the array.
 */
enum { XT_SLEEPERS = 3 };
bool xt_sleepers_get(struct xpoll *queue, void (*bring)(void *argument, int which),
                     void *argument, int64_t data[XT_SLEEPERS]);

/* Wait, yielding the processor, until the counter is at least this value. */
void xt_until(atomic_int *counter, int value);

/*
 * Run a function in a forked child; failures there count in this test.  Returns true if there were
 * none.
 */
bool xt_child(void (*run)(void *), void *argument);

int64_t xt_now(void); /* monotonic, ns */

#endif

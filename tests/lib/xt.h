/*
 * xt: the test harness.
 *
 * A program is a list of XT_TEST(name) { ... } bodies.  A failing check prints its place and both
 * values and returns from the test, never from the program.  Each test has a watchdog that prints
 * the stacks of all threads.  After each test its queues are destroyed and its descriptors closed;
 * descriptors that are open then and were not open before are reported as a leak.
 *
 * Every program runs once per back end (--backend NAME) and per thread mode (--mode
 * single|threads).  In threads mode two other threads keep changing registrations of their own in
 * each queue that xt_open returns, and two threads at a time wait for xt_take, whose results are
 * merged.
 *
 * Several threads of a test may only call XT_EXPECT, the xt_put family, functions that say so, and
 * the library.
 */
#ifndef XT_H
#define XT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* for pipe2, POLLRDHUP, O_PATH, pthread_timedjoin_np */
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

/* Declare the function that --wrap links instead of FUNCTION, and the replaced one. */
#define XT_WRAP(function) __typeof__(function) __wrap_##function, __real_##function

#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif
#define XT_NEEDS_RDHUP() \
	do { \
		if (!POLLRDHUP) \
			XT_SKIP("no POLLRDHUP here"); \
	} while (0)

/* Returns true if this system can report EXCEPT; kqueue(2) may lack EVFILT_EXCEPT. */
bool xt_has_except(void);
#define XT_NEEDS_EXCEPT() \
	do { \
		if (!xt_has_except()) \
			XT_SKIP("no EVFILT_EXCEPT here"); \
	} while (0)
bool xt_pipes_have_except(void);
/* On OpenBSD xpoll_fd stays readable after a change until the queue is polled: poll it. */
void xt_settle(struct xpoll *queue);
/*
 * Returns true if the queue's descriptor is readable.  Waits for that only where a thread of the
 * kernel makes the descriptor readable with a delay (xt_nested_are_late).
 */
bool xt_now_readable(struct xpoll *queue);
/*
 * Returns true if the kernel reports with a delay that a kqueue inside another one is readable,
 * like the kqueues of VNODE and PROC.
 */
bool xt_nested_are_late(void);
/*
 * Returns true if this kqueue(2) can watch devices that are always ready; other systems refuse
 * them.
 */
bool xt_watches_devices(void);
/* Returns true if a socket that begins to listen keeps the filter of one that does not. */
bool xt_chooses_filters_early(void);
/* Returns true if READ reports the shutdown of a listener, as on FreeBSD. */
bool xt_listeners_end(void);
#define XT_NEEDS_LISTENERS_END() \
	do { \
		if (!xt_listeners_end()) \
			XT_SKIP("a listener that was shut down is not readable here"); \
	} while (0)
/* Returns true on a kernel with kqueue(2) or a model of one, whatever the back end is. */
bool xt_has_kqueue(void);
/* Return true on a kernel, or a model of one, without EVFILT_USER, or without SO_ACCEPTCONN. */
bool xt_lacks_user_events(void);
bool xt_lacks_acceptconn(void);
#define XT_NEEDS_USER_EVENTS() \
	do { \
		if (xt_lacks_user_events()) \
			XT_SKIP("no EVFILT_USER here: EPIPE"); \
	} while (0)

/* Has the compiler check printf formats; MinGW has two kinds of printf. */
#ifdef __MINGW_PRINTF_FORMAT
#define XT_PRINTF(text, first) \
	__attribute__((format(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define XT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* XT_TSAN and XT_ASAN are 1 under a sanitizer, which slows everything down or replaces malloc. */
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

/* 1: make long loops shorter, under a sanitizer, an emulator, or Windows, which is mostly Wine. */
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

/* The bits that poll(2) reports at least for a connection that was reset. */
#ifdef _WIN32
#define XT_RESET POLLIN
#else
#define XT_RESET POLLHUP
#endif

/* open(2) flag for a descriptor that only names a file; 0: not supported. */
#ifdef O_PATH
#define XT_O_PATH O_PATH
#else
#define XT_O_PATH 0
#endif

/* The first real-time signal; 0: the system has none. */
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
/* Skips in threads mode where any thread may get a queued signal; Linux can queue to one thread. */
#ifdef __linux__
#define XT_SIGNALS_A_THREAD() ((void)0)
#else
#define XT_SIGNALS_A_THREAD() XT_SINGLE_ONLY()
#endif
/* Number of signals that a program gets of a blocked standard signal sent `count` times. */
#ifdef __FreeBSD__
#define XT_STANDARD_OF(count) (count)
#else
#define XT_STANDARD_OF(count) 1
#endif
/* False on OpenBSD in threads mode, where each thread of a process gets SIGCONT. */
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

/* Factor by which a test may take longer because the machine is busy. */
extern unsigned xt_slowness;
/* How long to wait for an event that must come, in ns; it only ends a test that would hang. */
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

/* A function that a constructor of the test may set: main calls it first, with its arguments. */
extern void (*xt_main_first)(int argc, char **argv);

extern const char *xt_backend; /* the back end under test */
extern bool xt_threads;        /* the test runs in threads mode */

bool xt_is(const char *backend); /* returns true if this is the back end under test */
bool xt_wine(void); /* returns true if this Windows is Wine */
/*
 * Reason for a skip.  Wine's server finds the end of a connection by peeking at one byte, which
 * shows nothing while a byte is unread; Windows reports the end although bytes are unread.
 */
#define XT_WINE_PEEKS "Wine does not see an end behind unread bytes"
/*
 * Reason for a skip.  On Windows the pipes and socket pairs of harness and library are TCP
 * connections.
 */
#define XT_NO_UNIX "no UNIX-domain sockets here"
bool xt_sunos(void); /* returns true on illumos, and on its models on Linux */
bool xt_kqueue(void); /* returns true if the library is built for kqueue(2) */
bool xt_dropin(void); /* the same, but only if its kqueue(2) is the drop-in */
bool xt_usable(const char *backend); /* returns true if this system has the back end */
/*
 * Returns true if the back end waits in a kernel object that can be polled, which xpoll_fd needs.
 */
bool xt_has_queue_fd(void);
/* Returns true if the back end detects that a descriptor was reused (S7). */
bool xt_sees_reuse(void);
/*
 * Returns true if ADD and DELETE detect that a descriptor was reused, for files that fstat(2)
 * distinguishes.
 */
bool xt_add_sees_reuse(void);

/* Returns the number of failed checks of this test so far.  Any thread may call it. */
int xt_failures(void);
void xt_fail(const char *file, int line, const char *format, ...)
	XT_PRINTF(3, 4);
void xt_skip(const char *reason);
/* Skip and end the test, because the system lacks `what`.  Called on the thread of the test. */
void xt_absent(const char *what) __attribute__((noreturn));
void xt_note(const char *format, ...) XT_PRINTF(1, 2);
uint64_t xt_seed(void);                /* --seed or $XT_SEED, else a fixed number */
uint32_t xt_random(uint64_t *state);   /* returns a random number */
/* Returns --seconds or $XPOLL_STRESS_SECONDS, else `usual`. */
double xt_stress_seconds(double usual);
const char *xt_error_name(int error);
const char *xt_filter_name(int filter);
void xt_watchdog(unsigned seconds); /* end this test after this time from now */

/* 2.  Checks: one that fails returns from its function, which returns void --- */

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

/* Runs a function that makes checks, and returns if one has failed. */
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

/* End the test without a result in threads mode, where it would prove nothing. */
#define XT_SINGLE_ONLY()        \
	do {                    \
		if (xt_threads) \
			return; \
	} while (0)

/* 3.  Queues and events --------------------------------------------------- */

/* Returns a queue on the back end under test, which is destroyed when the test ends. */
struct xpoll *xt_open(void);
struct xpoll *xt_open_quiet(void); /* without the changers of threads mode */
struct xpoll *xt_open_flags(uint32_t flags); /* quiet, with these flags of xpoll_open */
struct xpoll *xt_open_on(const char *backend); /* quiet, on this back end */
void xt_destroy(struct xpoll *queue);          /* destroy such a queue before the test ends */
void xt_forget_queue(struct xpoll *queue);     /* the test has destroyed the queue itself */

/* Apply one change.  Returns 0 or the errno value of the change's result. */
int xt_change(struct xpoll *queue, uint64_t ident, int filter, int flags,
              uint32_t fflags, int64_t data, void *udata);
int xt_add(struct xpoll *queue, int fd, int filter, int flags);
int xt_flag(struct xpoll *queue, uint64_t ident, int filter, int flags);
int xt_trigger(struct xpoll *queue, uint64_t ident);

/*
 * Wait for events like xpoll_event without changes.  In threads mode two threads wait, and their
 * results are merged: a level-triggered event that both got counts once.
 */
int xt_take(struct xpoll *queue, struct xpoll_event *events, int cap,
            int64_t timeout_ns);

/* xt_gets checks that exactly this event comes, and stores it; xt_none: that none comes. */
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

/* Returns the index of the first event with this ident and filter, or -1. */
int xt_find(const struct xpoll_event *events, int count, uint64_t ident,
            int filter);

/* Returns a change record. */
struct xpoll_event xt_record(uint64_t ident, int filter, int flags);

/* Returns the present counters. */
struct xpoll_stats xt_stats(struct xpoll *queue);

/* 4.  Descriptors: non-blocking, close-on-exec, closed when the test ends --- */

struct xt_pair {
	int r; /* gets what is written to w; of sockets, also the other way */
	int w;
};

struct xt_pair xt_pipe(void);
struct xt_pair xt_socketpair(int type);
struct xt_pair xt_ready_pair(void); /* stream sockets; r can be read and written */
struct xt_pair xt_tcp(void); /* TCP: r was accepted, w connected */
struct xt_pair xt_tcp_bounded(void); /* the same; w accepts more bytes than r can hold */
struct xt_pair xt_pty(void); /* r: slave in raw mode, w: master */
int xt_listener(struct sockaddr_in *address);
int xt_socket(int domain, int type);
int xt_udp(struct sockaddr_in *address); /* a UDP socket bound to loopback */
/* Like xt_udp, connected to itself: no other socket can send to it or take its port. */
int xt_udp_refusing(struct sockaddr_in *address);
int xt_file(const char *text);           /* a file without a name, with this text, offset 0 */
int xt_open_path(const char *path, int flags);
bool xt_put_text(const char *path, const char *text); /* false: no permission to write */
int xt_eventfd(void);                  /* -1: not supported */
int xt_timerfd(int64_t first_ns);      /* -1: not supported */
int xt_keep(int fd);                   /* have fd closed when the test ends; returns fd */
void xt_close(int fd);                 /* close(2), which must succeed */
void xt_shut(struct xt_pair pair);     /* close both ends */
int xt_dup(int fd);
void xt_number(int fd, int number); /* move fd to this descriptor number */

void xt_put(int fd);            /* write one byte */
int xt_get(int fd);             /* read one byte; returns it, 0 at the end, -1 if there is none */
void xt_fill(int fd);           /* write until EAGAIN */
int xt_drain(int fd);           /* read until EAGAIN; returns the number of bytes */
short xt_poll(int fd, int events);      /* returns poll(2)'s revents, with timeout 0 */
bool xt_poll_until(int fd, int events, int revents); /* wait until all these revents are set */
bool xt_ended(int fd);                  /* wait until its peer sends no more */
/* Send from a connected UDP socket until the error arrives that nobody listens. */
bool xt_refused(int fd);
void xt_reset(struct xt_pair tcp); /* close w with a TCP reset */
/* Files with names, in a directory that is removed when the test ends. */
const char *xt_scratch(void);          /* the directory */
const char *xt_name(const char *name); /* a path in the directory; valid for the next 7 calls */
/* make a file with this text, and return a descriptor at the end of the text */
int xt_make(const char *name, const char *text);
int xt_raise_files(int wanted); /* raise RLIMIT_NOFILE up to this; returns the limit */
#define XT_FILES(wanted)                                                       \
	do {                                                                   \
		if (xt_raise_files(wanted) < (wanted))                         \
			XT_SKIP("too few descriptors allowed");                \
	} while (0)
bool xt_inherited(int fd); /* returns true if fd is open and not close-on-exec */
int xt_count_open(void);
void xt_set_open(unsigned char *bits, int count);

/* 5.  Threads, children, time ----------------------------------------------- */

struct xt_thread;

/* Start a thread, which is joined at the end of the test at the latest. */
struct xt_thread *xt_start(void (*run)(void *), void *argument);
void xt_join(struct xt_thread *thread);
void xt_threads_reuse(void); /* reuse room of joined threads, in loops */
pthread_t xt_pthread(struct xt_thread *thread);
bool xt_done(struct xt_thread *thread);
/* Wake all waits of the queue repeatedly until this thread has ended, and join it. */
void xt_send_home(struct xpoll *queue, struct xt_thread *thread);

/*
 * Wait until the thread sleeps in the kernel, as far as the system shows that.  Tests of sleeping
 * threads call this to make their case likely, but must also pass without it.
 */
void xt_asleep(struct xt_thread *thread);
/*
 * Like pthread_sigqueue, which some C libraries lack.  Returns 0, or -1 with errno.  On systems
 * without thread IDs the signal is sent to the process.
 */
int xt_queue_signal(int thread_number, int number, int value);
int xt_thread_number(void); /* the kernel's ID of the calling thread; 0: none */

/* The argument of a thread that waits for one event: xt_start(xt_sleep, &sleeper). */
struct xt_sleeper {
	struct xpoll *queue;
	int64_t timeout_ns;
	const sigset_t *mask; /* NULL: no mask */
	struct xpoll_event event;
	int rc;
	int error;
};
void xt_sleep(void *sleeper);

/*
 * Let XT_SLEEPERS threads sleep in the queue without a timeout, each until it has one event.
 * `bring` is called once for each and makes one event.  Each event must reach another thread, which
 * stores its data in the array.  Returns true if that was so.
 */
enum { XT_SLEEPERS = 3 };
bool xt_sleepers_get(struct xpoll *queue, void (*bring)(void *argument, int which),
                     void *argument, int64_t data[XT_SLEEPERS]);

/* Wait until the counter is at least this value, yielding the processor. */
void xt_until(atomic_int *counter, int value);

/*
 * Run a function in a forked child; checks that fail there count as failures of this test.  Returns
 * true if none failed.
 */
bool xt_child(void (*run)(void *), void *argument);
/* Let the library know that this forked child of the runner has one thread. */
void xt_become_alone(void);

int64_t xt_now(void); /* the monotonic clock in ns */

#endif

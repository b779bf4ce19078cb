/*
 * Goal: where one sleep in poll(2) is several sleeps of the drop-in, a signal
 * between two of them interrupts the call, and readiness found between them is
 * returned.
 * Method: white box.  The C library's functions in which the drop-in sleeps are
 * replaced by functions that sleep, and then run the test's code.
 */
#include "dropin.h"

#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>

#include "real.h"
#include "settings.h"

/*
 * After this many sleeps without an interruption the test takes the signal for lost, and lets the
 * call end.
 */
#define LOST 5

#define SECOND 1000000000LL
#define LONG   (1000 * SECOND) /* interval of the real calls */

static struct crowd crowd;
static atomic_int handled;
static int sleeps;
static bool cut;            /* the first sleep ends because a real call is due */
static int64_t passed_ns;   /* time that passes for the drop-in only */
static int64_t asked_ns[8]; /* the timeouts of the sleeps; -1: infinite */
static void (*after_sleep)(void);
static void (*before_sleep)(void);

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&handled, 1);
}

static void raise_signal(void)
{
	pthread_kill(pthread_self(), SIGUSR1);
}

/*
 * The first sleep ends because of a byte that is read before the drop-in polls, or by its timeout.
 * Later sleeps only poll, so that a call that has lost its signal fails and does not hang.
 */
static int sleep_in_parts(struct pollfd *fds, nfds_t count,
                          const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec zero = {0};
	bool first = sleeps++ == 0;
	int rc;

	asked_ns[sleeps % 8] = timeout ? timeout->tv_sec * SECOND + timeout->tv_nsec : -1;
	if (!first && before_sleep)
		before_sleep();
	if ((first && !cut) || sleeps == LOST)
		xt_put(crowd.pipes[5].w);
	rc = (int)syscall(SYS_ppoll, fds, count, first && !cut ? NULL : &zero, mask, 8);
	if (first && !cut)
		xt_get(crowd.pipes[5].r);
	if (first && cut)
		passed_ns += LONG;
	if (first && after_sleep)
		after_sleep();
	return rc;
}

static struct real saved_real;

static int select_in_parts(int count, fd_set *in, fd_set *out, fd_set *except,
                           const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec zero = {0};

	(void)timeout;
	sleeps++;
	if (before_sleep)
		before_sleep();
	return saved_real.pselect(count, in, out, except, &zero, mask);
}

int64_t __real_xp_sys_now_coarse(void);
int64_t __wrap_xp_sys_now_coarse(void);

int64_t __wrap_xp_sys_now_coarse(void)
{
	return __real_xp_sys_now_coarse() + passed_ns;
}

static int sleep_in_parts_ms(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	(void)timeout_ms;
	return sleep_in_parts(fds, count, NULL, NULL);
}

static void seams_open(void)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	XT_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	XT_CALL(crowd_open(&crowd));
	atomic_store(&handled, 0);
	sleeps = 0;
	cut = false;
	settings.recheck_ns = 0;
	after_sleep = NULL;
	before_sleep = NULL;
}

static fd_set set; /* set for the select calls */

/* Call poll, ppoll, select or pselect. */
static int call_inline(int kind, bool wait)
{
	struct timespec zero = {0};
	struct timeval zero_us = {0};

	set = crowd_set(&crowd);

	switch (kind) {
	case 0:
		return crowd_poll(&crowd, wait ? -1 : 0);
	case 1:
		return ppoll(crowd.fds, CROWD, wait ? NULL : &zero, NULL);
	case 2:
		return select(FD_SETSIZE, &set, NULL, NULL, wait ? NULL : &zero_us);
	default:
		return pselect(FD_SETSIZE, &set, NULL, NULL, wait ? NULL : &zero, NULL);
	}
}

/* Not inlined, so that all calls of a kind come from the same place in the program. */
static int (*volatile call)(int kind, bool wait) = call_inline;

/* Check each function that waits, with sets that the drop-in has made before. */
static void check_seam(bool by_time, void (*after)(void), void (*before)(void))
{
	saved_real = real;
	XT_CALL(seams_open());
	cut = by_time;
	settings.recheck_ns = by_time ? LONG : 0;
	for (int kind = 0; kind < 4; kind++) {
		sigset_t mask;
		sigset_t mask_after;
		int saved_errno;
		int rc;

		/* after these calls the kernel watches all descriptors */
		for (int i = 0; i < 2 * CROWD; i++)
			XT_EQ(call(kind, false), 0);
		sleeps = 0;
		after_sleep = after;
		before_sleep = before;
		atomic_store(&handled, 0);
		pthread_sigmask(SIG_SETMASK, NULL, &mask);
		real.poll = sleep_in_parts_ms;
		real.ppoll = sleep_in_parts;
		real.pselect = select_in_parts;
		rc = call(kind, true);
		saved_errno = errno;
		real = saved_real;
		XT_EQ(rc, -1);
		XT_EQ(saved_errno, EINTR);
		XT_EQ(sleeps, 2);
		XT_EQ(atomic_load(&handled), 1);
		pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
		XT_CHECK(memcmp(&mask, &mask_after, 8) == 0);
	}
}

XT_TEST(signal_right_after_a_sleep_in_vain_interrupts)
{
	check_seam(false, raise_signal, NULL);
}

XT_TEST(signal_right_before_the_next_sleep_interrupts)
{
	check_seam(false, NULL, raise_signal);
}

/* --- The next real call ------------------------------------------------------------ */

XT_TEST(signal_right_after_a_sleep_that_was_cut_interrupts)
{
	check_seam(true, raise_signal, NULL);
}

XT_TEST(signal_right_before_the_sleep_after_the_full_look_interrupts)
{
	check_seam(true, NULL, raise_signal);
}

static void fill_pipe(void)
{
	xt_put(crowd.pipes[5].w);
}

/* A call that waits for an hour sleeps on the set at first, and then in a real call. */
XT_TEST(one_sleep_of_a_call_is_cut_and_the_next_one_is_the_real_call)
{
	struct real saved = real;
	int rc;

	XT_CALL(seams_open());
	cut = true;
	settings.recheck_ns = LONG;
	crowd_settle(&crowd);
	sleeps = 0;
	real.ppoll = sleep_in_parts;
	before_sleep = fill_pipe;
	rc = crowd_poll(&crowd, -1);
	real = saved;
	XT_EQ(rc, 1);
	XT_EQ(sleeps, 2);
	XT_CHECK(asked_ns[1] > 0 && asked_ns[1] <= LONG / 2);
	XT_EQ(asked_ns[2], -1);
	xt_get(crowd.pipes[5].r);
}

/* The first sleep finds readiness that a second poll of the same file would not find. */
static int sleep_and_consume(struct pollfd *fds, nfds_t count,
                             const struct timespec *timeout, const sigset_t *mask)
{
	(void)timeout;
	(void)mask;
	for (nfds_t i = 0; i < count; i++)
		fds[i].revents = sleeps == 0 && fds[i].fd == crowd.fds[7].fd ? POLLPRI : 0;
	passed_ns += LONG;
	return sleeps++ == 0;
}

/* poll(2) of /proc/self/mounts reports each change once. */
XT_TEST(what_a_sleep_found_is_returned_though_a_real_call_is_due)
{
	struct real saved = real;
	int rc;

	XT_CALL(seams_open());
	settings.recheck_ns = LONG;
	crowd.fds[7].fd = xt_keep(open("/proc/self/mounts", O_RDONLY | O_CLOEXEC));
	crowd.fds[7].events = POLLPRI;
	crowd_settle(&crowd);
	sleeps = 0;
	real.ppoll = sleep_and_consume;
	rc = crowd_poll(&crowd, -1);
	real = saved;
	XT_EQ(rc, 1);
	XT_EQ(crowd.fds[7].revents, POLLPRI);
}

/* --- Closed during a sleep -------------------------------------------------------- */

static int sleep_and_lose_one(struct pollfd *fds, nfds_t count,
                              const struct timespec *timeout, const sigset_t *mask)
{
	XT_EXPECT_EQ(close(crowd.pipes[7].r), 0);
	fill_pipe();
	return (int)syscall(SYS_ppoll, fds, count, timeout, mask, 8);
}

/* The real select(2) checks only at its beginning that all descriptors are open. */
XT_TEST(number_closed_during_a_select_is_no_error)
{
	struct real saved = real;
	int rc;

	XT_CALL(seams_open());
	for (int i = 0; i < 2 * CROWD; i++)
		XT_EQ(call(2, false), 0);
	real.ppoll = sleep_and_lose_one;
	rc = call(2, true);
	real = saved;
	XT_CHECK(rc >= 1);
	XT_CHECK(FD_ISSET(crowd.pipes[5].r, &set));
}

/* --- Cancellation ------------------------------------------------------------- */

static int cancelled_in(struct pollfd *fds, nfds_t count,
                        const struct timespec *timeout, const sigset_t *mask)
{
	(void)fds;
	(void)count;
	(void)timeout;
	(void)mask;
	pthread_cancel(pthread_self());
	pthread_testcancel();
	return 0;
}

static void note_mask(void *mask)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask);
}

static void wait_and_note_mask(void *mask)
{
	pthread_cleanup_push(note_mask, mask);
	(void)crowd_poll(&crowd, -1);
	pthread_cleanup_pop(0);
}

/* The thread is cancelled before the sleep or after it, while the drop-in blocks signals. */
XT_TEST(cancelled_thread_has_its_mask_again)
{
	struct real saved = real;
	sigset_t before;
	sigset_t after;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	XT_CALL(seams_open());
	sigfillset(&after);
	real.ppoll = cancelled_in;
	xt_join(xt_start(wait_and_note_mask, &after));
	real = saved;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	for (int number = 1; number < 32; number++)
		XT_EQ(sigismember(&after, number), sigismember(&before, number));
}

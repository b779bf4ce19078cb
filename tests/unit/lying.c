/*
 * Goal: a wait returns by its deadline, whatever false results the back end
 * returns.
 * Method: the epoll back end, but its wait, its change or its `has_pending`
 * return false results.  For calls with timeout 0 the test counts how often
 * they call the back end; others are limited by time.
 */
#include "xt.h"

#include "base/threads.h"
#include "base/time.h"
#include "linux/system.h"
#include "sys/backend.h"
#include "sys/sys.h"
#include "sys/system.h"

enum { ASKED_MOST = 10000, TIMEOUT_MS = 5 };

static enum lie {
	HONEST,
	STRANGERS,   /* as many reports as fit, all of unregistered descriptors */
	MORE,        /* the result says that something has to be checked again */
	UNWANTED,    /* as many reports as fit, of a disabled filter */
	FEW_UNWANTED, /* one such report, although there is room for more */
	UNWANTED_URGENT,
	HAS_PENDING, /* there seem to be changes that were not made yet */
	EARLY,       /* the deadline seems to have passed */
	LIES
} lie;
static uint64_t token; /* token of the registration */
static unsigned asked;
static bool tired; /* called too often: return true results from now on */
static int64_t patience_ns;
static unsigned cancel_at; /* the call with this number cancels its thread; 0: none does */

/* Returns true if this call has to return a false result. */
static bool lies(void)
{
	if (lie == HONEST)
		return false;
	tired |= patience_ns ? xp_sys_now() > patience_ns : ++asked > ASKED_MOST;
	return !tired;
}

/*
 * Cancel the calling thread like a signal handler would, while the C library still considers the
 * thread the only one of the process.
 */
static void cancel_alone(void)
{
	(void)pthread_cancel(pthread_self());
#ifdef XP_HAVE_SINGLE_THREADED
	__libc_single_threaded = 1;
#endif
}

static int lying_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                      struct xp_fired *fired, int cap)
{
	int count = lie == MORE || lie == FEW_UNWANTED ? 1 : cap;

	if (!lies())
		return xp_backend_epoll.wait(state, lie == HONEST ? deadline_ns : XP_NOW,
		                             mask, fired, cap);
	if (cancel_at && asked > cancel_at)
		pthread_testcancel(); /* a sleep is a cancellation point */
	if (cancel_at && asked == cancel_at)
		cancel_alone();
	if (lie == EARLY || lie == HAS_PENDING)
		return 0;
	for (int i = 0; i < count; i++) {
		fired[i].token = lie == STRANGERS ? UINT64_C(77) << 32 | 77
			: lie == MORE ? XP_TOKEN_WAKE : token;
		fired[i].events = lie == MORE ? XP_FIRED_MORE
			: lie == UNWANTED_URGENT ? POLLPRI | POLLHUP : POLLHUP;
	}
	return count;
}

static int lying_attach(void *state, int fd, uint32_t watch, uint64_t given)
{
	token = given;
	return xp_backend_epoll.attach(state, fd, watch, given);
}

static int lying_change(void *state, int fd, uint32_t watch, uint64_t given)
{
	token = given;
	if (lie != HONEST && !tired)
		return -ENOTSUP;
	return xp_backend_epoll.change(state, fd, watch, given);
}

static bool lying_has_pending(const void *state)
{
	(void)state;
	return lie == HAS_PENDING && lies();
}

static int lying_flush(void *state, struct xp_fired *fired, int cap)
{
	(void)state, (void)fired, (void)cap;
	return 0;
}

static struct xp_backend_ops lying;
const struct xp_system xp_system = {.backends = {&lying}};

/* A constructor, because the harness looks for the back end by name before it runs tests. */
__attribute__((constructor)) static void lying_make(void)
{
	lying = xp_backend_epoll;
	lying.wait = lying_wait;
	lying.attach = lying_attach;
	lying.change = lying_change;
	lying.has_pending = lying_has_pending;
	lying.flush = lying_flush;
}

/*
 * Open a queue with a registration of this filter and mode, which is disabled, and with an EXCEPT
 * that is used up.
 */
static struct xpoll *queue_with(int filter, int mode)
{
	lie = HONEST;
	tired = false;
	asked = 0;
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(SOCK_STREAM);

	XT_EXPECT_EQ(xt_add(queue, pair.r, filter, mode | XPOLL_DISABLE), 0);
	XT_EXPECT_EQ(xt_add(queue, pair.r, EXCEPT, XPOLL_DISPATCH), 0);
	return queue;
}

static void ask(struct xpoll *queue, int timeout_ms, int room)
{
	struct xpoll_event events[8];

	patience_ns = timeout_ms ? xp_sys_now() + XT_SOON / 4 : 0;
	asked = 0;
	XT_EXPECT(xpoll_event(queue, NULL, 0, events, room,
	                      timeout_ms * XP_NS_PER_MS) >= 0);
	XT_EXPECT(!tired);
	asked = 0;
	XT_EXPECT(xpoll_wait(queue, timeout_ms) >= 0);
	XT_EXPECT(!tired);
}

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};

XT_TEST(wait_that_only_looks_is_over_soon_whatever_is_answered)
{
	for (int i = 0; i < 8 * LIES; i++) {
		struct xpoll *queue = queue_with(i & 1 ? WRITE : READ, modes[i / 2 % 4]);

		lie = (enum lie)(i / 8);
		for (int room = 1; room <= 8 && lie != HONEST && !tired; room += 7)
			ask(queue, 0, room);
		if (tired)
			xt_note("lie %d, mode %#x", (int)lie, (unsigned)modes[i / 2 % 4]);
		lie = HONEST;
	}
}

XT_TEST(wait_is_over_at_its_deadline_whatever_is_answered)
{
	for (int i = 0; i < LIES; i++) {
		struct xpoll *queue = queue_with(READ, modes[i % 4]);

		lie = (enum lie)i;
		for (int room = 1; room <= 8 && !tired; room += 7)
			ask(queue, TIMEOUT_MS, room);
		if (tired)
			xt_note("lie %d", i);
		lie = HONEST;
	}
}

/* A ready descriptor is delivered although false reports came before it. */
XT_TEST(what_is_ready_comes_after_them)
{
	struct xpoll *queue = queue_with(READ, 0);
	struct xt_pair pipe = xt_pipe();

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	xt_put(pipe.w);
	for (int i = HONEST + 1; i < LIES; i++) {
		lie = (enum lie)i;
		ask(queue, 0, 1);
		lie = HONEST;
		XT_GETS(queue, NULL, pipe.r, READ);
	}
}

static void leave_cancelled(void *unused)
{
	sigset_t blocked;

	(void)unused;
	(void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	_exit(sigismember(&blocked, SIGUSR1) ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void be_cancelled(void *unused)
{
	struct xpoll *queue = queue_with(READ, 0);
	struct xpoll_event events[2];

	(void)unused;
	lie = FEW_UNWANTED;
	pthread_cleanup_push(leave_cancelled, NULL);
	(void)xpoll_event(queue, NULL, 0, events, 2, XT_SOON);
	pthread_cleanup_pop(0);
	_exit(EXIT_FAILURE);
}

/* The thread is cancelled in its first sleep, and in sleeps during which signals are blocked. */
XT_TEST(only_thread_that_is_cancelled_has_its_signals_back)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	patience_ns = 0;
	for (cancel_at = 1; cancel_at < 4; cancel_at++)
		XT_EXPECT(xt_child(be_cancelled, NULL));
	cancel_at = 0;
}

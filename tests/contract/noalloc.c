/*
 * Goal: a wait does not allocate memory (S18).
 * Method: this program's malloc counts its calls, and calls the C library's.
 */
#include "xt.h"

#if defined(__GLIBC__) && !XT_SANITIZED
#define CAN_COUNT 1

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *old);

static atomic_int counted;

void *malloc(size_t size)
{
	atomic_fetch_add(&counted, 1);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	atomic_fetch_add(&counted, 1);
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	atomic_fetch_add(&counted, 1);
	return __libc_realloc(old, size);
}

void free(void *old)
{
	__libc_free(old);
}

static int allocations(void)
{
	return atomic_load(&counted);
}
#elif defined(_WIN32)
#define CAN_COUNT 1

#include <windows.h>

#undef DELETE

#ifdef _UCRT
#define NT_LIBRARY "ucrtbase"
#else
#define NT_LIBRARY "msvcrt"
#endif

static atomic_int counted;

/* Returns the C library's function that this program's function replaces. */
static uintptr_t nt_real(const char *name)
{
	return (uintptr_t)GetProcAddress(GetModuleHandleA(NT_LIBRARY), name);
}

void *malloc(size_t size)
{
	static void *(*real)(size_t size);

	if (!real)
		real = (void *(*)(size_t))nt_real("malloc");
	atomic_fetch_add(&counted, 1);
	return real(size);
}

void *calloc(size_t count, size_t size)
{
	static void *(*real)(size_t count, size_t size);

	if (!real)
		real = (void *(*)(size_t, size_t))nt_real("calloc");
	atomic_fetch_add(&counted, 1);
	return real(count, size);
}

void *realloc(void *old, size_t size)
{
	static void *(*real)(void *old, size_t size);

	if (!real)
		real = (void *(*)(void *, size_t))nt_real("realloc");
	atomic_fetch_add(&counted, 1);
	return real(old, size);
}

void free(void *old)
{
	static void (*real)(void *old);

	if (!real)
		real = (void (*)(void *))nt_real("free");
	real(old);
}

static int allocations(void)
{
	return atomic_load(&counted);
}
#else
#define CAN_COUNT 0

static int allocations(void)
{
	return 0;
}
#endif

enum { PIPES = 300 };

struct setting {
	struct xpoll *queue;
	struct xt_pair pipes[PIPES];
};

static void prepare(struct setting *setting, int mode)
{
	setting->queue = xt_open_quiet();
	for (int i = 0; i < PIPES; i++) {
		setting->pipes[i] = xt_pipe();
		XT_OK(xt_add(setting->queue, setting->pipes[i].r, READ, mode));
		XT_OK(xt_add(setting->queue, setting->pipes[i].w, WRITE,
		             mode | XPOLL_DISABLE));
	}
	if (!xt_is("afd")) /* afd has no file that stays ready */
		XT_OK(xt_add(setting->queue, xt_file("text"), READ, mode));
	XT_OK(xt_flag(setting->queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR));
}

/* Take ready events, with room for `slots` at a time, and check that there is no allocation. */
static void takes_without_allocation(int mode, int slots)
{
	struct setting *setting = calloc(1, sizeof *setting);
	struct xpoll_event events[64];
	int rc = 1;

	XT_CHECK(setting);
	prepare(setting, mode);
	for (int i = 0; i < PIPES; i++)
		xt_put(setting->pipes[i].w);
	int before = allocations();
	for (int i = 0; i < 500 && rc > 0; i++)
		rc = xpoll_event(setting->queue, NULL, 0, events, slots, 0);
	/* Also make a wait that sleeps. */
	if (mode)
		rc = xpoll_event(setting->queue, NULL, 0, events, slots, 1000);
	XT_EXPECT_EQ(allocations() - before, 0);
	xt_destroy(setting->queue);
	free(setting);
}

XT_TEST(wait_allocates_nothing)
{
	if (!CAN_COUNT)
		XT_SKIP("malloc cannot be counted here");
	XT_FILES(4000);
	XT_CALL(takes_without_allocation(0, 1));
	XT_CALL(takes_without_allocation(0, 64));
	XT_CALL(takes_without_allocation(XPOLL_CLEAR, 3));
	XT_CALL(takes_without_allocation(XPOLL_ONESHOT, 64));
	XT_CALL(takes_without_allocation(XPOLL_DISPATCH, 64));
}

XT_TEST(toggles_wakes_and_triggers_allocate_nothing)
{
	static struct setting setting;
	struct xpoll_event events[8];

	if (!CAN_COUNT)
		XT_SKIP("malloc cannot be counted here");
	XT_CALL(prepare(&setting, 0));
	for (int round = 0; round < 3; round++) {
		int before = allocations();

		for (int i = 0; i < PIPES; i++) {
			uint64_t ident = (uint64_t)setting.pipes[i].r;

			XT_OK(xt_flag(setting.queue, ident, READ,
			              XPOLL_DISABLE));
			XT_OK(xt_flag(setting.queue, ident, READ,
			              XPOLL_ENABLE));
		}
		XT_EQ(xpoll_wake(setting.queue), 0);
		XT_OK(xt_trigger(setting.queue, 1));
		for (int i = 0; i < 4; i++)
			(void)xpoll_event(setting.queue, NULL, 0, events, 8, 0);
		/* The first round may allocate memory that the queue needs later. */
		if (round > 0)
			XT_EQ(allocations() - before, 0);
	}
}

XT_TEST(poll_like_wait_allocates_nothing)
{
	static struct setting setting;

	if (!CAN_COUNT)
		XT_SKIP("malloc cannot be counted here");
	XT_CALL(prepare(&setting, 0));
	(void)xpoll_wait(setting.queue, 0);
	for (int i = 0; i < PIPES; i++)
		xt_put(setting.pipes[i].w);
	int before = allocations();
	for (int i = 0; i < 20; i++) {
		XT_CHECK(xpoll_wait(setting.queue, 0) > 0);
		while (xpoll_revents(setting.queue, NULL))
			continue;
	}
	XT_EQ(allocations() - before, 0);
}

/* Timers that expire, end, continue, and stay disabled until they are enabled */
static void timers_expire_without_allocation(int mode)
{
	enum { TIMERS = 3000 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[64];
	int taken = 0;

	for (uint64_t i = 0; i < TIMERS; i++)
		XT_OK(xt_change(queue, i, XPOLL_FILT_TIMER, XPOLL_ADD | mode,
		                XPOLL_NOTE_NSECONDS, 1, NULL));
	int before = allocations();
	while (taken < 3 * TIMERS) {
		int count = xpoll_event(queue, NULL, 0, events, 64, 0);

		if (count == 0)
			break;
		for (int i = 0; i < count && mode == XPOLL_DISPATCH; i++)
			XT_OK(xt_flag(queue, events[i].ident,
			              XPOLL_FILT_TIMER, XPOLL_ENABLE));
		taken += count;
	}
	XT_EXPECT(taken >= TIMERS);
	(void)xpoll_event(queue, NULL, 0, events, 64, 1000);
	XT_EXPECT_EQ(allocations() - before, 0);
	xt_destroy(queue);
}

XT_TEST(timers_expire_allocates_nothing)
{
	if (!CAN_COUNT)
		XT_SKIP("malloc cannot be counted here");
	XT_CALL(timers_expire_without_allocation(0));
	XT_CALL(timers_expire_without_allocation(XPOLL_ONESHOT));
	XT_CALL(timers_expire_without_allocation(XPOLL_DISPATCH));
}

/* xt_run: the tests of a program, and the state of the running one: failures, skips and leaks. */
#include "xt_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

unsigned xt_slowness = 1;

/* A user of the selftest must not wait two minutes for a case that hangs. */
#ifdef XT_SELFTEST
#define WATCHDOG_SECONDS 30
#else
#define WATCHDOG_SECONDS (XT_SLOW ? 120 : 30)
#endif

const char *xt_backend;
bool xt_threads;

struct xt_test *xt_first;
uint64_t xt_chosen_seed = 20240229;
double xt_chosen_seconds;

static struct xt_test **run_last = &xt_first;
static atomic_int run_failed_checks;
static bool run_skipped;
static const char *run_name = "";
static jmp_buf run_end; /* jumped to on the thread of the test */

void xt_register(struct xt_test *test)
{
	*run_last = test;
	run_last = &test->next;
}

int xt_failures(void)
{
	return atomic_load(&run_failed_checks);
}

void xt_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	atomic_fetch_add(&run_failed_checks, 1);
	printf("%s:%d: %s\n    in %s (%s%s), seed %ju\n", file, line, text,
	       run_name, xt_backend, xt_threads ? ", threads" : "",
	       (uintmax_t)xt_chosen_seed);
}

int64_t xt_now(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		xt_broken("clock_gettime");
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void xt_broken(const char *what)
{
	printf("harness: %s: %s\n", what, strerror(errno));
	exit(1);
}

void xt_skip(const char *reason)
{
	run_skipped = true;
	printf("  skip  %s: %s\n", run_name, reason);
}

void xt_absent(const char *what)
{
	char reason[80];

	(void)snprintf(reason, sizeof reason, "no %s here", what);
	xt_skip(reason);
	longjmp(run_end, 1);
}

void xt_note(const char *format, ...)
{
	va_list arguments;

	printf("  note  %s: ", run_name);
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

uint64_t xt_seed(void)
{
	return xt_chosen_seed;
}

/* xorshift64*: a small generator with the same numbers on every system. */
uint32_t xt_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * UINT64_C(2685821657736338717)) >> 32);
}

double xt_stress_seconds(double usual)
{
	const char *text = getenv("XPOLL_STRESS_SECONDS");

	if (xt_chosen_seconds > 0)
		return xt_chosen_seconds;
	return text ? strtod(text, NULL) : usual;
}

void (*xt_main_first)(int argc, char **argv);

bool xt_is(const char *backend)
{
	return strcmp(xt_backend, backend) == 0;
}

bool xt_sunos(void)
{
	return xt_is("port") || xt_is("devpoll");
}

bool xt_kqueue(void)
{
	return xt_usable("kqueue");
}

bool xt_dropin(void)
{
#ifdef __linux__
	return xt_kqueue();
#else
	return false;
#endif
}

bool xt_has_queue_fd(void)
{
	return !xt_is("poll") && !xt_is("select") && !xt_is("devpoll");
}

bool xt_sees_reuse(void)
{
	return xt_has_queue_fd();
}

bool xt_add_sees_reuse(void)
{
	return !xt_is("afd");
}

bool xt_usable(const char *backend)
{
	const char *names[32];
	int count = xpoll_backends(names, 32);

	for (int i = 0; i < count && i < 32; i++)
		if (strcmp(names[i], backend) == 0)
			return true;
	return false;
}

void xt_watchdog(unsigned seconds)
{
	xt_watchdog_start(run_name, XT_SANITIZED ? 4 * seconds : seconds);
}

/* Release what the test has made: first queues, then threads, descriptors and named files. */
static void run_release(void)
{
	xt_queues_release();
	xt_threads_release();
	xt_fds_release();
	xt_scratch_release();
}

static void run_check_leaks(const unsigned char *before)
{
	unsigned char after[XT_FD_SCAN];

	xt_set_open(after, XT_FD_SCAN);
	for (int fd = 0; fd < XT_FD_SCAN; fd++)
		/* An open descriptor that close(2) cannot close belongs to a drop-in. */
		if (after[fd] && !before[fd] && close(fd) == 0)
			xt_fail(__FILE__, __LINE__,
			        "descriptor %d is still open", fd);
}

int xt_run_one(const struct xt_test *test)
{
	unsigned char before[XT_FD_SCAN];
	int64_t start = xt_now();

	run_name = test->name;
	run_skipped = false;
	atomic_store(&run_failed_checks, 0);
	xt_set_open(before, XT_FD_SCAN);
	xt_watchdog_start(test->name, WATCHDOG_SECONDS);
	if (!setjmp(run_end))
		test->run();
	run_release();
	xt_watchdog_stop();
	run_check_leaks(before);
	if (!run_skipped || xt_failures())
		printf("  %s  %s (%.1f ms)\n", xt_failures() ? "FAIL" : "ok  ",
		       test->name, (double)(xt_now() - start) / 1e6);
	if (xt_failures())
		return 1;
	return run_skipped ? 77 : 0;
}

void xt_choose_backend(void)
{
	const char *name = NULL;

	if (!xt_backend)
		xt_backend = getenv("XPOLL_BACKEND");
	if (!xt_backend && xpoll_backends(&name, 1) > 0)
		xt_backend = name;
	if (!xt_backend)
		xt_backend = "none";
	if (!xt_usable(xt_backend)) {
		printf("skip: back end %s cannot be used here\n", xt_backend);
		exit(77);
	}
	if (setenv("XPOLL_BACKEND", xt_backend, 1) < 0)
		xt_broken("setenv");
}

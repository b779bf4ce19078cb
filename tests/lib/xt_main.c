/*
 * xt_main: finds, selects and runs the tests of a program.
 *
 *   program [--backend NAME] [--mode single|threads] [--seed N]
 *           [--seconds N] [--list] [TEST...]
 *
 * TEST is a part of a test's name.  Ends with 0 if all passed, 1 if one did
 * not, 77 if all were skipped or the back end cannot be used here, 2 on wrong
 * arguments.
 */
#include "xt_internal.h"

#include <stdarg.h>

#define WATCHDOG_SECONDS (XT_SANITIZED ? 120 : 30)

const char *xt_backend;
bool xt_threads;

static struct xt_test *main_first;
static struct xt_test **main_last = &main_first;
static atomic_int main_failed_checks;
static bool main_skipped;
static uint64_t main_seed = 20240229;
static double main_seconds; /* 0: not given */
static const char *main_name = "";

void xt_register(struct xt_test *test)
{
	*main_last = test;
	main_last = &test->next;
}

int xt_failures(void)
{
	return atomic_load(&main_failed_checks);
}

void xt_fail(const char *file, int line, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	atomic_fetch_add(&main_failed_checks, 1);
	printf("%s:%d: %s\n    in %s (%s%s), seed %ju\n", file, line, text,
	       main_name, xt_backend, xt_threads ? ", threads" : "",
	       (uintmax_t)main_seed);
}

void xt_broken(const char *what)
{
	printf("harness: %s: %s\n", what, strerror(errno));
	exit(1);
}

void xt_skip(const char *reason)
{
	main_skipped = true;
	printf("  skip  %s: %s\n", main_name, reason);
}

void xt_note(const char *format, ...)
{
	va_list arguments;

	printf("  note  %s: ", main_name);
	va_start(arguments, format);
	(void)vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

uint64_t xt_seed(void)
{
	return main_seed;
}

/* xorshift64*: small, and the same everywhere. */
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

	if (main_seconds > 0)
		return main_seconds;
	return text ? strtod(text, NULL) : usual;
}

bool xt_is(const char *backend)
{
	return strcmp(xt_backend, backend) == 0;
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
	xt_watchdog_start(main_name, XT_SANITIZED ? 4 * seconds : seconds);
}

void xt_stop_release(void)
{
	xt_queues_release();
	xt_threads_release();
	xt_fds_release();
	xt_scratch_release();
}

static void main_check_leaks(const unsigned char *before)
{
	unsigned char after[XT_FD_SCAN];

	xt_set_open(after, XT_FD_SCAN);
	for (int fd = 0; fd < XT_FD_SCAN; fd++)
		/* A drop-in's own cannot be closed by the program. */
		if (after[fd] && !before[fd] && close(fd) == 0)
			xt_fail(__FILE__, __LINE__,
			        "descriptor %d is still open", fd);
}

/* 1 failed, 0 passed, 77 skipped */
static int main_run_one(const struct xt_test *test)
{
	unsigned char before[XT_FD_SCAN];
	int64_t start = xt_now();

	main_name = test->name;
	main_skipped = false;
	atomic_store(&main_failed_checks, 0);
	xt_set_open(before, XT_FD_SCAN);
	xt_watchdog_start(test->name, WATCHDOG_SECONDS);
	test->run();
	xt_stop_release();
	xt_watchdog_stop();
	main_check_leaks(before);
	if (!main_skipped || xt_failures())
		printf("  %s  %s (%.1f ms)\n", xt_failures() ? "FAIL" : "ok  ",
		       test->name, (double)(xt_now() - start) / 1e6);
	if (xt_failures())
		return 1;
	return main_skipped ? 77 : 0;
}

static bool main_selected(const char *name, char **wanted, int count)
{
	if (count == 0)
		return true;
	for (int i = 0; i < count; i++)
		if (strstr(name, wanted[i]))
			return true;
	return false;
}

static int main_run_all(char **wanted, int wanted_count)
{
	int passed = 0;
	int failed = 0;
	int skipped = 0;

	for (struct xt_test *test = main_first; test; test = test->next) {
		if (!main_selected(test->name, wanted, wanted_count))
			continue;
		int rc = main_run_one(test);

		passed += rc == 0;
		failed += rc == 1;
		skipped += rc == 77;
	}
	printf("%d passed, %d failed, %d skipped (%s%s)\n", passed, failed,
	       skipped, xt_backend, xt_threads ? ", threads" : "");
	if (failed > 0)
		return 1;
	if (passed > 0)
		return 0;
	return skipped > 0 ? 77 : 2;
}

static int main_list(void)
{
	for (struct xt_test *test = main_first; test; test = test->next)
		printf("%s\n", test->name);
	return 0;
}

static int main_usage(const char *program)
{
	fprintf(stderr,
	        "usage: %s [--backend NAME] [--mode single|threads] "
	        "[--seed N] [--seconds N] [--list] [TEST...]\n",
	        program);
	return 2;
}

static void main_choose_backend(void)
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

/* Take one option and its value; the number of arguments taken, or 0. */
static int main_option(const char *name, const char *value)
{
	if (!value)
		return 0;
	if (strcmp(name, "--backend") == 0) {
		xt_backend = value;
		return 2;
	}
	if (strcmp(name, "--mode") == 0) {
		xt_threads = strcmp(value, "threads") == 0;
		return xt_threads || strcmp(value, "single") == 0 ? 2 : 0;
	}
	if (strcmp(name, "--seed") == 0) {
		main_seed = strtoull(value, NULL, 0);
		return 2;
	}
	if (strcmp(name, "--seconds") == 0) {
		main_seconds = strtod(value, NULL);
		return main_seconds > 0 ? 2 : 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("XT_SEED");
	int next = 1;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (seed)
		main_seed = strtoull(seed, NULL, 0);
	while (next < argc && argv[next][0] == '-') {
		if (strcmp(argv[next], "--list") == 0)
			return main_list();
		int taken = main_option(argv[next], argv[next + 1]);

		if (taken == 0)
			return main_usage(argv[0]);
		next += taken;
	}
	main_choose_backend();
	xt_watchdog_install();
	xt_tsan_link();
	(void)signal(SIGPIPE, SIG_IGN);
	return main_run_all(argv + next, argc - next);
}

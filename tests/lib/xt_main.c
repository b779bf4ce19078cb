/*
 * xt_main: finds, selects and runs the tests of a program.
 *
 *   program [--backend NAME] [--mode single|threads] [--seed N]
 *           [--seconds N] [--part I/N] [--list] [TEST...]
 *
 * TEST is a part of a test's name; --part leaves out all tests but each N-th from the I-th
 * on, counted from 0.  Ends with 0 if all passed, 1 if one did
 * not, 77 if all were skipped or the back end cannot be used here, 2 on wrong
 * arguments.
 */
#include "xt_internal.h"

static int main_part, main_parts = 1;

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
	int number = 0;

	for (struct xt_test *test = xt_first; test; test = test->next) {
		if (number++ % main_parts != main_part ||
		    !main_selected(test->name, wanted, wanted_count))
			continue;
		int rc = xt_run_one(test);

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
	for (struct xt_test *test = xt_first; test; test = test->next)
		printf("%s\n", test->name);
	return 0;
}

static int main_usage(const char *program)
{
	fprintf(stderr,
	        "usage: %s [--backend NAME] [--mode single|threads] "
	        "[--seed N] [--seconds N] [--part I/N] [--list] [TEST...]\n",
	        program);
	return 2;
}

/* Handle one option and its value.  Returns the number of arguments used, or 0. */
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
		xt_chosen_seed = strtoull(value, NULL, 0);
		return 2;
	}
	if (strcmp(name, "--seconds") == 0) {
		xt_chosen_seconds = strtod(value, NULL);
		return xt_chosen_seconds > 0 ? 2 : 0;
	}
	if (strcmp(name, "--part") == 0) {
		bool valid = sscanf(value, "%d/%d", &main_part, &main_parts) == 2 &&
			main_part >= 0 && main_part < main_parts;

		return valid ? 2 : 0;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("XT_SEED");
	int next = 1;

	if (xt_main_first)
		xt_main_first(argc, argv);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (seed)
		xt_chosen_seed = strtoull(seed, NULL, 0);
	while (next < argc && argv[next][0] == '-') {
		if (strcmp(argv[next], "--list") == 0)
			return main_list();
		int taken = main_option(argv[next], argv[next + 1]);

		if (taken == 0)
			return main_usage(argv[0]);
		next += taken;
	}
	xt_choose_backend();
	xt_watchdog_install();
	xt_tsan_link();
#ifdef SIGPIPE
	(void)signal(SIGPIPE, SIG_IGN);
#endif
	return main_run_all(argv + next, argc - next);
}

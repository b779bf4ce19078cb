/*
 * xpoll selftest: replaces this command by the program that has the tests (tools/selftest), which
 * is installed in the directory xpoll beside the library.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

static const char *selftest_backend;
static bool selftest_verbose;

static const struct tool_option options[] = {
	{ "--backend", "NAME", "test this back end alone", TOOL_TEXT, .value = &selftest_backend },
	{ "--verbose", "", "print each case", TOOL_FLAG, .value = &selftest_verbose },
	{ 0 },
};

static const struct tool_usage usage = {
	.name = "xpoll selftest",
	.synopsis = "[OPTION]...",
	.text = "Run tests of the library's contract on this kernel, on each back end that is\n"
	        "usable here, and print those that fail. It takes a few seconds. The last line\n"
	        "says where this was and what failed: send it with a report.\n"
	        "Exit code: 0 if nothing failed, 1 otherwise.\n",
	.options = options,
};

static int cmd_selftest(int argc, char **argv)
{
	const char *path;
	const char *arguments[5];
	int len = 0, result = tool_parse(&usage, argc, argv);

	if (result != TOOL_GO_ON)
		return result;
	path = tool_find_library("xpoll/selftest");
	if (path == NULL) {
		tool_warn(&usage, "the program with the tests is not installed; "
		          "build xpoll with -DXPOLL_SELFTEST=ON");
		return TOOL_FAILED;
	}
	arguments[len++] = path;
	if (selftest_verbose)
		arguments[len++] = "--verbose";
	if (selftest_backend != NULL) {
		arguments[len++] = "--backend";
		arguments[len++] = selftest_backend;
	}
	arguments[len] = NULL;
	tool_restore_signals();
	execv(path, (char *const *)(uintptr_t)arguments);
	tool_warn(&usage, "%s: %s", path, strerror(errno));
	return TOOL_FAILED;
}

const struct tool_command tool_selftest = {
	.name = "selftest",
	.summary = "test the library on this kernel",
	.run = cmd_selftest,
};

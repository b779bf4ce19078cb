/*
 * The arguments of the command: the parser with an option of each kind, times
 * and signals.  The input is the arguments, each ended by a 0 byte.
 */
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define ARGUMENTS_MOST 16
#define SIZE_MOST 512

static const char *const choices[] = {"epoll", "poll", "select", NULL};

/* Values are what the table allows, or the default. */
static void parse(int argc, char **argv)
{
	struct tool_item items[ARGUMENTS_MOST + 1];
	struct tool_item operands[ARGUMENTS_MOST + 1];
	struct tool_list files = {items, 0};
	struct tool_list rest = {operands, 0};
	char **command = NULL;
	const char *text = NULL;
	double seconds = 1;
	int64_t time_ns = -1;
	bool flag = false;
	int count = 8;
	int choice = 0;
	const struct tool_option options[] = {
		{"-n", "COUNT", "", TOOL_COUNT, 1, 100000, NULL, &count},
		{"--seconds", "S", "", TOOL_SECONDS, 0.5, 60, NULL, &seconds},
		{"--timeout", "TIME", "", TOOL_TIME, 0, 86400, NULL, &time_ns},
		{"-b", "BACKEND", "", TOOL_CHOICE, 0, 0, choices, &choice},
		{"--json", "FILE", "", TOOL_TEXT, 0, 0, NULL, &text},
		{"--file", "FILE", "", TOOL_LIST, 0, 0, NULL, &files},
		{"-v", "", "", TOOL_FLAG, 0, 0, NULL, &flag},
		{"--exec", "COMMAND", "", TOOL_REST, 0, 0, NULL, &command},
		{NULL, NULL, NULL, TOOL_FLAG, 0, 0, NULL, NULL},
	};
	const struct tool_usage usage = {
		.name = "fuzz",
		.synopsis = "",
		.text = "",
		.options = options,
		.operands = argc % 2 ? &rest : NULL,
	};
	int rc = tool_parse(&usage, argc, argv);

	FUZZ_HOLDS(rc == TOOL_OK || rc == TOOL_USAGE || rc == TOOL_GO_ON);
	FUZZ_HOLDS(count >= 1 && count <= 100000);
	FUZZ_HOLDS(seconds >= 0.5 && seconds <= 60);
	FUZZ_HOLDS(time_ns >= -1 && time_ns <= INT64_C(86400000000000));
	FUZZ_HOLDS(choice >= 0 && choice < 3);
	FUZZ_HOLDS(files.len >= 0 && files.len + rest.len < argc + 1);
	if (rc == TOOL_GO_ON) {
		FUZZ_HOLDS(!text || *text);
		FUZZ_HOLDS(!command || (command > argv && *command));
	}
}

static void words(const char *text)
{
	char name[32];
	int64_t ns = 0;
	int number = tool_read_signal(text);

	if (tool_read_time(text, 0, 1e6, &ns))
		FUZZ_HOLDS(ns >= 0 && ns <= INT64_C(1000000000000000));
	FUZZ_HOLDS(number >= 0 && number <= SIGRTMAX);
	if (number > 0) {
		const char *said = tool_signal_name(number, name, sizeof name);

		FUZZ_HOLDS(tool_read_signal(said) == number);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool quiet;
	char *argv[ARGUMENTS_MOST + 1] = {NULL};
	char *text;
	int argc = 0;

	if (size > SIZE_MOST)
		return 0;
	if (!quiet)
		quiet = freopen("/dev/null", "w", stdout) != NULL;
	text = malloc(size + 1);
	FUZZ_HOLDS(text);
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size && argc < ARGUMENTS_MOST;
	     at += strlen(text + at) + 1) {
		argv[argc++] = text + at;
		words(text + at);
	}
	if (argc > 0)
		parse(argc, argv);
	free(text);
	return 0;
}

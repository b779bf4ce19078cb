/*
 * The main function of the xpoll command: finds and runs the subcommand.
 *
 * Output goes to stdout, messages and progress to stderr.  If stdout cannot be
 * written, the exit code is not 0, and a message says why unless the reader of
 * stdout has exited.
 */
#include <stdio.h>
#include <string.h>

#include "tool.h"

static const struct tool_usage usage = {
	.name = "xpoll",
	.synopsis = "COMMAND [ARGUMENT]...",
	.text = "Print what the xpoll library can do on this system, watch files, processes\n"
	        "and other sources with it, and measure its speed.\n"
	        "'xpoll COMMAND --help' describes a command.\n",
};

static int print_help(void)
{
	printf("usage: %s %s\n\n%s\ncommands:\n", usage.name, usage.synopsis, usage.text);
	for (int i = 0; tool_commands[i] != NULL; i++)
		printf("  %-8s  %s\n", tool_commands[i]->name, tool_commands[i]->summary);
	printf("  %-8s  %s\n", "help", "print this, or the help of a command");
	printf("  %-8s  %s\n", "version", "print the version");
	return TOOL_OK;
}

/* Run the subcommand whose name is argv[0].  Returns its exit code. */
static int run_named(int argc, char **argv)
{
	for (int i = 0; tool_commands[i] != NULL; i++)
		if (strcmp(tool_commands[i]->name, argv[0]) == 0)
			return tool_commands[i]->run(argc, argv);
	return tool_complain(&usage, "%s: no such %s", argv[0],
	                     argv[0][0] == '-' ? "option" : "command");
}

/* "help watch" and "help bench looptest": run "watch --help" and "bench looptest --help". */
static int help_about(int argc, char **argv)
{
	static char option[] = "--help";
	char *words[] = { argv[0], argc > 1 ? argv[1] : option, option, NULL };

	for (int i = 0; i < argc; i++)
		if (argc > 2 || argv[i][0] == '-')
			return tool_complain(&usage, "help: expected one command");
	return run_named(argc + 1, words);
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run_command(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	bool help, version;

	if (name == NULL)
		return tool_complain(&usage, "expected a command");
	help = strcmp(name, "help") == 0;
	version = strcmp(name, "version") == 0;
	if (is_help(name) || ((help || version) && argc == 3 && is_help(argv[2])))
		return print_help();
	if (help)
		return argc > 2 && strcmp(argv[2], "help") != 0
			? help_about(argc - 2, argv + 2) : print_help();
	if (version || strcmp(name, "--version") == 0) {
		tool_print_version();
		return TOOL_OK;
	}
	return run_named(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	int exit_code;

	tool_begin();
	exit_code = run_command(argc, argv);
	if (tool_flush())
		return exit_code;
	return exit_code != TOOL_OK ? exit_code : TOOL_FAILED;
}

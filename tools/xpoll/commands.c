/* The table of the subcommands. */
#include "tool.h"

const struct tool_command *const tool_commands[] = {
	&tool_info,
	&tool_watch,
	&tool_bench,
	&tool_run,
	NULL,
};

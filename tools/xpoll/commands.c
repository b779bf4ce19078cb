/* The table of the subcommands. */
#include "tool.h"

const struct tool_command *const tool_commands[] = {
	&tool_info,
	&tool_watch,
#ifdef TOOL_BENCH
	&tool_bench,
#endif
	&tool_run,
	&tool_selftest,
	NULL,
};

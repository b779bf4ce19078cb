/* The table of the subcommands that Windows has. */
#include "tool.h"

const struct tool_command *const tool_commands[] = {
	&tool_info,
	NULL,
};

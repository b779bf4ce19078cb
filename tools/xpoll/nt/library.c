/* Nothing is put in front of programs on Windows. */
#include "tool.h"

const char *tool_find_library(const char *name)
{
	(void)name;
	return NULL;
}

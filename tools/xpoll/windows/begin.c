/* Nothing of a process on Windows has to be changed for the command. */
#include "tool.h"

void tool_begin(void)
{
}

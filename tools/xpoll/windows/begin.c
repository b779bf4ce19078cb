/* On Windows neither standard descriptors nor signals have to be prepared. */
#include "tool.h"

void tool_begin(void)
{
}

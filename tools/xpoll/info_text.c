/* xpoll info: appends pieces to a struct info_text. */
#include <stdarg.h>
#include <stdio.h>

#include "info.h"

void info_say(struct info_text *to, const char *format, ...)
{
	size_t room = sizeof to->text - to->used;
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(to->text + to->used, room, format, arguments);
	va_end(arguments);
	if (len > 0)
		to->used += (size_t)len < room ? (size_t)len : room - 1;
}

/* Prints foreign text as JSON, and flushes standard output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

int tool_decode(const unsigned char *text, unsigned *code)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int len = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2
	          : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	*code = len > 1 ? text[0] & (0x7fu >> len) : text[0];
	for (int i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3fu);
	}
	if (len > 1 && (*code < least[len] || *code > 0x10ffff ||
	                (*code >= 0xd800 && *code <= 0xdfff)))
		return 0;
	return len;
}

void tool_print_json(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putchar('"');
	while (*at != '\0') {
		unsigned code;
		int len = tool_decode(at, &code);

		if (len == 0)
			printf("\\udc%02x", *at++);
		else if (code == '"' || code == '\\')
			printf("\\%c", (int)code);
		else if (code >= 0x20 && code < 0x7f)
			putchar((int)code);
		else if (code < 0x10000)
			printf("\\u%04x", code);
		else
			printf("\\u%04x\\u%04x", 0xd7c0 + (code >> 10),
			       0xdc00 + (code & 0x3ff));
		at += len;
	}
	putchar('"');
}

bool tool_flush(void)
{
	static bool said;

	errno = 0;
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return true;
	/*
	 * Print no message if errno is 0: a write failed before this call.  Nor after EPIPE, which
	 * only says that the reader has exited, and EINTR, because then a signal ends the command.
	 */
	if (!said && errno != EPIPE && errno != EINTR && errno != 0)
		fprintf(stderr, "xpoll: cannot write to standard output: %s\n",
		        strerror(errno));
	said = true;
	return false;
}

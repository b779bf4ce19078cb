/*
 * Reads the settings from the environment.  A value that is not a number, or out of range, is
 * ignored: the default holds.
 */
#include "settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "sys/sys.h"

struct settings settings = {
	.on = true,
	.least = 32,
	.after = 10,
	.recheck_ns = XP_NS_PER_SEC,
};

/* Returns the value of a variable, or `fallback` unless it is a number from 0 to `most`. */
static long read_number(const char *name, long fallback, long most)
{
	const char *text = xp_sys_getenv(name);
	char *end;
	long value;

	if (!text || *text == '\0')
		return fallback;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || *end != '\0' || value < 0 || value > most)
		return fallback;
	return value;
}

void settings_read(void)
{
	int saved = errno;

	settings.on = read_number("XPOLL_POLL", 1, 1) != 0;
	settings.stats = read_number("XPOLL_POLL_STATS", 0, 1) != 0;
	settings.least = (size_t)read_number("XPOLL_POLL_MIN", (long)settings.least,
	                                     1000000);
	if (settings.least == 0) /* an array needs at least one descriptor */
		settings.least = 1;
	settings.after = (uint32_t)read_number("XPOLL_POLL_AFTER", settings.after, 1000000);
	settings.recheck_ns = read_number("XPOLL_POLL_RECHECK", 1000, 86400000) *
	                      XP_NS_PER_MS;
	errno = saved;
}

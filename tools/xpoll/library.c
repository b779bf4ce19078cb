/*
 * Finds files that were built or installed with this command.  The installation may have been
 * moved, so paths are relative to the command's own file.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/*
 * Stores the directory of the command, without a slash at its end.  Returns 1; 0: it is unknown, or
 * /proc is missing.
 */
static int library_own_folder(char *folder, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", folder, size - 1);
	char *slash;

	if (len <= 0)
		return 0;
	folder[len] = '\0';
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return 0;
	*slash = '\0';
	return 1;
}

const char *tool_find_library(const char *name)
{
	static const char *const places[] = { TOOL_LIBRARIES, TOOL_LIBRARIES_BUILT };
	static char path[PATH_MAX];
	char folder[PATH_MAX / 2];
	char joined[PATH_MAX];

	if (!library_own_folder(folder, sizeof folder))
		return NULL;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		int len = snprintf(joined, sizeof joined, "%s/%s/%s", folder, places[i],
		                   name);

		if (len > 0 && (size_t)len < sizeof joined &&
		    realpath(joined, path) != NULL)
			return path;
	}
	return NULL;
}

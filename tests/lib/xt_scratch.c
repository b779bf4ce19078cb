/* xt_scratch: a directory for a test, which is removed with its contents at the end. */
#include "xt_internal.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

static char scratch_path[PATH_MAX];
static char scratch_names[8][PATH_MAX];

const char *xt_scratch(void)
{
	const char *above = getenv("TMPDIR");

	if (scratch_path[0])
		return scratch_path;
	(void)snprintf(scratch_path, sizeof scratch_path, "%s/xpoll-XXXXXX",
	               above ? above : "/tmp");
	if (!mkdtemp(scratch_path))
		xt_broken("mkdtemp");
	return scratch_path;
}

const char *xt_name(const char *name)
{
	static unsigned next;
	char *path = scratch_names[next++ % 8];
	int len = snprintf(path, PATH_MAX, "%s/%s", xt_scratch(), name);

	if (len >= PATH_MAX)
		xt_broken("a long path");
	return path;
}

int xt_make(const char *name, const char *text)
{
	size_t len = strlen(text);
	int fd = xt_keep(open(xt_name(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
	                      0666));

	if (write(fd, text, len) != (ssize_t)len)
		xt_broken("write");
	return fd;
}

static int scratch_remove(const char *path, const struct stat *status, int type,
                          struct FTW *place)
{
	(void)status, (void)type, (void)place;
	(void)remove(path);
	return 0;
}

void xt_scratch_release(void)
{
	if (scratch_path[0])
		(void)nftw(scratch_path, scratch_remove, 16,
		           FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	scratch_path[0] = '\0';
}

/* See place.h. */
#include "place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "xt.h"

char root[PATH_MAX];

const char *at(const char *name)
{
	static char paths[4][2 * PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof paths[0], "%s/%s", root, name);
	return path;
}

bool put(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	bool ok = fd >= 0 && write(fd, "x", 1) == 1;

	if (fd >= 0)
		close(fd);
	return ok;
}

void make_root(void)
{
	(void)snprintf(root, sizeof root, "%s/tree", xt_scratch());
	XT_EQ(mkdir(root, 0777), 0);
}

struct xpoll_tree *tree_open(uint32_t flags, uint32_t notes)
{
	struct xpoll_tree_options options = {
		.size = sizeof options, .flags = flags, .notes = notes,
	};

	return xpoll_tree_open(root, &options);
}

bool next_is(struct xpoll_tree *tree, int kind, const char *path, const char *to)
{
	struct xpoll_tree_change change;
	int rc = xpoll_tree_next(tree, &change, -1);
	bool same = rc == 1 && change.kind == kind && strcmp(change.path, path) == 0 &&
		(to ? change.to && strcmp(change.to, to) == 0 : !change.to);

	if (!same)
		xt_fail(__FILE__, __LINE__, "%d, kind %d, %s -> %s; not kind %d, %s -> %s", rc,
		        rc == 1 ? change.kind : 0, rc == 1 ? change.path : "",
		        rc == 1 && change.to ? change.to : "", kind, path, to ? to : "");
	return same;
}

bool reports_renames(void)
{
	return !xt_sunos() && !xt_kqueue();
}

/* Sets in sets: rings, and how deep they may be. */
#include <errno.h>

#include "ep.h"

/* Linux allows as many sets between a set and a file. */
enum { EP_NESTS_MOST = 4 };

pthread_mutex_t ep_nest_lock = PTHREAD_MUTEX_INITIALIZER;

/* The limits of a walk through the sets in a set: each breaks one of Linux's rules. */
struct walk {
	const struct ep_set *forbidden; /* a ring, if it is found */
	int deepest;                    /* levels that may be nested */
};

static int walk_into(struct ep_set *set, const struct walk *walk, int depth);

/* Returns how many levels of sets are in fd, or -ELOOP. */
static int walk_entry(int fd, const struct walk *walk, int depth)
{
	struct ep_set *inner = ep_hold(fd);
	int levels;

	if (!inner)
		return 0;
	levels = inner == walk->forbidden || depth >= walk->deepest
		? -ELOOP : walk_into(inner, walk, depth + 1);
	ep_drop(inner);
	return levels;
}

/* Returns 1 and the levels of the sets in this one, or -ELOOP.  Takes the set's lock. */
static int walk_into(struct ep_set *set, const struct walk *walk, int depth)
{
	int levels = 0;

	pthread_mutex_lock(&set->lock);
	for (int fd = 0; fd < (int)numbers_end() && levels >= 0; fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);
		int below = entry && entry->is_nested ? walk_entry(fd, walk, depth) : 0;

		levels = below < 0 || below > levels ? below : levels;
	}
	pthread_mutex_unlock(&set->lock);
	return levels < 0 ? levels : levels + 1;
}

int ep_nest_check(struct ep_set *outer, struct ep_set *inner)
{
	struct walk walk = {.forbidden = outer, .deepest = EP_NESTS_MOST};
	int rc = walk_into(inner, &walk, 1);

	return rc < 0 ? rc : rc > EP_NESTS_MOST ? -ELOOP : 0;
}

/*
 * Checks whether a set may be added to another one.  Like Linux, refuses sets that would contain
 * each other in a ring, and too many levels of sets in sets.
 */
#include <errno.h>

#include "ep.h"

/* The most levels of sets below a set, the same as in Linux. */
enum { EP_NESTS_MOST = 4 };

pthread_mutex_t ep_nest_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Parameters of a walk through a set and the sets below it; the walk returns -ELOOP in two cases.
 */
struct walk {
	/*
	 * first case: the walk meets this set, to which the program adds the set where the walk
	 * begins: a ring
	 */
	const struct ep_set *forbidden;
	/*
	 * second case: there are more levels of sets than this, counting the set where the walk
	 * begins
	 */
	int deepest;
};

static int walk_into(struct ep_set *set, const struct walk *walk, int depth);

/* Returns the number of levels of sets from fd downwards, or -ELOOP; 0: fd is no set. */
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

/*
 * Returns the number of levels of sets from this set down, at least 1; or -ELOOP.  depth is the
 * level of this set in the walk.  Takes the set's lock.
 */
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

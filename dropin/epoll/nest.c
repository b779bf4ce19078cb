/*
 * Checks whether a set may be added to another one.  Like Linux, refuses sets that would contain
 * each other in a ring, and too many levels of sets in sets.
 */
#include <errno.h>

#include "ep.h"

/* The most levels of sets in sets, counting the outermost and the innermost one, as in Linux. */
enum { EP_LEVELS_MOST = 5 };

pthread_mutex_t ep_nest_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Returns how many levels of sets begin with this set: 1 if no set is registered in it, 2 if the
 * sets registered in it contain no sets, and so on.  Returns -ELOOP if `forbidden` is registered in
 * this set, or in a set that is nested in it at any level.  Takes the set's lock.
 */
static int levels_below(struct ep_set *set, const struct ep_set *forbidden)
{
	int levels = 0;

	pthread_mutex_lock(&set->lock);
	for (int fd = 0; fd < (int)numbers_end() && levels >= 0; fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);
		struct ep_set *inner = entry && entry->is_nested ? ep_hold(fd) : NULL;
		int below;

		if (!inner)
			continue;
		below = inner == forbidden ? -ELOOP : levels_below(inner, forbidden);
		ep_drop(inner);
		levels = below < 0 || below > levels ? below : levels;
	}
	pthread_mutex_unlock(&set->lock);
	return levels < 0 ? levels : levels + 1;
}

/* Returns true if `inner` is registered in `set`.  Takes the set's lock. */
static bool has_member(struct ep_set *set, const struct ep_set *inner)
{
	bool found = false;

	if (atomic_load(&set->nested_entries) == 0)
		return false;
	pthread_mutex_lock(&set->lock);
	for (int fd = 0; fd < (int)numbers_end() && !found; fd++) {
		struct ep_entry *entry = ep_entry_find(set, fd);

		found = entry && entry->is_nested && ep_is_of_set(fd, inner);
	}
	pthread_mutex_unlock(&set->lock);
	return found;
}

/*
 * Returns how many levels of sets end with `inner`: 1 if `inner` is registered in no set, 2 if the
 * sets that contain `inner` are registered in no set, and so on.  Called with the table's lock
 * (ep_table_lock).
 */
static int levels_above(const struct ep_set *inner)
{
	int levels = 0;

	for (struct ep_set *set = ep_all_sets(); set; set = set->next) {
		int above = has_member(set, inner) ? levels_above(set) : 0;

		levels = above > levels ? above : levels;
	}
	return levels + 1;
}

int ep_nest_check(struct ep_set *outer, struct ep_set *inner)
{
	int below = levels_below(inner, outer), above;

	if (below < 0)
		return below;
	ep_table_lock();
	above = levels_above(outer);
	ep_table_unlock();
	return below + above > EP_LEVELS_MOST ? -ELOOP : 0;
}

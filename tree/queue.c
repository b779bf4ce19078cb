/* The registrations of the tree with its queue, and the list of directories that are due. */
#include <errno.h>

#include "tree.h"

int xp_tree_register(struct xpoll_tree *tree, uint64_t ident, int filter, uint32_t fflags,
                     void *udata)
{
	struct xpoll_event change;

	xpoll_set(&change, ident, filter, XPOLL_ADD, fflags, 0, udata);
	return xpoll_event(tree->queue, &change, 1, NULL, 0, 0) < 0 ? errno : 0;
}

/*
 * Register or change a timer that expires once, after_ns from now; with XPOLL_DISABLE in `flags` it
 * does not run.  Returns 0 or an errno value.
 */
static int timer_change(struct xpoll_tree *tree, uint64_t ident, int flags, int64_t after_ns)
{
	struct xpoll_event change;

	xpoll_set(&change, ident, XPOLL_FILT_TIMER, XPOLL_ADD | XPOLL_DISPATCH | flags,
	          XPOLL_NOTE_NSECONDS, after_ns, NULL);
	return xpoll_event(tree->queue, &change, 1, NULL, 0, 0) < 0 ? errno : 0;
}

int xp_tree_timers_make(struct xpoll_tree *tree)
{
	int error = timer_change(tree, TREE_RETRY_TIMER, XPOLL_DISABLE, 1);

	return error != 0 ? error : timer_change(tree, TREE_SETTLE_TIMER, XPOLL_DISABLE, 1);
}

int xp_tree_set_timer(struct xpoll_tree *tree, uint64_t ident, int64_t after_ns)
{
	return timer_change(tree, ident, XPOLL_ENABLE, after_ns);
}

void xp_tree_make_due(struct xpoll_tree *tree, struct held *held)
{
	if (held->is_due)
		return;
	held->is_due = true;
	held->next_due = NULL;
	*tree->last_due = held;
	tree->last_due = &held->next_due;
}

/* xpoll watch: the list of watched items, and their registrations. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "watch.h"

/*
 * The two directories of a rename report it one after the other.  After this time both have done
 * so, even if the renaming thread was preempted in between.
 */
#define SETTLE_NS (WATCH_SECOND / 200)

int64_t watch_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WATCH_SECOND + now.tv_nsec;
}

void watch_link(struct watch *w, struct watch_item *item)
{
	item->next = w->items;
	w->items = item;
}

void watch_unlink(struct watch *w, struct watch_item *item)
{
	struct watch_item **at = &w->items;

	while (*at != item)
		at = &(*at)->next;
	*at = item->next;
}

int watch_register(struct watch *w, uint64_t ident, int filter, int flags,
                   uint32_t fflags, int64_t data, struct watch_item *item)
{
	struct xpoll_event change;

	xpoll_set(&change, ident, filter, flags, fflags, data, item);
	return xpoll_event(w->queue, &change, 1, NULL, 0, 0) < 0 ? errno : 0;
}

bool watch_has(const struct watch *w, uint64_t ident, int filter)
{
	struct xpoll_event registration;

	return xpoll_lookup(w->queue, ident, filter, &registration) == 0;
}

int watch_add(struct watch *w, const struct tool_item *argument, uint64_t ident,
              int filter, int flags, uint32_t fflags, int64_t data,
              struct watch_item *item)
{
	int error = watch_register(w, ident, filter, flags, fflags, data, item);

	if (error != 0)
		return watch_refuse(w, argument, error);
	watch_link(w, item);
	w->sources++;
	return TOOL_GO_ON;
}

const char *watch_reason(int error)
{
	switch (error) {
	case EMFILE:
		return "too many open files, the limit is ulimit -n "
		       "or fs.inotify.max_user_instances";
	case ENOSPC:
		return "too many watches, the limit is fs.inotify.max_user_watches";
	case EPERM:
		return "Permission denied";
	case ESRCH:
		return "no such process";
	case EBADF:
		return "not an open descriptor";
	case EISDIR:
		return "a directory; watch it with --dir";
	case ENOTSUP:
		return "not supported here; xpoll info says more";
	default:
		return strerror(error);
	}
}

int watch_refuse(const struct watch *w, const struct tool_item *argument, int error)
{
	tool_warn(w->usage, "%s%s%s: %s", argument->option != NULL ? argument->option : "",
	          argument->option != NULL ? " " : "", argument->text,
	          watch_reason(error));
	return TOOL_USAGE;
}

void watch_settle_soon(struct watch *w)
{
	int64_t soon_ns = watch_now_ns() + SETTLE_NS;

	if (w->settle_ns == INT64_MAX)
		w->settle_ns = soon_ns > w->rest_until_ns ? soon_ns : w->rest_until_ns;
}

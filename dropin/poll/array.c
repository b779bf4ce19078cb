/*
 * Compares the program's array with the image, the library's copy of it from the last call.  The
 * program may change its array at any time, so an entry that may differ is copied, and only the
 * copy is used.
 */
#include "array.h"

#include <string.h>

#include "base/compiler.h"

/* Number of entries that one memory comparison covers. */
#define BLOCK 512

/*
 * If a descriptor has more entries in the array than this, array_sync fails, because each change
 * of one entry visits all entries of the descriptor.
 */
#define DUPLICATES_MOST 64

_Static_assert(sizeof(struct pollfd) == sizeof(uint64_t),
               "an entry is compared as one word");

void array_free(struct array *array)
{
	memory_free(&array->image_memory);
	memory_free(&array->next_memory);
	memory_free(&array->changed_memory);
	memory_free(&array->reported_memory);
	*array = (struct array){0};
}

static bool array_reserve(struct array *array, size_t count)
{
	size_t most = count > array->len ? count : array->len;

	/*
	 * At most `most` entries change: `changed_indexes` and `former_fds` need room for that many
	 * each.
	 */
	if (!memory_reserve(&array->image_memory, count * sizeof *array->image) ||
	    !memory_reserve(&array->next_memory, count * sizeof *array->next) ||
	    !memory_reserve(&array->changed_memory,
	                    2 * most * sizeof *array->changed_indexes) ||
	    !memory_reserve(&array->reported_memory,
	                    most * sizeof *array->reported))
		return false;
	array->image = array->image_memory.base;
	array->next = array->next_memory.base;
	array->changed_indexes = array->changed_memory.base;
	array->former_fds = array->changed_indexes + most;
	array->reported = array->reported_memory.base;
	return true;
}

/* --- The entries of a descriptor --------------------------------------------- */

/* Remove the entry of the image at this index from the list of its descriptor's entries. */
static void unlink_entry(struct array *array, struct watch *watch, int32_t index)
{
	int fd = array->image[index].fd;
	int32_t *link;

	if (fd < 0)
		return;
	link = &watch->slots[fd].first;
	while (*link != index)
		link = &array->next[*link];
	*link = array->next[index];
}

/* Add the entry to the list of its descriptor's entries.  Returns false if no slot can be made. */
static bool link_entry(struct array *array, struct watch *watch, int32_t index)
{
	int fd = array->image[index].fd;
	struct watch_slot *slot;

	if (fd < 0)
		return true;
	slot = watch_reserve_slot(watch, fd);
	if (!slot)
		return false;
	array->next[index] = slot->first;
	slot->first = index;
	return true;
}

/*
 * Request from the watch what all entries of the descriptor request together, nothing if no entry
 * is left.  Returns false if there are too many entries, or if the watch has failed.
 */
static bool request_bits(struct array *array, struct watch *watch, int fd)
{
	uint16_t bits = 0;
	int duplicates = 0;
	int32_t index;

	if (fd < 0)
		return true;
	index = watch->slots[fd].first;
	if (index < 0) {
		watch_unwant(watch, fd);
		return true;
	}
	for (; index >= 0; index = array->next[index]) {
		bits |= (uint16_t)array->image[index].events;
		if (++duplicates > DUPLICATES_MOST)
			return false;
	}
	watch_want(watch, fd, bits);
	return !watch->failed;
}

/* --- Comparing ----------------------------------------------------------------- */

/*
 * Copy the entry at index `at` to the image if it differs, and record the change as number
 * `changed`.  Sets revents of the program's entry to 0.  Returns the new number of changes.
 */
static size_t entry_sync(struct array *array, struct watch *watch,
                         struct pollfd *fds, size_t at, size_t changed)
{
	struct pollfd *known = &array->image[at];
	struct pollfd now = fds[at];

	if (now.revents != 0)
		fds[at].revents = 0;
	if (now.fd == known->fd && now.events == known->events)
		return changed;
	unlink_entry(array, watch, (int32_t)at);
	array->former_fds[changed] = known->fd;
	*known = (struct pollfd){.fd = now.fd, .events = now.events};
	array->changed_indexes[changed] = (int32_t)at;
	return changed + 1;
}

/*
 * Copy to the image each of the first `count` entries whose fd or events have changed.  In a block
 * that differs from the image, also sets the revents of all entries of the program's array to 0; in
 * an equal block they are 0, like those of the image.  Returns the number of copied entries.
 */
static size_t image_sync(struct array *array, struct watch *watch,
                         struct pollfd *fds, size_t count)
{
	size_t changed = 0;

	for (size_t from = 0; from < count; from += BLOCK) {
		size_t len = count - from < BLOCK ? count - from : BLOCK;

		if (!memory_differs(fds + from, array->image + from, len * sizeof *fds))
			continue;
		for (size_t at = from; at < from + len; at++)
			changed = entry_sync(array, watch, fds, at, changed);
	}
	return changed;
}

/* Set to 0, in image and program's array, the revents that the last array_report has stored. */
static void clear_reported(struct array *array, struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < array->reported_len; i++) {
		size_t index = (size_t)array->reported[i];

		array->image[index].revents = 0;
		if (index < count)
			fds[index].revents = 0;
	}
	array->reported_len = 0;
}

/*
 * Give the image the new length `count`: remove entries beyond it, or copy additional entries of
 * the program's array.  Records each as a change, and returns the new number of changes.
 */
static size_t image_resize(struct array *array, struct watch *watch,
                           struct pollfd *fds, size_t count, size_t changed)
{
	for (size_t at = count; at < array->len; at++, changed++) {
		unlink_entry(array, watch, (int32_t)at);
		array->former_fds[changed] = array->image[at].fd;
		array->changed_indexes[changed] = -1;
	}
	for (size_t at = array->len; at < count; at++, changed++) {
		struct pollfd now = fds[at];

		if (now.revents != 0)
			fds[at].revents = 0;
		array->image[at] = (struct pollfd){.fd = now.fd, .events = now.events};
		array->former_fds[changed] = -1;
		array->changed_indexes[changed] = (int32_t)at;
	}
	array->len = count;
	return changed;
}

/* Link the changed entries, and request the new bits of their present and former descriptors. */
static bool apply_changes(struct array *array, struct watch *watch, size_t changed)
{
	for (size_t i = 0; i < changed; i++)
		if (array->changed_indexes[i] >= 0 &&
		    !link_entry(array, watch, array->changed_indexes[i]))
			return false;
	/*
	 * Request bits only after all entries are linked: a descriptor that moved to another index
	 * is linked there only now.
	 */
	for (size_t i = 0; i < changed; i++)
		if (!request_bits(array, watch, array->former_fds[i]))
			return false;
	for (size_t i = 0; i < changed; i++)
		if (array->changed_indexes[i] >= 0 &&
		    !request_bits(array, watch, array->image[array->changed_indexes[i]].fd))
			return false;
	return true;
}

int64_t array_sync(struct array *array, struct watch *watch,
                   struct pollfd *fds, size_t count)
{
	size_t changed;

	if (count > INT32_MAX || !array_reserve(array, count))
		return -1;
	clear_reported(array, fds, count);
	changed = image_sync(array, watch, fds, count < array->len ? count : array->len);
	if (XP_UNLIKELY(count != array->len))
		changed = image_resize(array, watch, fds, count, changed);
	return changed == 0 || apply_changes(array, watch, changed) ? (int64_t)changed : -1;
}

/* --- Results -------------------------------------------------------------------- */

/*
 * Store the revents of one entry in the program's array and in the image, the library's copy of the
 * array, so that the two stay equal.  Record the entry's index, by which clear_reported finds the
 * entry to reset its revents.
 */
static void write_revents(struct array *array, struct pollfd *fds, int32_t index,
                          short revents)
{
	fds[index].revents = revents;
	array->image[index].revents = revents;
	array->reported[array->reported_len++] = index;
}

int array_report(struct array *array, const struct watch *watch,
                 struct pollfd *fds)
{
	/*
	 * Another thread's call with this array may have set revents during this call's sleep:
	 * clear them.
	 */
	clear_reported(array, fds, array->len);
	for (size_t i = 0; i < watch->ready_len; i++) {
		const struct watch_ready *ready = &watch->ready[i];
		int32_t index = watch->slots[ready->fd].first;

		for (; index >= 0; index = array->next[index]) {
			uint32_t wanted = (uint16_t)array->image[index].events;

			wanted = ready->bits & (wanted | WATCH_ALWAYS);
			if (wanted != 0)
				write_revents(array, fds, index, (short)wanted);
		}
	}
	return (int)array->reported_len;
}

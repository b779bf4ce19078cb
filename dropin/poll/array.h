/*
 * A copy of the program's array of struct pollfd as its last call returned it, so that the next
 * call has to look only at entries that have changed.
 *
 * The image is the array byte for byte, revents included: as long as nothing
 * changes, comparing is all there is to do.  Each descriptor's slot of the
 * watch names its first place in the array, and `next` the others.
 */
#ifndef DROPIN_ARRAY_H
#define DROPIN_ARRAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"
#include "watch.h"

struct array {
	struct memory image_memory;
	struct memory next_memory;
	struct memory changed_memory;
	struct memory reported_memory;
	struct pollfd *image;
	int32_t *next;      /* by place: the next one of the same number, or -1 */
	int32_t *changed;   /* places, while synchronising */
	int32_t *replaced;   /* numbers that were at them before */
	int32_t *reported;  /* places whose revents are not 0 */
	size_t len;
	size_t reported_len;
};

void array_free(struct array *array);

/*
 * Bring the watch up to the program's array, and set all of its revents to 0.
 * Returns how many entries differed; -1: it cannot be done (no memory, a number
 * that is too large, too many duplicates).
 */
int64_t array_sync(struct array *array, struct watch *watch,
                   struct pollfd *fds, size_t count);

/* Write what the watch found to the program's array; how many entries. */
int array_report(struct array *array, const struct watch *watch,
                 struct pollfd *fds);

#endif

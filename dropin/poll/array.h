/*
 * The image: a copy of the program's array of struct pollfd as its last call returned it, revents
 * included.  The next call compares the two, and handles only entries that differ.
 *
 * The slot of each descriptor in the watch has the index of its first entry in the array; `next`
 * links further entries of the same descriptor.
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
	int32_t *next;      /* indexed like image: the next entry of the descriptor, or -1 */
	int32_t *changed;   /* indexes of entries that array_sync found changed */
	int32_t *replaced;   /* their previous descriptors */
	int32_t *reported;  /* indexes of entries whose revents are not 0 */
	size_t len;
	size_t reported_len;
};

void array_free(struct array *array);

/*
 * Update the watch by the program's array, and set all revents of the array to 0.  Returns the
 * number of entries that differed; -1 if it fails (no memory, a descriptor that is too large, too
 * many duplicates).
 */
int64_t array_sync(struct array *array, struct watch *watch,
                   struct pollfd *fds, size_t count);

/* Store the results of the watch in the program's array.  Returns the number of ready entries. */
int array_report(struct array *array, const struct watch *watch,
                 struct pollfd *fds);

#endif

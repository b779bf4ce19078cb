/*
 * The image: a copy of the program's array of struct pollfd as its last call returned it, revents
 * included.  The next call compares the array with the image, and handles only entries that differ.
 *
 * A descriptor may have several entries.  The descriptor's struct watch_slot has the index of the
 * first one in `first`, and array->next links the further ones.
 */
#ifndef DROPIN_ARRAY_H
#define DROPIN_ARRAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel.h"
#include "watch.h"

/* The image of one array of the program, and the lists that comparing and reporting need. */
struct array {
	/*
	 * The memory that the pointers below refer to; `changed_indexes` and `former_fds` are both
	 * in changed_memory.
	 */
	struct memory image_memory;
	struct memory next_memory;
	struct memory changed_memory;
	struct memory reported_memory;
	struct pollfd *image;
	/* indexed like image: index of the next entry with the same fd, or -1 */
	int32_t *next;
	/* for array_sync: index of each changed entry; -1: the entry was removed */
	int32_t *changed_indexes;
	/* for array_sync: the descriptor that each changed entry had before; negative: none */
	int32_t *former_fds;
	int32_t *reported;  /* indexes of the entries whose revents are not 0 */
	size_t len;          /* number of entries of image and next */
	size_t reported_len; /* number of entries that the last array_report stored there */
};

/* Free the memory, and make the image empty. */
void array_free(struct array *array);

/*
 * Compare the program's array with the image, and copy each entry that differs to the image.  Have
 * the watch request the new bits, and set all revents of the array to 0.  Returns the number of
 * entries that differed; -1: no memory, too large a descriptor, too many entries in all or of one
 * descriptor, or the watch has failed.
 */
int64_t array_sync(struct array *array, struct watch *watch,
                   struct pollfd *fds, size_t count);

/*
 * Store the results of the last poll of the watch as revents in the program's array and in the
 * image.  Returns the number of entries whose revents are not 0.
 */
int array_report(struct array *array, const struct watch *watch,
                 struct pollfd *fds);

#endif

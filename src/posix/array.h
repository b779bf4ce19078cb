/*
 * Common to the array back ends: poll, select and /dev/poll.
 *
 * Each has an array: the descriptors for which the kernel is queried, with their requested bits
 * (for /dev/poll, the set in the device).  The table here, indexed by descriptor, has the index of
 * each attached descriptor in the array, its bits and its token.  Two entries of the array belong
 * to the back end itself: a wake-up descriptor, and the descriptor of a kernel set that contains
 * the edge-triggered registrations, the set of edges (edge.h).
 */
#ifndef XP_POSIX_ARRAY_H
#define XP_POSIX_ARRAY_H

#include <stdint.h>

#include "posix/edge.h"
#include "sys/marks.h"
#include "sys/wakefd.h"

enum { XP_OWN_WAKE, XP_OWN_EDGE, XP_OWN_ENTRIES };

enum xp_array_place {
	XP_PLACE_NONE, /* not attached */
	XP_PLACE_IDLE, /* attached, without requested bits */
	XP_PLACE_ARRAY, /* in the array, which each wait passes to poll(2) or select(2) */
	XP_PLACE_EDGE, /* in the set of edges: the epoll set or kqueue of edge.h */
};

struct xp_array_entry {
	uint64_t token; /* the queue's token of the descriptor, returned in its reports */
	uint64_t file_hash; /* hash of the file's device and inode: see array_file_hash */
	/* index in the array; /dev/poll: the bits that the device has for the descriptor */
	int32_t index;
	uint16_t requested; /* requested bits of poll(2) */
	uint8_t watched_in : 2; /* enum xp_array_place */
	/* poll(2) clears the condition that it reports (XP_KIND_CLEARED) */
	uint8_t is_cleared_by_poll : 1;
	/* select: the file may hang up without becoming writable (select_prepare) */
	uint8_t hup_unwritable : 1;
	uint8_t dirty : 1;  /* /dev/poll: the last change is not yet written to the device */
	/* /dev/poll: the device has no entry, or one of an earlier file, to be replaced */
	uint8_t has_stale_entry : 1;
	uint8_t socket : 1;
	uint8_t fifo : 1;
	/*
	 * if is_cleared_by_poll: bits that poll(2) has cleared in the file and that were not
	 * reported, because they were not requested, or because the descriptor was removed from the
	 * array before the report
	 */
	uint8_t saved_bits;
};

/*
 * The functions in which the array back ends (poll, select and /dev/poll) differ; the first member
 * of `state` is the struct xp_array.
 */
struct xp_array_ops {
	/*
	 * Allocate memory for one more descriptor, whose entry in the table exists.  Returns 0 or
	 * -ENOMEM.
	 */
	int (*prepare)(void *state, int fd);
	/*
	 * Returns true if a watch with these bits belongs into the set of edges (edge.h) and not
	 * into the array, whose system call could not report it.
	 */
	bool (*needs_set)(const struct xp_array_entry *entry, uint32_t watch);
	/*
	 * Watch the descriptor in the array for exactly these bits; 0: remove it from the array.
	 * During the call entry->watched_in is still the previous value.
	 */
	void (*want)(void *state, int fd, uint32_t bits);
};

struct xp_array {
	const struct xp_array_ops *ops;
	struct xp_counters *counters;
	struct xp_array_entry *entries; /* indexed by descriptor */
	int len;      /* capacity of entries */
	int attached; /* number of attached descriptors, including those without requested bits */
	/*
	 * marks (sys/marks.h) of attached files that fstat(2) does not identify by device and
	 * inode: they show whether a descriptor was reused for another file
	 */
	struct xp_marks marks;
	struct xp_wakefd wake; /* immutable, because any thread signals it without the lock */
	/*
	 * set of edges: the kernel's set of edge-triggered descriptors, which is polled with the
	 * array
	 */
	struct xp_edge edge;
	/*
	 * the set of edges may have unread reports: the last xp_edge_harvest filled all the room,
	 * or was not called because there was no room
	 */
	bool edges_left;
};

/* Open the back end's own descriptors.  Returns 0 or a negative errno value. */
int xp_array_open(struct xp_array *array, const struct xp_array_ops *ops,
                  struct xp_counters *counters);
void xp_array_close(struct xp_array *array);

/* Implementations of the members of struct xp_backend_ops with these names. */
bool xp_array_owns(const void *array, int fd);
int xp_array_attach(void *array, int fd, uint32_t watch, uint64_t token);
int xp_array_change(void *array, int fd, uint32_t watch, uint64_t token);
int xp_array_detach(void *array, int fd);
void xp_array_wake(void *array);

/*
 * For xp_array_ops.needs_set: returns true if the watch is edge-triggered, or has bits that poll(2)
 * of this system never reports.
 */
bool xp_array_needs_set(const struct xp_array_entry *entry, uint32_t watch);

/* Store the XP_OWN_ENTRIES entries of the back end itself in fds. */
void xp_array_fill_own(const struct xp_array *array, struct pollfd *fds);

/*
 * Store reports of the two entries of the back end itself, whose revents poll(2) has set.
 * xp_array_report_wake stores one for a wake-up, xp_array_report_edges up to `room` reports of the
 * set of edge-triggered descriptors (edge.h).  Both return the number stored.
 */
int xp_array_report_wake(const struct xp_array *array, const struct pollfd *fds,
                         struct xp_fired *fired);
int xp_array_report_edges(struct xp_array *array, const struct pollfd *fds,
                          struct xp_fired *fired, int room);
/*
 * Store the unread reports of the set of edge-triggered descriptors, up to `room`.  Returns the
 * number of reports.
 */
int xp_array_report_rest(struct xp_array *array, struct xp_fired *fired, int room);

/* Returns the report for these bits, not 0, that poll(2) has returned for fd. */
struct xp_fired xp_array_fired(const struct xp_array *array, int fd, uint32_t bits);

/* Returns the table's entry of a descriptor; NULL: not attached. */
static inline struct xp_array_entry *xp_array_find(const struct xp_array *array, int fd)
{
	if (fd < 0 || fd >= array->len ||
	    array->entries[fd].watched_in == XP_PLACE_NONE)
		return (struct xp_array_entry *)0;
	return &array->entries[fd];
}

#endif

/*
 * Common to the array back ends: poll, select and /dev/poll.
 *
 * Each passes an array of descriptors to the kernel.  The table here, indexed by descriptor, has
 * the position of each attached descriptor in the array, its bits and its token.  Two entries of
 * the array belong to the back end itself: a wake-up descriptor, and the set of edge-triggered
 * registrations (edge.h).
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
	XP_PLACE_ARRAY,
	XP_PLACE_EDGE,
};

struct xp_array_entry {
	uint64_t token;
	uint64_t file; /* hash of its device and inode: see array.c */
	int32_t index; /* index in the array; in /dev/poll, the bits that the kernel has */
	uint16_t watch;
	uint8_t place : 2;  /* enum xp_array_place */
	uint8_t consumed : 1; /* poll(2) clears what it reports (XP_KIND_CLEARED) */
	uint8_t hup_unwritable : 1; /* a hang-up does not make it writable */
	uint8_t dirty : 1;  /* the kernel does not have the last change yet */
	uint8_t as_new : 1; /* the kernel has no entry of it */
	uint8_t socket : 1;
	uint8_t fifo : 1;
	uint8_t kept;       /* bits that poll(2) cleared while they were not requested */
};

/* The functions in which these back ends differ; `state` begins with the array. */
struct xp_array_ops {
	/* Prepare to attach a descriptor, whose entry in the table exists; -ENOMEM. */
	int (*prepare)(void *state, int fd);
	/* Returns true if a watch with these bits needs the set of edges. */
	bool (*needs_set)(const struct xp_array_entry *entry, uint32_t watch);
	/*
	 * Request exactly these bits from the kernel; 0: none.  entry->place is still the previous
	 * one.
	 */
	void (*want)(void *state, int fd, uint32_t bits);
};

struct xp_array {
	const struct xp_array_ops *ops;
	struct xp_counters *counters;
	struct xp_array_entry *entries;
	int len;
	int attached;
	/* marks of sockets without device and inode: they reveal a reused descriptor */
	struct xp_marks marks;
	struct xp_wakefd wake; /* immutable: signalled by any thread, without the lock */
	struct xp_edge edge;
	/* the set may have more reports: it filled all the room, or was not read */
	bool edges_left;
};

int xp_array_open(struct xp_array *array, const struct xp_array_ops *ops,
                  struct xp_counters *counters);
void xp_array_close(struct xp_array *array);

/* The back end's functions of these names. */
bool xp_array_owns(const void *array, int fd);
int xp_array_attach(void *array, int fd, uint32_t watch, uint64_t token);
int xp_array_change(void *array, int fd, uint32_t watch, uint64_t token);
int xp_array_detach(void *array, int fd);
void xp_array_wake(void *array);

/*
 * Returns true if a watch needs the set of edges: edge-triggered, or with bits that poll(2) here
 * never reports.
 */
bool xp_array_needs_set(const struct xp_array_entry *entry, uint32_t watch);

/* Store the XP_OWN_ENTRIES entries of the back end itself. */
void xp_array_own(const struct xp_array *array, struct pollfd *fds);

/*
 * Store reports of those entries.  Returns their number.  Edges leave some of the room to the
 * array.
 */
int xp_array_report_wake(const struct xp_array *array, const struct pollfd *fds,
                         struct xp_fired *fired);
int xp_array_report_edges(struct xp_array *array, const struct pollfd *fds,
                          struct xp_fired *fired, int room);
/* Store reports of the remaining edges. */
int xp_array_report_rest(struct xp_array *array, struct xp_fired *fired, int room);

/* Returns the report for these bits, which poll(2) has returned for fd and are not 0. */
struct xp_fired xp_array_fired(const struct xp_array *array, int fd, uint32_t bits);

/* Returns the entry of a descriptor; NULL: it is not attached. */
static inline struct xp_array_entry *xp_array_find(const struct xp_array *array, int fd)
{
	if (fd < 0 || fd >= array->len ||
	    array->entries[fd].place == XP_PLACE_NONE)
		return (struct xp_array_entry *)0;
	return &array->entries[fd];
}

#endif

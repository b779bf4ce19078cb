/*
 * Common to the array back ends: poll, select and /dev/poll.
 *
 * Each asks the kernel about an array of descriptors.  The table here has each descriptor's
 * place in the array, its bits and its token.  Indexed by number; grows when one is
 * attached.  Beside the array is a set for edges (edge.h), and two of the entries are
 * the back end's own: that set, and a wake-up descriptor.
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
	XP_PLACE_IDLE, /* attached, nothing wanted */
	XP_PLACE_ARRAY,
	XP_PLACE_EDGE,
};

struct xp_array_entry {
	uint64_t token;
	uint64_t file; /* which it was when it was attached: see array.c */
	int32_t index; /* in the array, if there; or what the kernel has of it */
	uint16_t watch;
	uint8_t place : 2;  /* enum xp_array_place */
	uint8_t consumed : 1; /* poll(2) takes away what it reports (XP_KIND_CLEARED) */
	uint8_t hup_unwritable : 1; /* its hang-up does not make it writable */
	uint8_t dirty : 1;  /* the kernel has to learn of it */
	uint8_t as_new : 1; /* as if it had never been written */
	uint8_t socket : 1;
	uint8_t fifo : 1;
	uint8_t kept;       /* of a consumed file: bits that nobody has requested yet */
};

/* The functions in which these back ends differ; `state` begins with the array. */
struct xp_array_ops {
	/* Prepare to attach a number that has an entry, which is not in place; -ENOMEM. */
	int (*prepare)(void *state, int fd);
	/* Does this watch, of some bits, need the set beside the array? */
	bool (*needs_set)(const struct xp_array_entry *entry, uint32_t watch);
	/* Ask for exactly these bits; 0: not at all.  Its place is still the one before. */
	void (*want)(void *state, int fd, uint32_t bits);
};

struct xp_array {
	const struct xp_array_ops *ops;
	struct xp_counters *counters;
	struct xp_array_entry *entries;
	int len;
	int attached;
	struct xp_marks marks; /* of files that have no inode */
	struct xp_wakefd wake; /* immutable: signalled by any thread, without the lock */
	struct xp_edge edge;
	bool edges_left; /* the set may have more: it has filled all the room, or was not read */
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

/* Edges, and what a poll(2) would never report, are for the set beside the array. */
bool xp_array_needs_set(const struct xp_array_entry *entry, uint32_t watch);

/* Fill in its XP_OWN_ENTRIES own entries. */
void xp_array_own(const struct xp_array *array, struct pollfd *fds);

/*
 * Report what fired of those entries, if there is room; how many that is.  Edges leave
 * some of the room to the array, as far as there is much of it.
 */
int xp_array_report_wake(const struct xp_array *array, const struct pollfd *fds,
                         struct xp_fired *fired);
int xp_array_report_edges(struct xp_array *array, const struct pollfd *fds,
                          struct xp_fired *fired, int room);
/* The edges that are left. */
int xp_array_report_rest(struct xp_array *array, struct xp_fired *fired, int room);

/* Returns the report for these bits, which poll(2) has returned for fd and are not 0. */
struct xp_fired xp_array_fired(const struct xp_array *array, int fd, uint32_t bits);

/* NULL: not attached. */
static inline struct xp_array_entry *xp_array_find(const struct xp_array *array, int fd)
{
	if (fd < 0 || fd >= array->len ||
	    array->entries[fd].place == XP_PLACE_NONE)
		return (struct xp_array_entry *)0;
	return &array->entries[fd];
}

#endif

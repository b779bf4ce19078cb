/*
 * What the array back ends know of a descriptor: where it is, and by which
 * bits and token.  Indexed by number; grows when one is attached.
 */
#ifndef XP_BACKEND_FDMAP_H
#define XP_BACKEND_FDMAP_H

#include <stdint.h>

#include "backend/edge.h"
#include "os/marks.h"

enum xp_fdmap_place {
	XP_PLACE_NONE, /* not attached */
	XP_PLACE_IDLE, /* attached, nothing wanted */
	XP_PLACE_ARRAY,
	XP_PLACE_EDGE,
	XP_PLACE_RING,
	XP_PLACE_STATE, /* in the ring, and looked at once it has reported */
};

struct xp_fdmap_entry {
	uint64_t token;
	uint64_t file; /* which it was when it was attached: see fdmap.c */
	int32_t index; /* in the array, if there; or what the kernel has of it */
	uint16_t watch;
	uint8_t place : 4;  /* enum xp_fdmap_place */
	uint8_t reported : 1; /* XP_PLACE_STATE: it has reported, and may last */
	uint8_t fixed : 1;  /* a /proc file: looking takes its news away */
	uint8_t hup_unwritable : 1; /* its hang-up does not make it writable */
	uint8_t dirty : 1;  /* the kernel has to learn of it */
	uint8_t as_new : 1; /* as if it had never been written */
	uint8_t socket : 1;
	uint8_t kind : 4;   /* enum xp_fd_kind, where the queue says it */
};

struct xp_fdmap {
	struct xp_fdmap_entry *entries;
	int len;
	struct xp_marks marks; /* of files that have no inode */
};

/* Of zeros, where all files have one. */
int xp_fdmap_init(struct xp_fdmap *map);
/* Make room for fd; -ENOMEM. */
int xp_fdmap_reserve(struct xp_fdmap *map, int fd);
void xp_fdmap_fini(struct xp_fdmap *map);
/*
 * 0: fd is attached, and the number still stands for that file, as far as fstat(2)
 * says; -ENOENT: it is not, or stands for another; -EBADF.
 */
int xp_fdmap_confirm(struct xp_fdmap *map, int fd, struct xp_counters *counters);
/* As xp_edge_admit, and make its entry; where it is is the caller's to say. */
int xp_fdmap_admit(struct xp_fdmap *map, struct xp_edge *edge, int fd,
                   uint64_t token);

/* It is attached no more. */
void xp_fdmap_forget(struct xp_fdmap *map, int fd);

/* What is fired by what poll(2) has answered: these bits, which are not 0. */
struct xp_fired xp_fdmap_fired(const struct xp_fdmap *map, int fd, uint32_t bits);

/*
 * Edges, and what a poll(2) would never report, are for the set beside the array; not the
 * edges of nothing, as making room for them allocates, and a wait must not.
 */
static inline bool xp_fdmap_needs_set(uint32_t watch)
{
	return (watch & XP_WATCH_EDGE && watch & XP_WATCH_BITS) || xp_pollbits_mute(watch);
}

static inline enum xp_fdmap_place xp_fdmap_place_for(uint32_t watch)
{
	if (xp_fdmap_needs_set(watch))
		return XP_PLACE_EDGE;
	return watch & XP_WATCH_BITS ? XP_PLACE_ARRAY : XP_PLACE_IDLE;
}

/* NULL: not attached. */
static inline struct xp_fdmap_entry *xp_fdmap_find(struct xp_fdmap *map, int fd)
{
	if (fd < 0 || fd >= map->len ||
	    map->entries[fd].place == XP_PLACE_NONE)
		return (struct xp_fdmap_entry *)0;
	return &map->entries[fd];
}

#endif

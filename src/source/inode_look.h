/*
 * Below inode.c and the providers: what a queue knows of its users' files, what
 * was reported of one, and what two looks at it say.
 */
#ifndef XP_SOURCE_INODE_LOOK_H
#define XP_SOURCE_INODE_LOOK_H

#include "base/regmap.h"
#include "source/inode.h"
#include "source/source.h"

/* Reports for a user besides notes. */
enum {
	XP_REPORT_LOOK = 1 << 24, /* compare everything */
	XP_REPORT_LOST = 1 << 25, /* reports were dropped */
	XP_REPORT_ENDED = 1 << 26, /* the kernel does not watch it any more */
	XP_REPORT_BY_TIME = 1 << 27, /* nor reports it: it is looked at now and then */
};

/* One queue's; the state of the VNODE source. */
struct xp_inodes {
	struct xpoll *queue;
	struct xp_list reported;  /* users whose files the kernel reports */
	struct xp_list timed;     /* users looked at now and then */
	struct xp_list to_compare; /* of both: with something to compare */
	/* The kernel's instance; its fd is -1: none.  ready: harvest and settle. */
	struct xp_source_fd watch;
	uint32_t process;         /* that has opened it (sys/process.h) */
	struct xp_regmap map;     /* of watched inodes, by the kernel's number */
	struct xp_list pool;      /* of unused ones: a wait does not allocate */
	size_t reserved;          /* how many there are in both */
	uint32_t made;            /* inodes so far, where they have numbers */
	/* Files are about to be looked at by time; optional. */
	void (*again)(struct xp_inodes *inodes);
	/* Has it another name by now?  Where no report says so; it looked like this just now. */
	bool (*renamed)(struct xp_inode_user *user, const struct stat *now);
};

static inline bool xp_same_time(const struct timespec *a,
                                const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

#define XP_NOTES_WRITTEN (XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE)

/* Note it for the user, who is settled later. */
static inline void xp_inode_report(struct xp_inodes *inodes,
                                   struct xp_inode_user *user, uint32_t notes)
{
	user->reported |= notes;
	if (xp_list_empty(&user->to_compare))
		xp_list_append(&inodes->to_compare, &user->to_compare);
}

/* 0; -ENOENT: the number is another file's by now; -EBADF ... */
int xp_inode_look(const struct xp_inode_user *user, struct stat *now);
/* All that differs; reported: what else is known, which may explain it. */
uint32_t xp_inode_compare(bool as_bsd, uint32_t reported, const struct stat *old,
                          const struct stat *now);
/* The notes for what was reported of a file that looks like this now. */
uint32_t xp_inode_notes(const struct xp_inode_user *user, uint32_t reported,
                        const struct stat *now);
/* Store what the next look is compared with.  reported: what was compared now. */
void xp_inode_remember(struct stat *last, uint32_t reported, const struct stat *now);

/*
 * Returns the inode of this number, or NULL.  Each provider has a struct xp_inode of
 * its own, which begins with its item of the map.
 */
struct xp_inode *xp_inode_find(const struct xp_inodes *inodes, uint64_t number);
/* Any of them, and no longer there; NULL: there are none. */
struct xp_inode *xp_inode_walk(const struct xp_inodes *inodes, size_t *at);
/* The instance is this descriptor, or it is an error: have the queue watch it. */
int xp_inodes_opened(struct xpoll *queue, struct xp_inodes *inodes, int fd);

#endif

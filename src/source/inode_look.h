/*
 * Shared by inode.c and the providers: the state of a queue's watched files, reports, and the
 * comparison of files.
 */
#ifndef XP_SOURCE_INODE_LOOK_H
#define XP_SOURCE_INODE_LOOK_H

#include "base/regmap.h"
#include "source/inode.h"
#include "source/source.h"

/* Bits of xp_inode_user.reported besides notes. */
enum {
	XP_REPORT_LOOK = 1 << 24, /* compare everything */
	XP_REPORT_LOST = 1 << 25, /* reports were dropped */
	XP_REPORT_ENDED = 1 << 26, /* the kernel does not watch it any more */
	XP_REPORT_BY_TIME = 1 << 27, /* nor reports it: compare it from time to time */
};

/* The watched files of one queue: the state of the VNODE source. */
struct xp_inodes {
	struct xpoll *queue;
	struct xp_list reported;  /* users whose files the kernel reports */
	struct xp_list timed;     /* users whose files are compared from time to time */
	struct xp_list to_compare; /* users of both lists whose file has to be compared */
	/*
	 * The kernel's instance; fd is -1 if there is none.  ready: reads reports and compares
	 * files.
	 */
	struct xp_source_fd watch;
	uint32_t process;         /* the process that opened it (sys/process.h) */
	struct xp_regmap map;     /* watched inodes, by the number that the kernel reports */
	struct xp_list pool;      /* unused inodes, because a wait must not allocate */
	size_t reserved;          /* number of inodes in both */
	uint32_t made;            /* number of inodes so far, for providers that number them */
	/* Called before files are compared by time; optional. */
	void (*again)(struct xp_inodes *inodes);
	/*
	 * Returns true if the file has been renamed, for systems that do not report it; now: its
	 * status.
	 */
	bool (*renamed)(struct xp_inode_user *user, const struct stat *now);
};

static inline bool xp_same_time(const struct timespec *a,
                                const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

#define XP_NOTES_WRITTEN (XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE)

/* Record a report for a user, whose file is compared later. */
static inline void xp_inode_report(struct xp_inodes *inodes,
                                   struct xp_inode_user *user, uint32_t notes)
{
	user->reported |= notes;
	if (xp_list_empty(&user->to_compare))
		xp_list_append(&inodes->to_compare, &user->to_compare);
}

/* 0; -ENOENT: the number is another file's by now; -EBADF ... */
int xp_inode_look(const struct xp_inode_user *user, struct stat *now);
/* Returns the notes for all differences; reported: notes that may explain them. */
uint32_t xp_inode_compare(bool as_bsd, uint32_t reported, const struct stat *old,
                          const struct stat *now);
/* The notes for what was reported of a file that looks like this now. */
uint32_t xp_inode_notes(const struct xp_inode_user *user, uint32_t reported,
                        const struct stat *now);
/* Store the status for the next comparison.  reported: what was compared now. */
void xp_inode_remember(struct stat *last, uint32_t reported, const struct stat *now);

/*
 * Returns the inode with this number of the kernel, or NULL.  Each provider has a struct xp_inode
 * of its own, which begins with its item of the map.
 */
struct xp_inode *xp_inode_find(const struct xp_inodes *inodes, uint64_t number);
/* Remove any inode from the map and return it; NULL: the map is empty. */
struct xp_inode *xp_inode_walk(const struct xp_inodes *inodes, size_t *at);
/*
 * Take over fd, a new inotify instance, kqueue or port, and have the queue watch it; closes fd on
 * failure.  A negative fd, an error of opening it, is returned as it is.
 */
int xp_inodes_opened(struct xpoll *queue, struct xp_inodes *inodes, int fd);

#endif

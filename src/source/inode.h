/*
 * Changes of the file behind a descriptor, whatever its names: VNODE uses this, and READ of a
 * regular file that may grow.
 *
 * A user is a registration that follows one open file.  Most changes the
 * kernel reports, through one instance per queue (source/inode_provider.h); sizes and
 * link counts are compared when it has reported something.  A file that the kernel
 * cannot report is looked at now and then, while a wait runs.
 *
 * Notes are XPOLL_NOTE_ bits of VNODE.  All with the queue's lock held.
 */
#ifndef XP_SOURCE_INODE_H
#define XP_SOURCE_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <xpoll.h>

#include "base/list.h"

struct xp_inode;
struct xp_inode_user;

/* A user's place among those of one inode; unused while inode is NULL. */
struct xp_inode_link {
	struct xp_list item;
	struct xp_inode *inode;
	struct xp_inode_user *user;
};

struct xp_inode_user_ops {
	/*
	 * Some of what is asked for happened, to the file that the descriptor is of
	 * at this moment.  lost: the kernel dropped reports, and what cannot be derived
	 * is noted on suspicion.
	 */
	void (*reported)(struct xpoll *queue, struct xp_inode_user *user,
	             uint32_t notes, bool lost);
	/* Does the user want to hear at once, not just when it asks? */
	bool (*listens)(const struct xpoll *queue,
	                const struct xp_inode_user *user);
	/* The descriptor was closed, or is another file's: end the watch. */
	void (*gone)(struct xpoll *queue, struct xp_inode_user *user);
};

struct xp_inode_user {
	const struct xp_inode_user_ops *ops;
	int fd;
	uint32_t notes; /* what is asked for */
	bool as_bsd;    /* XPOLL_VNODE_AS_BSD */

	/* Private to inode.c and the provider. */
	struct xp_list all;         /* of the queue's users, reported or timed */
	struct xp_list to_compare;   /* of those with something to compare */
	struct xp_inode_link self;  /* its file */
	struct xp_inode_link above; /* its parent, which reports rmdir(2) */
	int reserved;               /* inodes that the provider holds for it */
	uint64_t place;             /* where the provider saw it last */
	uint32_t ignored;           /* notes reported while it did not listen */
	uint32_t reported;          /* notes since the last comparison, XP_REPORT_ */
	int64_t born_ns;            /* when the file was made; 0: nobody knows */
	struct stat last;           /* as it was then */
};

/*
 * Begin to watch fd; user->ops is set, all else is zero.  lenient: where the
 * kernel's limits forbid it, the file is looked at now and then instead.
 *
 * -EBADF; -EINVAL: no file; -EPERM: these notes cannot be had of a file that
 * may not be read; -ENOTSUP: the kernel does not report them of this file;
 * -EMFILE, -ENFILE, -ENOSPC, -ENOMEM.
 */
int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient);
/* Ask for other notes; -ESTALE: the number is another file's by now. */
int xp_inode_rewatch(struct xpoll *queue, struct xp_inode_user *user,
                     uint32_t notes, bool lenient);
/*
 * A user that was disabled listens again.  Changes that would have been reported meanwhile are
 * passed to `reported` before this returns.
 */
void xp_inode_listen(struct xpoll *queue, struct xp_inode_user *user);
/* Harmless if it is not watched. */
void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user);

/* 0; -EBADF: closed; -ENOENT: the number is another file's by now. */
int xp_inode_confirm(const struct xp_inode_user *user);

/* Can all of these notes be reported here? */
bool xp_inode_supports(uint32_t notes);

/* For the functions of these names in a source; fini leaves all users unwatched. */
void xp_inodes_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_inodes_fini(struct xpoll *queue, void *state);

#endif

/*
 * Changes of the file that a descriptor refers to, whatever its names: used by VNODE, and by READ
 * of a regular file that may grow.
 *
 * A user is a registration that watches one open file.  The kernel reports most changes, through
 * one instance per queue (source/inode_provider.h); then sizes and link counts are compared.  A
 * file that the kernel cannot report is compared from time to time, while a wait runs.
 *
 * Notes are XPOLL_NOTE_ bits of VNODE.  All functions are called with the queue's lock held.
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

/* Links a user to one inode that it watches; unused while inode is NULL. */
struct xp_inode_link {
	struct xp_list item;
	struct xp_inode *inode;
	struct xp_inode_user *user;
};

struct xp_inode_user_ops {
	/*
	 * Some of the requested notes happened to the file that the descriptor refers to.  lost:
	 * the kernel dropped reports, and notes that a comparison cannot show are set on suspicion.
	 */
	void (*reported)(struct xpoll *queue, struct xp_inode_user *user,
	             uint32_t notes, bool lost);
	/* Returns true if the user wants reports at once, and not only when it asks for them. */
	bool (*listens)(const struct xpoll *queue,
	                const struct xp_inode_user *user);
	/* The descriptor was closed or reused: end the watch. */
	void (*gone)(struct xpoll *queue, struct xp_inode_user *user);
};

struct xp_inode_user {
	const struct xp_inode_user_ops *ops;
	int fd;
	uint32_t notes; /* the requested notes */
	bool as_bsd;    /* XPOLL_VNODE_AS_BSD */

	/* Private to inode.c and the provider. */
	struct xp_list all;         /* links the queue's users, `reported` or `timed` */
	struct xp_list to_compare;   /* links the users whose file has to be compared */
	struct xp_inode_link self;  /* the file itself */
	struct xp_inode_link above; /* the file's parent directory, which reports rmdir(2) */
	int reserved;               /* number of inodes that the provider reserves for it */
	uint64_t place;             /* where the provider found the file last */
	uint32_t ignored;           /* notes that were ignored because it did not listen */
	/* notes reported since the last comparison, and XP_REPORT_ bits */
	uint32_t reported;
	int64_t born_ns;            /* when the file was created; 0: unknown */
	struct stat last;           /* its status at the last comparison */
};

/*
 * Begin to watch fd; user->ops is set, everything else is zero.  lenient: if a limit of the kernel
 * is exhausted, the file is compared from time to time instead.
 *
 * -EBADF; -EINVAL: no file; -EPERM: these notes need permission to read the file; -ENOTSUP: the
 * kernel does not report them for this file; -EMFILE, -ENFILE, -ENOSPC, -ENOMEM.
 */
int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient);
/* Change the requested notes; -ESTALE: fd was reused for another file. */
int xp_inode_rewatch(struct xpoll *queue, struct xp_inode_user *user,
                     uint32_t notes, bool lenient);
/*
 * A user that was disabled wants reports again.  Changes that it has missed are passed to
 * `reported` before this returns.
 */
void xp_inode_listen(struct xpoll *queue, struct xp_inode_user *user);
/* End a watch; harmless if there is none. */
void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user);

/* Returns 0 if fd still refers to the watched file; -EBADF: closed; -ENOENT: reused. */
int xp_inode_confirm(const struct xp_inode_user *user);

/* Returns true if this system can report all of these notes. */
bool xp_inode_supports(uint32_t notes);

/* Implementations of `due` and `fini` of a source; fini ends the watches of all users. */
void xp_inodes_due(struct xpoll *queue, int64_t now_ns, int room);
void xp_inodes_fini(struct xpoll *queue, void *state);

#endif

/*
 * Files where nothing tells of them: all are looked at now and then.  What two
 * looks cannot tell is ENOTSUP.
 */
#include "source/provider/inode.h"

#include <errno.h>

uint32_t xp_inodes_tellable(void)
{
	return 0;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	(void)queue, (void)inodes, (void)user;
	return -ENOTSUP;
}

int xp_inode_follow(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	(void)inodes, (void)user;
	return 0;
}

void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	(void)inodes, (void)user;
}

void xp_inodes_harvest(struct xp_inodes *inodes)
{
	(void)inodes;
}

void xp_inodes_close(struct xp_inodes *inodes)
{
	(void)inodes;
}

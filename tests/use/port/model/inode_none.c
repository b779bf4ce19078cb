/* No kernel reports what happens to files: they are looked at now and then. */
#include "source/inode_provider.h"

#include <errno.h>

uint32_t xp_inodes_reportable(void)
{
	return 0;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	(void)queue, (void)inodes, (void)user;
	return -ENOTSUP;
}

int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	(void)inodes, (void)user;
	return -ENOTSUP;
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

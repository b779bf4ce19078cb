/* No way to be told of a file behind a descriptor. */
#include <errno.h>

#include "source/inode.h"

int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient)
{
	(void)queue, (void)user, (void)fd, (void)notes, (void)lenient;
	return -ENOTSUP;
}

void xp_inode_listen(struct xpoll *queue, struct xp_inode_user *user)
{
	(void)queue, (void)user;
}

void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user)
{
	(void)queue, (void)user;
}

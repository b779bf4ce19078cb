/*
 * VNODE: changes of an open file, whatever its names.
 *
 * Kinds of changes that happen before an event is delivered, because no thread waits or the
 * registration is disabled, are ORed together and delivered as one event.
 */
#include <errno.h>

#include "base/compiler.h"
#include "source/inode.h"
#include "source/source.h"
#include "sys/fdnum.h"

#define NOTES (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
               XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | XPOLL_NOTE_RENAME | \
               XPOLL_NOTE_REVOKE | XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
               XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ | \
               XPOLL_NOTE_TRUNCATE)

/* A registration of VNODE: one open file. */
struct vnode_registration {
	struct xp_registration reg;
	struct xp_inode_user user;
};

static struct vnode_registration *vnode_of(struct xp_registration *reg)
{
	return XP_CONTAINER_OF(reg, struct vnode_registration, reg);
}

static void vnode_reported(struct xpoll *queue, struct xp_inode_user *user,
                       uint32_t notes, bool lost)
{
	struct xp_registration *reg = &XP_CONTAINER_OF(user, struct vnode_registration, user)->reg;

	reg->pending_fflags |= notes;
	if (lost)
		reg->data = 1;
	xp_host.set_active(queue, reg, true);
	reg->verified_generation = xp_host.wait_generation(queue);
}

static bool vnode_listens(const struct xpoll *queue,
                          const struct xp_inode_user *user)
{
	const struct vnode_registration *vnode = (const void *)
		((const char *)user - offsetof(struct vnode_registration, user));

	(void)queue;
	return !(vnode->reg.flags & XPOLL_DISABLE);
}

static void vnode_gone(struct xpoll *queue, struct xp_inode_user *user)
{
	xp_host.end(queue, &XP_CONTAINER_OF(user, struct vnode_registration, user)->reg);
}

static const struct xp_inode_user_ops vnode_user = {
	.notify = vnode_reported,
	.wants_reports = vnode_listens,
	.gone = vnode_gone,
};

static int vnode_attach(struct xpoll *queue, struct xp_registration *reg,
                        const struct xpoll_event *change)
{
	struct xp_inode_user *user = &vnode_of(reg)->user;
	int fd = xp_fd_number(change->ident);

	if (fd < 0)
		return -EBADF;
	reg->fflags = change->fflags;
	user->ops = &vnode_user;
	user->as_bsd = xp_host.vnode_as_bsd(queue);
	return xp_inode_watch(queue, user, fd, change->fflags, false);
}

/*
 * An ADD of a registered descriptor changes the requested notes; other changes have no effect here.
 */
static int vnode_touch(struct xpoll *queue, struct xp_registration *reg,
                       const struct xpoll_event *change)
{
	int rc;

	if (!(change->flags & XPOLL_ADD))
		return 0;
	rc = xp_inode_set_notes(queue, &vnode_of(reg)->user, change->fflags, false);
	if (rc < 0)
		return rc;
	reg->fflags = change->fflags;
	reg->pending_fflags &= change->fflags;
	if (!reg->pending_fflags)
		xp_host.set_active(queue, reg, false);
	return 0;
}

/*
 * Called when the registration was enabled or disabled.  If enabled, request all reports again: for
 * a disabled registration the kernel reports each kind of change only once.
 */
static void vnode_switched(struct xpoll *queue, struct xp_registration *reg)
{
	if (!(reg->flags & XPOLL_DISABLE))
		xp_inode_resume_reports(queue, &vnode_of(reg)->user);
}

static void vnode_detach(struct xpoll *queue, struct xp_registration *reg)
{
	xp_inode_unwatch(queue, &vnode_of(reg)->user);
}

static int vnode_collect(struct xpoll *queue, struct xp_registration *reg,
                         struct xpoll_event *event)
{
	event->fflags = reg->pending_fflags;
	event->data = reg->data;
	reg->pending_fflags = 0;
	reg->data = 0;
	xp_host.set_active(queue, reg, false);
	return 0;
}

static int vnode_verify_ident(struct xpoll *queue, const struct xp_registration *reg, bool deliver)
{
	return deliver && reg->verified_generation == xp_host.wait_generation(queue) ? 0
		: xp_inode_verify_fd(
			&((const struct vnode_registration *)(const void *)reg)->user);
}

/*
 * Watch the file again in a forked child, and drop notes from before the fork, which the parent
 * delivers.
 */
static int vnode_inherit(struct xpoll *queue, struct xp_registration *reg)
{
	reg->pending_fflags = 0;
	reg->data = 0;
	return xp_inode_watch(queue, &vnode_of(reg)->user,
	                      xp_fd_number(reg->item.ident), reg->fflags, false);
}

static const struct xp_note_name vnode_names[] = {
	{XPOLL_NOTE_DELETE, "DELETE"}, {XPOLL_NOTE_WRITE, "WRITE"},
	{XPOLL_NOTE_EXTEND, "EXTEND"}, {XPOLL_NOTE_ATTRIB, "ATTRIB"},
	{XPOLL_NOTE_LINK, "LINK"}, {XPOLL_NOTE_RENAME, "RENAME"},
	{XPOLL_NOTE_REVOKE, "REVOKE"}, {XPOLL_NOTE_OPEN, "OPEN"},
	{XPOLL_NOTE_CLOSE, "CLOSE"}, {XPOLL_NOTE_CLOSE_WRITE, "CLOSE_WRITE"},
	{XPOLL_NOTE_READ, "READ"}, {XPOLL_NOTE_TRUNCATE, "TRUNCATE"},
	{0, NULL},
};

const struct xp_source_ops xp_source_vnode = {
	.filter = XPOLL_FILT_VNODE,
	.id = XP_SOURCE_VNODE,
	.of_fd = true,
	.name = "VNODE",
	.notes = vnode_names,
	.implied = XPOLL_CLEAR,
	.fflags = NOTES,
	.size = sizeof(struct vnode_registration),
	.attach = vnode_attach,
	.touch = vnode_touch,
	.detach = vnode_detach,
	.collect = vnode_collect,
	.verify_ident = vnode_verify_ident,
	.switched = vnode_switched,
	.supports = xp_inode_supports,
	.due = xp_inodes_due,
	.fini = xp_inodes_fini,
	.inherit = vnode_inherit,
};

/*
 * Watches files by kqueue(2): one kqueue per queue, with one EVFILT_VNODE for each watched
 * descriptor, which all its registrations ("users") share.  The kernel removes a filter when its
 * descriptor is closed, without a report.
 */
#include "source/inode_provider.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "bsd/sys_kqueue.h"
#include "sys/process.h"

/* A descriptor that is watched. */
struct xp_inode {
	struct xp_regmap_item item; /* ident: the descriptor */
	struct xp_list links;       /* links of the registrations for this descriptor */
};

/* The notes that a program may request, and the kernel's notes that are requested for each. */
static const struct {
	uint32_t note;
	uint32_t kernel;
} vnode_notes[] = {
	{XPOLL_NOTE_DELETE, NOTE_DELETE | NOTE_LINK},
	{XPOLL_NOTE_WRITE, NOTE_WRITE | NOTE_EXTEND},
	{XPOLL_NOTE_EXTEND, NOTE_WRITE | NOTE_EXTEND},
	{XPOLL_NOTE_TRUNCATE, NOTE_WRITE | NOTE_EXTEND | NOTE_ATTRIB},
	{XPOLL_NOTE_ATTRIB, NOTE_ATTRIB},
	{XPOLL_NOTE_LINK, NOTE_LINK | NOTE_DELETE},
	{XPOLL_NOTE_RENAME, NOTE_RENAME},
	{XPOLL_NOTE_REVOKE, NOTE_REVOKE},
#ifdef NOTE_OPEN
	{XPOLL_NOTE_OPEN, NOTE_OPEN},
	{XPOLL_NOTE_CLOSE, NOTE_CLOSE},
	{XPOLL_NOTE_CLOSE_WRITE, NOTE_CLOSE_WRITE},
	{XPOLL_NOTE_READ, NOTE_READ},
#endif
};

enum { VNODE_NOTES = sizeof vnode_notes / sizeof *vnode_notes };

uint32_t xp_inodes_reportable(void)
{
	uint32_t notes = 0;

	for (int i = 0; i < VNODE_NOTES; i++)
		notes |= vnode_notes[i].note;
	return notes;
}

static uint32_t to_kernel_notes(uint32_t notes)
{
	uint32_t kernel = 0;

	for (int i = 0; i < VNODE_NOTES; i++)
		if (notes & vnode_notes[i].note)
			kernel |= vnode_notes[i].kernel;
	return kernel;
}

/*
 * Convert the kernel's notes to XPOLL_NOTE_ bits.  Notes that the kernel does not distinguish are
 * found by a comparison of the file with its last status, which XP_REPORT_COMPARE requests.
 */
static uint32_t from_kernel_notes(uint32_t kernel, bool directory)
{
	static const uint32_t passing = XPOLL_NOTE_RENAME | XPOLL_NOTE_REVOKE |
		XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | XPOLL_NOTE_CLOSE_WRITE |
		XPOLL_NOTE_READ | XPOLL_NOTE_ATTRIB;
	uint32_t notes = XP_REPORT_COMPARE;

	for (int i = 0; i < VNODE_NOTES; i++)
		if (vnode_notes[i].note & passing && kernel & vnode_notes[i].kernel)
			notes |= vnode_notes[i].note;
	if (kernel & (NOTE_WRITE | NOTE_EXTEND))
		notes |= XPOLL_NOTE_WRITE;
	if (kernel & (NOTE_DELETE | NOTE_LINK))
		notes |= XPOLL_NOTE_DELETE;
	/* An entry was moved into or out of the directory, which a comparison does not show. */
	if (directory && kernel & NOTE_EXTEND)
		notes |= XPOLL_NOTE_EXTEND;
	return notes;
}

/*
 * Returns the kernel's notes that need not be requested for a user that does not want reports now,
 * so that they wake no thread.  A later comparison of the file finds these changes.  It does not
 * find entries that were moved into or out of a directory, so those notes stay requested.  Removals
 * and renames are rare, and stay requested, too.
 */
static uint32_t suppressible_notes(const struct xp_inode_user *user)
{
	uint32_t kernel = NOTE_ATTRIB;

	if (!S_ISDIR(user->last.st_mode) ||
	    !(user->notes & (XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK)))
		kernel |= NOTE_WRITE | NOTE_EXTEND;
#ifdef NOTE_OPEN
	kernel |= NOTE_OPEN | NOTE_CLOSE | NOTE_CLOSE_WRITE | NOTE_READ;
#endif
	return kernel;
}

static void inode_report_event(struct xp_inodes *inodes, struct xp_inode_user *user,
                               uint32_t kernel)
{
	/* In this file `suppressed` has the kernel's notes, not XPOLL_NOTE_ bits. */
	if (!user->ops->wants_reports(inodes->queue, user))
		user->suppressed |= kernel & suppressible_notes(user);
	xp_inode_report(inodes, user,
	                from_kernel_notes(kernel, S_ISDIR(user->last.st_mode)));
}

static int inode_change_filter(struct xp_inodes *inodes, const struct xp_inode *inode,
                               unsigned flags, uint32_t kernel)
{
	struct kevent change;
	int rc;

	xp_kq_ev_set(&change, inode->item.ident, EVFILT_VNODE, flags, kernel, 0);
	rc = xp_sys_kevent_change(inodes->watch.fd, &change, 1);
	return rc < 0 ? rc : -(int)change.data;
}

/*
 * Returns the union of the kernel's notes that the inode's users need and, unless NULL, the user
 * `more`.  The result is never 0, because a filter needs a note.
 */
static uint32_t inode_kernel_notes(const struct xp_inode *inode,
                                   const struct xp_inode_user *more)
{
	uint32_t kernel = NOTE_REVOKE;

	if (more)
		kernel |= to_kernel_notes(more->notes);
	XP_LIST_EACH(const struct xp_inode_link, link, &inode->links, item)
		kernel |= to_kernel_notes(link->user->notes) & ~link->user->suppressed;
	return kernel;
}

/*
 * Set the notes of the inode's filter to those that the inode's users and `more`, unless NULL,
 * need; if there is no user at all, delete the filter.
 */
static int inode_update_kernel(struct xp_inodes *inodes,
                               const struct xp_inode *inode,
                               const struct xp_inode_user *more)
{
	bool wanted = more || !xp_list_empty(&inode->links);

	return inode_change_filter(inodes, inode, wanted ? EV_ADD | EV_CLEAR : EV_DELETE,
	                           inode_kernel_notes(inode, more));
}

static void inode_report_notes(struct xp_inodes *inodes, struct xp_inode *inode,
                               uint32_t kernel)
{
	uint32_t before = inode_kernel_notes(inode, NULL);

	XP_LIST_EACH(struct xp_inode_link, link, &inode->links, item)
		inode_report_event(inodes, link->user, kernel);
	if (inode_kernel_notes(inode, NULL) != before)
		(void)inode_update_kernel(inodes, inode, NULL);
}

void xp_inodes_harvest(struct xp_inodes *inodes)
{
	struct kevent events[32];
	int count;

	do {
		count = xp_sys_kevent_now(inodes->watch.fd, NULL, 0, events, 32);
		for (int i = 0; i < count; i++) {
			struct xp_inode *inode =
				xp_inode_find(inodes, events[i].ident);

			if (inode)
				inode_report_notes(inodes, inode, events[i].fflags);
		}
	} while (count == 32);
}

static void inode_drop(struct xp_inodes *inodes, struct xp_inode *inode)
{
	XP_ASSERT(xp_list_empty(&inode->links));
	xp_regmap_remove(&inodes->map, &inode->item, 0);
	xp_free(inode);
}

static int inode_find_or_add(struct xp_inodes *inodes, int fd, struct xp_inode **made)
{
	struct xp_inode *inode = xp_inode_find(inodes, (uint64_t)fd);

	if (!inode) {
		inode = xp_zalloc(sizeof *inode);
		if (!inode)
			return -ENOMEM;
		xp_list_init(&inode->links);
		inode->item.ident = (uint64_t)fd;
		if (xp_regmap_add(&inodes->map, &inode->item, 0) < 0) {
			xp_free(inode);
			return -ENOMEM;
		}
	}
	*made = inode;
	return 0;
}

int xp_inode_join(struct xpoll *queue, struct xp_inodes *inodes,
                  struct xp_inode_user *user)
{
	struct xp_inode *inode = NULL;
	int rc = inodes->watch.fd >= 0 ? 0 : xp_inodes_adopt_fd(queue, inodes, xp_sys_kqueue());

	if (rc == 0)
		rc = inode_find_or_add(inodes, user->fd, &inode);
	/*
	 * ENOENT: the kernel has removed the filter, so the descriptor was closed and reused.
	 * Return -ESTALE: a change of the registration that gets this error ends the registration.
	 */
	if (rc == 0 && user->self.inode &&
	    inode_change_filter(inodes, inode, EV_ENABLE, inode_kernel_notes(inode, user)) ==
	    -ENOENT)
		return -ESTALE;
	if (rc == 0)
		rc = inode_update_kernel(inodes, inode, user);
	if (rc == 0 && !user->self.inode) {
		user->self.inode = inode;
		xp_list_append(&inode->links, &user->self.item);
	}
	if (inode && xp_list_empty(&inode->links))
		inode_drop(inodes, inode);
	/* ENODEV, EINVAL: the kernel does not report changes of FIFOs, or of this device. */
	return rc == -ENODEV || rc == -EINVAL ? -ENOTSUP : rc;
}

/*
 * Does nothing: the kernel watches the open file, not its name or its directory, so after a rename
 * no other watch is needed.
 */
int xp_inode_follow_rename(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	(void)inodes, (void)user;
	return 0;
}

void xp_inode_leave(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	struct xp_inode *inode = user->self.inode;

	if (!inode)
		return;
	user->self.inode = NULL;
	xp_list_remove(&user->self.item);
	(void)inode_update_kernel(inodes, inode, NULL);
	if (xp_list_empty(&inode->links))
		inode_drop(inodes, inode);
}

void xp_inodes_close(struct xp_inodes *inodes)
{
	struct xp_inode *inode;

	for (size_t at = 0; (inode = xp_inode_walk(inodes, &at));)
		xp_free(inode);
	/* In a forked child the descriptor may refer to another file: do not have it closed. */
	if (inodes->process != xp_process_number())
		inodes->watch.fd = -1;
}

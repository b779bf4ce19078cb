/* Files watched for what happens to them: users, comparison, files by time. */
#include "source/inode.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/time.h"
#include "os/fskind.h"
#include "os/sys.h"
#include "source/provider/inode.h"

/* How often files are looked at that the kernel does not tell about. */
#define LOOK_EVERY_NS (100 * XP_NS_PER_MS)

/* What two looks at a file can tell. */
#define BY_LOOK (XPOLL_NOTE_DELETE | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND | \
                 XPOLL_NOTE_ATTRIB | XPOLL_NOTE_LINK | XPOLL_NOTE_REVOKE | \
                 XPOLL_NOTE_TRUNCATE)

/* What they cannot, if the kernel's reports were dropped. */
#define SUSPECTED (XPOLL_NOTE_WRITE | XPOLL_NOTE_ATTRIB | XPOLL_NOTE_RENAME | \
                   XPOLL_NOTE_OPEN | XPOLL_NOTE_CLOSE | \
                   XPOLL_NOTE_CLOSE_WRITE | XPOLL_NOTE_READ)
#define SUSPECTED_OF_DIRECTORY (XPOLL_NOTE_EXTEND | XPOLL_NOTE_LINK)

static struct xp_inodes *inodes_find(struct xpoll *queue)
{
	return *xp_source_state(queue, XP_SOURCE_VNODE);
}

/* The queue's, made if need be; NULL: no memory. */
static struct xp_inodes *inodes_make(struct xpoll *queue)
{
	void **state = xp_source_state(queue, XP_SOURCE_VNODE);
	struct xp_inodes *inodes = *state;

	if (inodes)
		return inodes;
	inodes = xp_alloc(sizeof *inodes);
	if (!inodes)
		return NULL;
	xp_list_init(&inodes->told);
	xp_list_init(&inodes->timed);
	xp_list_init(&inodes->unsettled);
	xp_list_init(&inodes->pool);
	inodes->queue = queue;
	inodes->watch.fd = -1;
	*state = inodes;
	return inodes;
}

/* 0; -ENOENT: the number is another file's by now; -EBADF ... */
static int user_look(const struct xp_inode_user *user, struct stat *now)
{
	const struct stat *last = &user->last;
	int64_t born_ns;
	int rc = xp_sys_fstat_born(user->fd, now, &born_ns);

	if (rc < 0)
		return rc;
	return last->st_dev == now->st_dev && last->st_ino == now->st_ino &&
		xp_sys_same_birth(user->born_ns, born_ns) ? 0 : -ENOENT;
}

/* Growing and shrinking again in between is not seen. */
static uint32_t compare_size(const struct stat *old, const struct stat *now)
{
	if (S_ISDIR(now->st_mode) || now->st_size == old->st_size)
		return 0;
	return now->st_size > old->st_size ? XPOLL_NOTE_EXTEND
		: XPOLL_NOTE_TRUNCATE;
}

static uint32_t compare_links(bool as_bsd, const struct stat *old,
                              const struct stat *now)
{
	if (now->st_nlink == old->st_nlink)
		return 0;
	if (as_bsd && !S_ISDIR(now->st_mode))
		return now->st_nlink < old->st_nlink ? XPOLL_NOTE_DELETE
			: XPOLL_NOTE_LINK;
	/* A directory's count is of its subdirectories; its end is no link. */
	if (now->st_nlink == 0)
		return S_ISDIR(now->st_mode) ? XPOLL_NOTE_DELETE
			: XPOLL_NOTE_DELETE | XPOLL_NOTE_LINK;
	return XPOLL_NOTE_LINK;
}

static bool earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
		(a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* Was something written?  A time that went back was set by somebody. */
static bool was_written(const struct stat *old, const struct stat *now)
{
	if (xp_same_time(&old->st_mtim, &now->st_mtim))
		return false;
	/* Or the clock was: writing sets both times to the same. */
	return !earlier(&now->st_mtim, &old->st_mtim) ||
		xp_same_time(&now->st_mtim, &now->st_ctim);
}

/* Did an attribute change, other than the link count? */
static bool was_set(const struct stat *old, const struct stat *now)
{
	return old->st_mode != now->st_mode || old->st_uid != now->st_uid ||
		old->st_gid != now->st_gid ||
		(!xp_same_time(&old->st_mtim, &now->st_mtim) &&
		 !was_written(old, now));
}

/*
 * All that two looks tell.  A time that has changed alone is of an attribute that
 * cannot be seen, unless what was told explains it.
 */
static uint32_t compare(bool as_bsd, uint32_t told, const struct stat *old,
                        const struct stat *now)
{
	uint32_t notes = compare_size(old, now) |
		compare_links(as_bsd, old, now);

	if (notes & (XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE) ||
	    was_written(old, now))
		notes |= XPOLL_NOTE_WRITE;
	/* As Linux says it in one breath. */
	if (!as_bsd && notes & XPOLL_NOTE_LINK && !S_ISDIR(now->st_mode))
		notes |= XPOLL_NOTE_ATTRIB;
	if (old->st_mode != now->st_mode || old->st_uid != now->st_uid ||
	    old->st_gid != now->st_gid ||
	    (!notes && !(told & XPOLL_NOTE_RENAME) &&
	     !xp_same_time(&old->st_ctim, &now->st_ctim)))
		notes |= XPOLL_NOTE_ATTRIB;
	return notes;
}

/* The notes for what was told of a file that looks like this now. */
static uint32_t notes_of(const struct xp_inode_user *user, uint32_t told,
                         const struct stat *now)
{
	uint32_t notes = told & ~(uint32_t)XPOLL_NOTE_DELETE;
	const struct stat *old = &user->last;
	uint32_t links = compare_links(user->as_bsd, old, now);

	if (told & XPOLL_NOTE_WRITE)
		notes |= compare_size(old, now);
	if (told & (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE))
		notes |= links;
	/* That one came for the names. */
	if (user->as_bsd && links && !S_ISDIR(now->st_mode) &&
	    !was_set(old, now))
		notes &= ~(uint32_t)XPOLL_NOTE_ATTRIB;
	if (told & (XP_TOLD_LOOK | XP_TOLD_LOST | XP_TOLD_ENDED))
		notes |= compare(user->as_bsd, told, old, now);
	if (told & XP_TOLD_LOST)
		notes |= SUSPECTED |
			(S_ISDIR(now->st_mode) ? SUSPECTED_OF_DIRECTORY : 0);
	return notes;
}

/*
 * What was not compared is left for the report that tells of it: it is still to
 * come, though the look that another one has caused has seen it already.
 */
static void remember(struct stat *last, uint32_t told, const struct stat *now)
{
	struct stat before = *last;

	*last = *now;
	if (told & (XP_TOLD_LOOK | XP_TOLD_LOST | XP_TOLD_ENDED))
		return;
	if (!(told & XPOLL_NOTE_WRITE))
		last->st_size = before.st_size;
	if (!(told & (XPOLL_NOTE_ATTRIB | XPOLL_NOTE_DELETE)))
		last->st_nlink = before.st_nlink;
}

static void user_list(struct xpoll *queue, struct xp_inodes *inodes,
                      struct xp_inode_user *user, bool timed)
{
	bool first = timed && xp_list_empty(&inodes->timed);

	xp_list_remove(&user->all);
	xp_list_append(timed ? &inodes->timed : &inodes->told, &user->all);
	if (first)
		xp_source_set_due(queue, XP_SOURCE_VNODE,
		                  xp_sys_now() + LOOK_EVERY_NS);
}

void xp_inode_by_time(struct xp_inodes *inodes, struct xp_inode_user *user)
{
	user_list(inodes->queue, inodes, user, true);
}

/* It is in another directory now, which has to tell of its end. */
static void user_moved(struct xpoll *queue, struct xp_inodes *inodes,
                       struct xp_inode_user *user)
{
	user_list(queue, inodes, user, xp_inode_follow(inodes, user) < 0);
}

/*
 * The kernel ended its watch: the inode is gone, or only its last name, if the
 * file was opened by another one.  A file with names is a new one then, which
 * got the numbers of the old.
 */
static bool user_survives(struct xpoll *queue, struct xp_inodes *inodes,
                          struct xp_inode_user *user, struct stat *now)
{
	int rc;

	if (now->st_nlink > 0)
		return false;
	rc = xp_inode_join(queue, inodes, user);
	user_list(queue, inodes, user, rc != 0);
	/* Nobody has told what happened in between. */
	return xp_sys_fstat(user->fd, now) == 0;
}

static void user_news(struct xpoll *queue, struct xp_inode_user *user,
                      uint32_t notes, bool lost)
{
	uint32_t written = XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND;
	uint32_t asked = notes & user->notes;

	if (S_ISDIR(user->last.st_mode))
		written |= XPOLL_NOTE_LINK;
	if (user->as_bsd && asked & written)
		asked |= notes & written;
	if (asked)
		user->ops->news(queue, user, asked, lost);
}

static void user_settle(struct xpoll *queue, struct xp_inodes *inodes,
                        struct xp_inode_user *user)
{
	uint32_t told = user->told;
	uint32_t notes = XPOLL_NOTE_REVOKE;
	struct stat now;
	bool gone;
	int rc;

	user->told = 0;
	if (told & XPOLL_NOTE_RENAME)
		user_moved(queue, inodes, user);
	rc = user_look(user, &now);
	gone = rc == -EBADF || rc == -ENOENT;
	if (!gone && rc == 0 && told & XP_TOLD_ENDED &&
	    !(told & XPOLL_NOTE_REVOKE))
		gone = !user_survives(queue, inodes, user, &now);
	if (gone) {
		user->ops->gone(queue, user);
		return;
	}
	/* Removed from where nobody listened yet: no report tells of its end. */
	if (rc == 0 && told & XPOLL_NOTE_RENAME && now.st_nlink == 0 &&
	    S_ISDIR(now.st_mode))
		told |= XPOLL_NOTE_DELETE;
	/* Open, and it cannot be looked at: its file system is gone. */
	if (rc == 0) {
		notes = notes_of(user, told, &now);
		remember(&user->last, told, &now);
	}
	user_news(queue, user, notes, told & XP_TOLD_LOST);
}

void xp_inodes_settle(struct xpoll *queue, struct xp_inodes *inodes)
{
	while (!xp_list_empty(&inodes->unsettled)) {
		struct xp_inode_user *user =
			XP_CONTAINER_OF(inodes->unsettled.next,
			                struct xp_inode_user, unsettled);

		xp_list_remove(&user->unsettled);
		user_settle(queue, inodes, user);
	}
}

void xp_inodes_due(struct xpoll *queue, int64_t now_ns, int room)
{
	struct xp_inodes *inodes = inodes_find(queue);
	struct xp_list *item;

	(void)room; /* No more events than registrations. */
	if (inodes->again)
		inodes->again(inodes);
	item = inodes->timed.next;
	for (; item != &inodes->timed; item = item->next)
		xp_inode_told(inodes, XP_CONTAINER_OF(item, struct xp_inode_user,
		                                      all), XP_TOLD_LOOK);
	xp_inodes_settle(queue, inodes);
	xp_source_set_due(queue, XP_SOURCE_VNODE,
	                  xp_list_empty(&inodes->timed) ? XP_NEVER
	                  : now_ns + LOOK_EVERY_NS);
}

/* A change came upon news of others: they are settled by the next wait. */
static void settle_soon(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (!xp_list_empty(&inodes->unsettled))
		xp_source_set_due(queue, XP_SOURCE_VNODE, xp_sys_now());
}

/* Those of others are reported by what they asked for up to now. */
static void settle_others(struct xpoll *queue, struct xp_inodes *inodes)
{
	if (inodes->watch.fd < 0)
		return;
	xp_inodes_harvest(inodes);
	xp_inodes_settle(queue, inodes);
}

/* May a file be looked at now and then, which the kernel does not tell of? */
static bool by_time(int rc, uint32_t notes, bool lenient)
{
	if (rc >= 0 || rc == -ESTALE || notes & ~(uint32_t)BY_LOOK)
		return false;
	return rc == -ENOTSUP || rc == -EPERM || lenient;
}

int xp_inode_watch(struct xpoll *queue, struct xp_inode_user *user, int fd,
                   uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_make(queue);
	int rc = xp_sys_fstat_born(fd, &user->last, &user->born_ns);
	bool timed;

	XP_ASSERT(user->ops && !user->self.inode);
	if (rc < 0 || !inodes)
		return rc < 0 ? rc : -ENOMEM;
	if (!xp_fs_is_file(fd, user->last.st_mode))
		return -EINVAL;
	if (!xp_fs_keeps_births(fd))
		user->born_ns = 0;
	xp_list_init(&user->all);
	xp_list_init(&user->unsettled);
	user->self.user = user;
	user->above.user = user;
	user->fd = fd;
	user->notes = notes;
	user->told = 0;
	user->hushed = 0;
	settle_others(queue, inodes);
	rc = xp_inode_join(queue, inodes, user);
	timed = rc > 0 || by_time(rc, notes, lenient);
	if (rc < 0 && !timed) {
		user->self.user = NULL;
		return rc;
	}
	/* What happened up to now is none of its business. */
	(void)xp_sys_fstat(fd, &user->last);
	user_list(queue, inodes, user, timed);
	settle_soon(queue, inodes);
	return 0;
}

int xp_inode_rewatch(struct xpoll *queue, struct xp_inode_user *user,
                     uint32_t notes, bool lenient)
{
	struct xp_inodes *inodes = inodes_find(queue);
	uint32_t before = user->notes;
	int rc = xp_inode_confirm(user);
	bool timed;

	if (rc < 0)
		return -ESTALE;
	user->notes = notes;
	user->hushed = 0;
	rc = xp_inode_join(queue, inodes, user);
	timed = rc > 0 || by_time(rc, notes, lenient);
	if (rc < 0 && !timed) {
		user->notes = before;
		return rc;
	}
	user_list(queue, inodes, user, timed);
	settle_soon(queue, inodes);
	return 0;
}

void xp_inode_listen(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);
	struct stat now;
	int rc;

	if (!user->hushed)
		return;
	user->hushed = 0;
	rc = xp_inode_join(queue, inodes, user);
	user_list(queue, inodes, user, rc != 0);
	settle_soon(queue, inodes);
	/* If it is another file, that is for the one who has named it to find. */
	if (user_look(user, &now) < 0)
		return;
	user_news(queue, user, compare(user->as_bsd, 0, &user->last, &now),
	          false);
	user->last = now;
}

void xp_inode_unwatch(struct xpoll *queue, struct xp_inode_user *user)
{
	struct xp_inodes *inodes = inodes_find(queue);

	if (!user->self.user || !inodes)
		return;
	xp_inode_leave(inodes, user);
	xp_list_remove(&user->all);
	xp_list_remove(&user->unsettled);
	user->self.user = NULL;
	settle_soon(queue, inodes);
}

int xp_inode_confirm(const struct xp_inode_user *user)
{
	struct stat now;
	int rc = user_look(user, &now);

	return rc == -EBADF || rc == -ENOENT ? rc : 0;
}

bool xp_inode_supports(uint32_t notes)
{
	return !(notes & ~(uint32_t)BY_LOOK) ||
		!(notes & ~xp_inodes_tellable());
}

/* Not watched any more; what it was told is forgotten. */
static void users_release(struct xp_list *list)
{
	while (!xp_list_empty(list)) {
		struct xp_inode_user *user =
			XP_CONTAINER_OF(list->next, struct xp_inode_user, all);

		xp_list_remove(&user->all);
		xp_list_remove(&user->unsettled);
		user->self.inode = NULL;
		user->above.inode = NULL;
		user->self.user = NULL;
		user->reserved = 0;
	}
}

void xp_inodes_fini(struct xpoll *queue, void *state)
{
	struct xp_inodes *inodes = state;

	(void)queue;
	users_release(&inodes->told);
	users_release(&inodes->timed);
	XP_ASSERT(xp_list_empty(&inodes->unsettled));
	xp_inodes_close(inodes);
	xp_free(inodes);
}

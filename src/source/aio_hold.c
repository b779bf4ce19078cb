/* Files that operations hold open: see aio_hold.h. */
#include "source/aio_hold.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "sys/process.h"
#include "sys/sys.h"

enum { HOLD_LISTS = 64 }; /* number of lists of held files */

typedef _Atomic(struct xp_aio_hold *) hold_link;

/*
 * A file that is held open for operations.  [I] immutable while it is in a list, [w] guarded by the
 * workers' lock.
 */
struct xp_aio_hold {
	hold_link next;       /* [w] the next file in its list */
	/* [I] device, inode and open flags, by which hold_is_usable finds the file */
	struct xp_file_id id;
	int program_fd;       /* [I] the descriptor that the program gave */
	/* [I] the library's duplicate of program_fd, which keeps the file open */
	int held_fd;
	int users;            /* [w] number of operations in progress that use held_fd */
};

/*
 * Lists of held files, selected by the program's descriptor.  Another thread may fork at any point,
 * and the child closes the duplicates that it finds in these lists.  So a file is linked after its
 * duplicate is opened and unlinked before the duplicate is closed: otherwise its number could be a
 * descriptor of the program by then, which the child would close.
 */
static hold_link holds[HOLD_LISTS];
/*
 * Files that no operation uses any more, but whose close might release record locks of the program:
 * the next xp_aio_hold_close tries to close them again.  Accessed without a lock.
 */
static hold_link holds_to_close_later;
/*
 * Files that the parent of this forked child held: xp_aio_hold_close_forked closes the duplicates
 * that the child has inherited.  Accessed without a lock.
 */
static hold_link holds_inherited;

static hold_link *hold_list(int number)
{
	return &holds[(unsigned)number % HOLD_LISTS];
}

/*
 * Returns true if a held file can be used for an operation on this descriptor: it is the same open
 * file, or the same inode opened with the same flags.  The flags of the held file are queried,
 * because fcntl(2) may have changed them since it was opened.
 */
static bool hold_is_usable(const struct xp_aio_hold *hold, int number,
                           const struct xp_file_id *id)
{
	return hold->program_fd == number && hold->id.inode == id->inode &&
		hold->id.device == id->device &&
		(xp_sys_file_is_held(number, hold->held_fd) ||
		 xp_sys_open_flags(hold->held_fd) == id->flags);
}

bool xp_aio_hold_may_exist(int fd)
{
	return *hold_list(fd) != NULL;
}

bool xp_aio_hold_lookup_id(int fd, struct xp_file_id *id)
{
	for (const struct xp_aio_hold *hold = *hold_list(fd); hold; hold = hold->next)
		if (hold->program_fd == fd && xp_sys_file_is_held(fd, hold->held_fd)) {
			*id = hold->id;
			return true;
		}
	return false;
}

int xp_aio_hold(int fd, const struct xp_file_id *id, struct xp_aio_hold **hold)
{
	hold_link *list = hold_list(fd);
	struct xp_aio_hold *made;

	for (*hold = *list; *hold; *hold = (*hold)->next)
		if (hold_is_usable(*hold, fd, id)) {
			(*hold)->users++;
			return (*hold)->held_fd;
		}
	made = xp_zalloc(sizeof *made);
	if (!made)
		return -ENOMEM;
	made->held_fd = xp_sys_file_hold(fd);
	if (made->held_fd < 0) {
		int rc = made->held_fd;

		xp_free(made);
		return rc == -ENOTSUP ? fd : rc;
	}
	made->id = *id;
	made->program_fd = fd;
	made->users = 1;
	made->next = *list;
	*list = made;
	*hold = made;
	return made->held_fd;
}

void xp_aio_hold_drop(struct xp_aio_hold *hold, struct xp_aio_hold **unused)
{
	hold_link *link;

	XP_ASSERT(!hold || hold->users > 0);
	if (!hold || --hold->users > 0)
		return;
	link = hold_list(hold->program_fd);
	while (*link != hold)
		link = &(*link)->next;
	*link = hold->next;
	hold->next = *unused;
	*unused = hold;
}

static void hold_push(hold_link *list, struct xp_aio_hold *hold)
{
	struct xp_aio_hold *first = *list;

	do
		hold->next = first;
	while (!atomic_compare_exchange_weak(list, &first, hold));
}

/*
 * Close the duplicates of a list of unused files.  A file whose close might release record locks of
 * the program is moved to holds_to_close_later instead.
 */
static void hold_close_all(struct xp_aio_hold *hold)
{
	while (hold) {
		struct xp_aio_hold *next = hold->next;

		if (xp_sys_file_let_go(hold->held_fd) == 0)
			xp_free(hold);
		else
			hold_push(&holds_to_close_later, hold);
		hold = next;
	}
}

void xp_aio_hold_close(struct xp_aio_hold *unused)
{
	if (atomic_load_explicit(&holds_to_close_later, memory_order_relaxed))
		hold_close_all(atomic_exchange(&holds_to_close_later, NULL));
	if (unused)
		hold_close_all(unused);
}

/* Move all held files of the list to holds_inherited. */
static void holds_move_to_inherited(hold_link *link)
{
	struct xp_aio_hold *hold = atomic_exchange(link, NULL);

	while (hold) {
		struct xp_aio_hold *next = hold->next;

		hold_push(&holds_inherited, hold);
		hold = next;
	}
}

void xp_aio_hold_init_process(void)
{
	for (int i = 0; i < HOLD_LISTS; i++)
		holds_move_to_inherited(&holds[i]);
	holds_move_to_inherited(&holds_to_close_later);
}

void xp_aio_hold_close_forked(void)
{
	struct xp_aio_hold *hold;

	/*
	 * Do not take the workers' lock: a thread of the parent may have held it during the fork.
	 * If this child was not initialised yet, the parent's files are still in `holds`: move
	 * them.
	 */
	if (xp_process_number() == 0)
		xp_aio_hold_init_process();
	hold = atomic_exchange(&holds_inherited, NULL);
	while (hold) {
		struct xp_aio_hold *next = hold->next;

		/* Record locks are not inherited by a forked child, so the close releases none. */
		xp_sys_close(hold->held_fd);
		xp_free(hold);
		hold = next;
	}
}

/*
 * Goal: VNODE when descriptors are closed, reused or duplicated (S7), with
 * xpoll_close_fd, and after fork (S26).
 * Method: close(2) and dup2(2), which the library does not see; xpoll_lookup
 * and the counters show what is registered.
 */
#include "vnode.h"

static bool registered(struct xpoll *queue, int fd)
{
	struct xpoll_event now;

	return xpoll_lookup(queue, (uint64_t)fd, VNODE, &now) == 0;
}

/* Returns false if a close is detected only by the next report, ADD or DELETE. */
static bool close_is_told(void)
{
	return !xt_sunos() && !xt_kqueue();
}

XT_TEST(closed_without_delete_ends_silently)
{
	if (!close_is_told())
		XT_SKIP("nobody is told of a close");

	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, ALL_NOTES));
	xt_close(file);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, file));
	XT_STATUS(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE), EBADF);
}

/*
 * The kernel's report is about the file, so it comes although the registered descriptor is closed.
 */
XT_TEST(closed_while_a_duplicate_is_open_ends_when_something_happens)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	xt_close(file);
	XT_NONE(queue);
	xt_put(copy);
	XT_NONE(queue);
	/* kqueue(2) has dropped its watch, and reports nothing more. */
	XT_CHECK(xt_kqueue() || !registered(queue, file));
}

XT_TEST(delete_of_a_closed_one_is_ebadf)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	xt_close(file);
	XT_STATUS(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE), EBADF);
	XT_CHECK(!registered(queue, file));
}

XT_TEST(number_used_again_is_not_reported_for_the_old_file)
{
	struct xpoll *queue = xt_open();
	int file = xt_make("f", "text");
	int other = xt_make("g", "text");

	XT_OK(vnode_add(queue, file, 0, QUIET_NOTES));
	xt_put(file);
	xt_number(other, file);
	/* Changes of the old file are not reported any more. */
	XT_NONE(queue);
	xt_put(file);
	XT_NONE(queue);
	XT_CHECK(xt_kqueue() || !registered(queue, file));
	XT_STATUS(xt_flag(queue, (uint64_t)file, VNODE, XPOLL_DELETE), ENOENT);
}

/*
 * Each descriptor was checked when its report was read, and has to be checked again before the
 * delivery.
 */
XT_TEST(what_found_no_room_is_not_reported_for_another_file)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event event = {0};
	int files[] = {xt_make("f", "text"), xt_make("g", "text")};
	int other = xt_make("h", "text");
	int left;

	for (int i = 0; i < 2; i++)
		XT_OK(vnode_add(queue, files[i], 0, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 2; i++)
		xt_put(files[i]);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	left = event.ident == (uint64_t)files[0] ? files[1] : files[0];
	xt_number(other, left);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, left));
}

/* S1: ADD of a reused descriptor makes a registration without the old state. */
XT_TEST(number_used_again_starts_clean_by_add)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now;
	int file = xt_make("f", "text");
	int other = xt_make("g", "text");
	int copy = xt_dup(file);

	XT_OK(vnode_add(queue, file, XPOLL_DISPATCH | XPOLL_DISABLE,
	                QUIET_NOTES));
	xt_put(file);
	xt_number(other, file);
	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(xpoll_lookup(queue, (uint64_t)file, VNODE, &now));
	XT_EXPECT_EQ(now.flags, XPOLL_CLEAR);
	XT_NONE(queue);
	xt_put(copy);
	XT_NONE(queue);
	xt_put(file);
	VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
}

/* A new file may get the inode number of a deleted one, but is not the same file. */
XT_TEST(file_made_anew_in_the_place_of_a_deleted_one_is_another)
{
	if (xt_sunos())
		XT_SKIP("nobody is told of a close");

	struct xpoll *queue = xt_open();
	struct xpoll_event now;

	for (int i = 0; i < 10; i++) {
		int file = xt_make("f", "text");

		XT_OK(vnode_add(queue, file, XPOLL_DISABLE, XPOLL_NOTE_WRITE));
		XT_OK(unlink(xt_name("f")));
		xt_close(file);
		int again = xt_make("f", "text");
		if (again != file)
			xt_number(again, file);
		XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
		XT_OK(xpoll_lookup(queue, (uint64_t)file, VNODE, &now));
		XT_EXPECT_EQ(now.flags, XPOLL_CLEAR);
		XT_NONE(queue);
		xt_put(file);
		VNODE_GETS(queue, file, XPOLL_NOTE_WRITE);
		xt_close(file);
	}
}

/* An event is pending when the descriptor is closed and reused. */
XT_TEST(pending_event_of_a_closed_file_is_dropped)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;
	int first = xt_make("f", "text");
	int second = xt_make("g", "text");

	XT_OK(vnode_add(queue, first, 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(queue, second, 0, XPOLL_NOTE_WRITE));
	xt_put(first);
	xt_put(second);
	/* Both reports were read from the kernel; one event is delivered. */
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
	int left = event.ident == (uint64_t)first ? second : first;
	int pipe = xt_pipe().r;
	xt_number(pipe, left);
	XT_NONE(queue);
	XT_CHECK(!registered(queue, left));
}

XT_TEST(close_fd_ends_it_exactly)
{
	struct xpoll *queue = xt_open();
	struct xpoll *other = xt_open();
	int file = xt_make("f", "text");
	int copy = xt_dup(file);

	XT_OK(vnode_add(queue, file, 0, XPOLL_NOTE_WRITE));
	XT_OK(vnode_add(other, file, 0, XPOLL_NOTE_WRITE));
	xt_put(file);
	XT_OK(xpoll_close_fd(file));
	XT_CHECK(!registered(queue, file) && !registered(other, file));
	xt_put(copy);
	XT_NONE(queue);
	XT_NONE(other);
	XT_OK(vnode_add(queue, copy, 0, XPOLL_NOTE_WRITE));
	XT_OK(xpoll_forget_fd(copy));
	xt_put(copy);
	XT_NONE(queue);
}

struct family {
	struct xpoll *queue;
	int file;
};

static void child_is_refused(void *argument)
{
	struct family *family = argument;
	struct xpoll_event event;

	XT_FAILS(xpoll_event(family->queue, NULL, 0, &event, 1, 0), EBADF);
	XT_STATUS(vnode_add(family->queue, family->file, 0, XPOLL_NOTE_WRITE),
	          EBADF);
	xpoll_destroy(family->queue);
}

/* S26: xpoll_destroy in a child does not affect the parent's queue. */
XT_TEST(forked_child_destroys_its_copy_and_the_parent_goes_on)
{
	XT_SINGLE_ONLY();
	struct family family = {xt_open_quiet(), xt_make("f", "text")};

	XT_OK(vnode_add(family.queue, family.file, 0, QUIET_NOTES));
	XT_CHECK(xt_child(child_is_refused, &family));
	XT_NONE(family.queue);
	xt_put(family.file);
	VNODE_GETS(family.queue, family.file,
	           XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
}

static void child_takes_over(void *argument)
{
	struct family *family = argument;

	XT_OK(xpoll_reinit(family->queue));
	/* In the child no event is pending from before the fork. */
	XT_NONE(family->queue);
	xt_put(family->file);
	VNODE_GETS(family->queue, family->file,
	           XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(xt_flag(family->queue, (uint64_t)family->file, VNODE,
	              XPOLL_DELETE));
	xpoll_destroy(family->queue);
}

XT_TEST(forked_child_takes_over_by_reinit)
{
	XT_SINGLE_ONLY();
	struct family family = {xt_open_quiet(), xt_make("f", "text")};

	XT_OK(vnode_add(family.queue, family.file, 0, QUIET_NOTES));
	xt_put(family.file);
	XT_CHECK(xt_child(child_takes_over, &family));
	VNODE_GETS(family.queue, family.file,
	           XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND);
	XT_OK(fchmod(family.file, 0600));
	VNODE_GETS(family.queue, family.file, XPOLL_NOTE_ATTRIB);
}

XT_TEST(queue_is_destroyed_with_events_pending)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < 20; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "f%d", i);
		int file = xt_make(name, "text");
		XT_OK(vnode_add(queue, file, 0, vnode_notes(queue)));
		xt_put(file);
	}
	xt_destroy(queue);
}

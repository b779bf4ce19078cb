/*
 * Goal: VNODE of a directory does not report a rename within the directory as a
 * move to another one, wherever a read separates the two inotify events of the
 * rename (S23).
 * Method: the read of inotify events is wrapped at link time.  It returns the
 * second events (IN_MOVED_TO) only after the library has waited for the
 * renames, which it does by looking up a name in the directory; until then
 * there is nothing to read.
 */
#include "xt.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include "linux/sys_linux.h"
#include "sys/sys.h"

#define NOTES (XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND)

static int instance = -1;
static _Alignas(struct inotify_event) char firsts[16384], seconds[16384];
static size_t firsts_len, seconds_len;
static bool waited;
static int waits;

XT_WRAP(xp_sys_inotify_open);
XT_WRAP(xp_sys_read);
XT_WRAP(xp_sys_readlink);

int __wrap_xp_sys_inotify_open(void)
{
	instance = __real_xp_sys_inotify_open();
	return instance;
}

/* Read the kernel's events, and keep the second halves of renames apart from the others. */
static void sort_reports(void)
{
	_Alignas(struct inotify_event) char bytes[8192];
	int rc = __real_xp_sys_read(instance, bytes, sizeof bytes);

	for (int at = 0; at < rc;) {
		const struct inotify_event *event = (const void *)(bytes + at);
		size_t size = sizeof *event + event->len;
		bool second = event->mask & IN_MOVED_TO;
		size_t *len = second ? &seconds_len : &firsts_len;

		memcpy((second ? seconds : firsts) + *len, event, size);
		*len += size;
		at += (int)size;
	}
}

static int hand_out(const char *bytes, size_t *len, void *buffer, size_t size)
{
	int rc = (int)*len;

	XT_EXPECT(*len <= size);
	memcpy(buffer, bytes, *len);
	*len = 0;
	return rc;
}

int __wrap_xp_sys_read(int fd, void *buffer, size_t size)
{
	if (fd != instance)
		return __real_xp_sys_read(fd, buffer, size);
	sort_reports();
	if (firsts_len > 0)
		return hand_out(firsts, &firsts_len, buffer, size);
	if (waited && seconds_len > 0)
		return hand_out(seconds, &seconds_len, buffer, size);
	return -EAGAIN;
}

int __wrap_xp_sys_readlink(const char *path, char *buffer, size_t size)
{
	int rc = __real_xp_sys_readlink(path, buffer, size);

	if (rc == -ENAMETOOLONG) {
		waited = true;
		waits++;
	}
	return rc;
}

static int directory(struct xpoll *queue, const char *name)
{
	int fd;

	XT_EXPECT_EQ(mkdir(xt_name(name), 0700), 0);
	fd = xt_keep(open(xt_name(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	XT_EXPECT_STATUS(xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD, NOTES, 0,
	                           NULL), 0);
	waited = false;
	waits = 0;
	return fd;
}

static void made(const char *name)
{
	xt_close(xt_make(name, ""));
}

static void reported(struct xpoll *queue, int fd, uint32_t notes)
{
	struct xpoll_event event;

	XT_GETS(queue, &event, fd, VNODE);
	XT_EXPECT_EQ(event.fflags, notes);
}

XT_TEST(rename_whose_halves_are_read_apart_is_no_move)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = directory(queue, "d");

	made("d/a");
	XT_CALL(reported(queue, fd, XPOLL_NOTE_WRITE));
	XT_OK(rename(xt_name("d/a"), xt_name("d/b")));
	XT_CALL(reported(queue, fd, XPOLL_NOTE_WRITE));
	XT_EXPECT_EQ(waits, 1);
	XT_NONE(queue);
}

/* Events of other renames between the two halves do not make the rename a move either. */
XT_TEST(renames_that_overlap_are_no_moves)
{
	struct xpoll *queue = xt_open_quiet();
	int one = directory(queue, "one");
	int two = directory(queue, "two");
	struct xpoll_event events[3];

	made("one/a");
	made("two/a");
	XT_EQ(xt_take(queue, events, 3, XT_SOON), 2);
	XT_OK(rename(xt_name("one/a"), xt_name("one/b")));
	XT_OK(rename(xt_name("two/a"), xt_name("two/b")));
	made("two/c");
	XT_EQ(xt_take(queue, events, 3, XT_SOON), 2);
	for (int i = 0; i < 2; i++)
		XT_EXPECT_EQ(events[i].fflags, XPOLL_NOTE_WRITE);
	XT_EXPECT(xt_find(events, 2, (uint64_t)one, VNODE) >= 0);
	XT_EXPECT(xt_find(events, 2, (uint64_t)two, VNODE) >= 0);
	XT_EXPECT_EQ(waits, 2);
	XT_NONE(queue);
}

/* All moves out of the directory that are read together cost one check of the directory. */
XT_TEST(moves_out_are_moves)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = directory(queue, "d");
	char from[16], to[16];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(from, sizeof from, "d/%d", i);
		made(from);
	}
	XT_CALL(reported(queue, fd, XPOLL_NOTE_WRITE));
	for (int i = 0; i < 5; i++) {
		(void)snprintf(from, sizeof from, "d/%d", i);
		(void)snprintf(to, sizeof to, "%d", i);
		XT_OK(rename(xt_name(from), xt_name(to)));
	}
	XT_CALL(reported(queue, fd, NOTES));
	XT_EXPECT_EQ(waits, 1);
	XT_OK(rename(xt_name("0"), xt_name("d/0")));
	XT_CALL(reported(queue, fd, NOTES));
	XT_EXPECT_EQ(waits, 1);
	XT_NONE(queue);
}

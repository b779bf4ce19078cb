/*
 * Goal: where memory or descriptors run out, a tree fails to open, or says what it may have
 * missed, and reports names again as soon as there is enough.
 * Method: one call after the other fails, of those that the library makes; the linker
 * has them go through here.
 */
#include "xt.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "place.h"

enum { MOST = 3 }; /* calls in a row that fail */

static int left = -1; /* calls until one fails; -1: none does */
static int failed;

static bool fails(int error)
{
	if (left < 0 || left-- > 0)
		return false;
	left = ++failed < MOST ? 0 : -1;
	errno = error;
	return true;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails(ENOMEM) ? NULL : __real_calloc(count, size);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails(ENOMEM) ? NULL : __real_malloc(size);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return fails(ENOMEM) ? NULL : __real_strdup(text);
}

static int files_to_fail; /* times that "file" cannot be opened; "closed" never can */

int __real_openat(int folder, const char *path, int flags);
int __wrap_openat(int folder, const char *path, int flags);
int __wrap_openat(int folder, const char *path, int flags)
{
	if (files_to_fail > 0 && strcmp(path, "file") == 0) {
		files_to_fail--;
		errno = EMFILE;
		return -1;
	}
	if (strcmp(path, "closed") == 0) {
		errno = EACCES;
		return -1;
	}
	return fails(EMFILE) ? -1 : __real_openat(folder, path, flags);
}

/* The same call where the compiler checks arguments (_FORTIFY_SOURCE). */
int __wrap___openat_2(int folder, const char *path, int flags);
int __wrap___openat_2(int folder, const char *path, int flags)
{
	return __wrap_openat(folder, path, flags);
}

int __real_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	return fails(ENOSPC) ? -1 : __real_inotify_add_watch(fd, path, mask);
}

static bool no_stream; /* the next stream of a directory is not opened */

DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd)
{
	if (!no_stream && !fails(ENOMEM))
		return __real_fdopendir(fd);
	no_stream = false;
	errno = ENOMEM;
	return NULL;
}

static int timers; /* how many were set */
static bool no_timers; /* the registration of a timer fails for lack of memory */

int __real_xpoll_event(struct xpoll *queue, const struct xpoll_event *changes, int count,
                       struct xpoll_event *events, int most, int64_t timeout_ns);
int __wrap_xpoll_event(struct xpoll *queue, const struct xpoll_event *changes, int count,
                       struct xpoll_event *events, int most, int64_t timeout_ns);
int __wrap_xpoll_event(struct xpoll *queue, const struct xpoll_event *changes, int count,
                       struct xpoll_event *events, int most, int64_t timeout_ns)
{
	struct xpoll_event known;

	for (int i = 0; i < count; i++) {
		if (changes[i].filter != XPOLL_FILT_TIMER)
			continue;
		timers++;
		if (no_timers &&
		    xpoll_lookup(queue, changes[i].ident, XPOLL_FILT_TIMER, &known) < 0) {
			errno = ENOMEM;
			return -1;
		}
	}
	return __real_xpoll_event(queue, changes, count, events, most, timeout_ns);
}

/* The changes of the scenario, during which calls fail. */
static void make_changes(void)
{
	XT_CHECK(put("a/1"));
	XT_EQ(mkdir(at("b"), 0777), 0);
	XT_CHECK(put("b/2"));
	XT_EQ(rename(at("a/0"), at("c")), 0);
	XT_EQ(rename(at("a"), at("d")), 0);
}

/* Changes until this name is reported, or LOOK says that any may have been missed. */
static bool learns(struct xpoll_tree *tree, const char *name, bool *look)
{
	struct xpoll_tree_change change;

	for (;;) {
		int rc = xpoll_tree_next(tree, &change, -1);

		if (rc < 0 && errno != ENOMEM)
			return XT_EXPECT_EQ(errno, ENOMEM);
		if (rc > 0 && change.kind == XPOLL_TREE_LOOK && !*change.path)
			*look = true;
		if (rc > 0 && change.kind == XPOLL_TREE_CREATE && strcmp(change.path, name) == 0)
			return true;
		if (rc > 0 && change.kind == XPOLL_TREE_CREATE && *look)
			continue;
	}
}

/* Returns false when there were fewer calls than that. */
static bool run(int number, bool while_opening)
{
	struct xpoll_tree *tree;
	bool look = false;

	(void)snprintf(root, sizeof root, "%s/%d-%d", xt_scratch(), number, while_opening);
	if (mkdir(root, 0777) < 0 || mkdir(at("a"), 0777) < 0)
		return XT_EXPECT(!"mkdir");
	XT_EXPECT(put("a/0"));
	failed = 0;
	left = while_opening ? number : -1;
	tree = xpoll_tree_open(root, NULL);
	if (!tree) {
		XT_EXPECT(failed > 0 && (errno == ENOMEM || errno == EMFILE || errno == ENOSPC));
		left = -1;
		return failed > 0;
	}
	if (!while_opening) {
		make_changes();
		left = number;
		XT_EXPECT(put("first"));
		while (left >= 0 && failed < MOST) {
			struct xpoll_tree_change change;
			int rc = xpoll_tree_next(tree, &change, 20000000);

			if (rc == 0)
				break;
			look |= rc > 0 && change.kind == XPOLL_TREE_LOOK;
		}
	}
	bool all = failed > 0;
	left = -1;
	XT_EXPECT(put("zz"));
	XT_EXPECT(learns(tree, "zz", &look));
	xpoll_tree_close(tree);
	return all;
}

XT_TEST(tree_that_lacks_memory_or_descriptors_at_first_works_later)
{
	int number = 0;

	while (run(number, true) && xt_failures() == 0)
		number++;
	xt_note("%d calls", number);
	XT_CHECK(number > 10);
}

XT_TEST(tree_that_lacks_memory_or_descriptors_later_works_again)
{
	int number = 0;

	while (run(number, false) && xt_failures() == 0)
		number++;
	xt_note("%d calls", number);
	XT_CHECK(number > 20);
}

XT_TEST(tree_reads_a_directory_whose_first_stream_lacked_memory)
{
	bool look = false;

	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_CHECK(put("a/0"));
	no_stream = true;
	struct xpoll_tree *tree = xpoll_tree_open(root, NULL);
	XT_CHECK(tree && !no_stream);
	XT_CHECK(put("a/y"));
	XT_CHECK(learns(tree, "a/y", &look));
	xpoll_tree_close(tree);
}

/* Renames whose other report does not come wait together, and new is entered meanwhile. */
XT_TEST(tree_waits_once_for_many_renames_that_have_no_second_report)
{
	enum { FILES = 400 };
	char from[32], to[32];

	XT_CALL(make_root());
	XT_EQ(mkdir(at("old"), 0777), 0);
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(from, sizeof from, "old/%d", i);
		XT_CHECK(put(from));
	}
	struct xpoll_tree *tree = xpoll_tree_open(root, NULL);
	XT_CHECK(tree);
	timers = 0;
	XT_EQ(mkdir(at("new"), 0777), 0);
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(from, sizeof from, "old/%d", i);
		(void)snprintf(to, sizeof to, "new/%d", i);
		XT_EQ(rename(at(from), at(to)), 0);
	}
	for (int came = 0, went = 0; came < FILES || went < FILES;) {
		struct xpoll_tree_change change;

		XT_EQ(xpoll_tree_next(tree, &change, -1), 1);
		came += change.kind == XPOLL_TREE_CREATE && strncmp(change.path, "new/", 4) == 0;
		went += change.kind == XPOLL_TREE_DELETE && strncmp(change.path, "old/", 4) == 0;
	}
	XT_EXPECT(timers > 0 && timers < 10);
	xpoll_tree_close(tree);
}

/* The timer of the next attempt takes no memory when there is none. */
XT_TEST(tree_tries_again_though_no_timer_can_be_made)
{
	struct xpoll_tree_change change;

	XT_CALL(make_root());
	struct xpoll_tree *tree = xpoll_tree_open(root, NULL);
	XT_CHECK(tree);
	no_timers = true;
	XT_EQ(mkdir(at("new"), 0777), 0);
	XT_CHECK(put("new/file"));
	no_stream = true;
	do
		XT_EQ(xpoll_tree_next(tree, &change, XT_SOON), 1);
	while (strcmp(change.path, "new/file") != 0);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_CREATE);
	no_timers = false;
	xpoll_tree_close(tree);
}

/* Where a file takes a descriptor, it is tried again, and reported as unwatched once. */
XT_TEST(tree_watches_a_file_later_that_lacked_a_descriptor)
{
	struct xpoll_tree_options options = {.size = sizeof options, .notes = XPOLL_NOTE_WRITE};
	int unwatched = 0;
	bool changed = false;

	XT_CALL(make_root());
	XT_EQ(mkdir(at("a"), 0777), 0);
	XT_CHECK(put("a/file"));
	files_to_fail = 2;
	struct xpoll_tree *tree = xpoll_tree_open(root, &options);
	XT_CHECK(tree);
	bool takes = files_to_fail < 2;
	while (!changed || unwatched < takes) {
		struct xpoll_tree_change change;
		int fd = open(at("a/file"), O_WRONLY | O_APPEND | O_CLOEXEC);

		XT_CHECK(fd >= 0 && write(fd, "x", 1) == 1);
		close(fd);
		if (xpoll_tree_next(tree, &change, 20000000) != 1)
			continue;
		unwatched += change.kind == XPOLL_TREE_UNWATCHED;
		XT_CHECK(strcmp(change.path, "a/file") == 0);
		changed |= change.kind == XPOLL_TREE_CHANGE;
	}
	XT_EXPECT_EQ(unwatched, takes);
	XT_EXPECT_EQ(files_to_fail, takes ? 0 : 2);
	files_to_fail = 0;
	xpoll_tree_close(tree);
}

/*
 * A directory that was found unwatched when the tree was opened makes the tree's descriptor
 * readable.
 */
XT_TEST(tree_has_a_readable_descriptor_if_a_directory_is_unwatched_at_first)
{
	struct pollfd poll_fd = {.events = POLLIN};
	struct xpoll_tree_change change;

	XT_CALL(make_root());
	XT_EQ(mkdir(at("closed"), 0777), 0);
	struct xpoll_tree *tree = xpoll_tree_open(root, NULL);
	XT_CHECK(tree);
	poll_fd.fd = xpoll_tree_fd(tree);
	XT_CHECK(poll_fd.fd >= 0);
	XT_EQ(poll(&poll_fd, 1, -1), 1);
	XT_EQ(xpoll_tree_next(tree, &change, 0), 1);
	XT_EXPECT_EQ(change.kind, XPOLL_TREE_UNWATCHED);
	XT_EXPECT_EQ(change.error, EACCES);
	XT_EQ(xpoll_tree_next(tree, &change, 0), 0);
	XT_EQ(poll(&poll_fd, 1, 0), 0);
	xpoll_tree_close(tree);
}

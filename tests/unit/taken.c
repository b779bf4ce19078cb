/*
 * Goal: a report that its file makes only once, like that of a Windows
 * semaphore, is delivered whatever the program changes before the waiting
 * thread has the lock again.
 * Method: a back end of the test for files that count their signals; each
 * report consumes one.  The files are in /proc, because the queue expects such
 * reports of those.
 */
#include "xt.h"

#include <fcntl.h>

#include "base/time.h"
#include "posix/system.h"
#include "sys/backend.h"
#include "sys/system.h"

enum { FILES = 3 };

static struct file {
	int fd;
	uint32_t watch;
	uint64_t token;
	int signals;
} files[FILES];

static struct xpoll *queue;
/*
 * Called between the report of the next sleep and its delivery: makes changes like another thread.
 */
static void (*meanwhile)(void);

static struct file *file_of(int fd)
{
	for (int i = 0; i < FILES; i++)
		if (files[i].fd == fd)
			return &files[i];
	return NULL;
}

static int taking_change(void *state, int fd, uint32_t watch, uint64_t token)
{
	struct file *file = file_of(fd);

	(void)state;
	if (watch & XP_WATCH_EDGE)
		return -ENOTSUP;
	file->watch = watch & XP_WATCH_BITS;
	file->token = token;
	return 0;
}

static int taking_attach(void *state, int fd, uint32_t watch, uint64_t token)
{
	return file_of(fd)->token ? -EEXIST : taking_change(state, fd, watch, token);
}

static int taking_detach(void *state, int fd)
{
	(void)state;
	file_of(fd)->token = 0;
	file_of(fd)->watch = 0;
	return 0;
}

static int taking_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                       struct xp_fired *fired, int cap)
{
	int count = 0;

	(void)state, (void)mask;
	for (int i = 0; i < FILES && count < cap; i++) {
		if (!(files[i].watch & POLLIN) || files[i].signals == 0)
			continue;
		files[i].signals--;
		fired[count++] = (struct xp_fired){
			.token = files[i].token,
			.events = POLLIN,
		};
	}
	if (deadline_ns != XP_NOW && deadline_ns != XP_NOW_CONTINUED && meanwhile) {
		void (*change)(void) = meanwhile;

		meanwhile = NULL;
		change();
	}
	return count;
}

static struct xp_backend_ops taking;
const struct xp_system xp_system = {.backends = {&taking}};

/* A constructor, because the harness looks for the back end by name before it runs tests. */
__attribute__((constructor)) static void taking_make(void)
{
	taking = xp_backend_poll;
	taking.caps = XP_CAP_CONCURRENT | XP_CAP_FREE_CHANGE | XP_CAP_EXCEPT;
	taking.attach = taking_attach;
	taking.change = taking_change;
	taking.detach = taking_detach;
	taking.wait = taking_wait;
}

static void begin(void)
{
	queue = xt_open_quiet();
	for (int i = 0; i < FILES; i++) {
		files[i] = (struct file){.fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC)};
		XT_OK(xt_add(queue, xt_keep(files[i].fd), READ, 0));
	}
}

static int events_of(int file, int room, int64_t timeout_ns)
{
	struct xpoll_event events[8];
	int rc = xpoll_event(queue, NULL, 0, events, room, timeout_ns);

	XT_EXPECT(rc >= 0);
	return rc >= 0 && xt_find(events, rc, (uint64_t)files[file].fd, READ) >= 0;
}

static void change(int file, int flags)
{
	XT_EXPECT_EQ(xt_flag(queue, (uint64_t)files[file].fd, READ, flags), 0);
}

static void disable_and_enable(void)
{
	change(0, XPOLL_DISABLE);
	change(0, XPOLL_ENABLE);
}

static void disable(void)
{
	change(0, XPOLL_DISABLE);
}

XT_TEST(report_older_than_an_enable_is_delivered)
{
	XT_CALL(begin());
	files[0].signals = 1;
	meanwhile = disable_and_enable;
	XT_EXPECT_EQ(events_of(0, 8, XT_SOON), 1);
	XT_EXPECT_EQ(events_of(0, 8, 0), 0);
}

XT_TEST(report_older_than_a_disable_waits_for_enable)
{
	XT_CALL(begin());
	files[0].signals = 1;
	meanwhile = disable;
	XT_EXPECT_EQ(events_of(0, 8, 1), 0);
	XT_EXPECT_EQ(events_of(0, 8, 0), 0);
	change(0, XPOLL_ENABLE);
	XT_EXPECT_EQ(events_of(0, 8, 0), 1);
	XT_EXPECT_EQ(events_of(0, 8, 0), 0);
}

XT_TEST(report_older_than_a_disable_waits_for_add)
{
	XT_CALL(begin());
	files[0].signals = 1;
	meanwhile = disable;
	XT_EXPECT_EQ(events_of(0, 8, 1), 0);
	XT_OK(xt_add(queue, files[0].fd, READ, XPOLL_ENABLE));
	XT_EXPECT_EQ(events_of(0, 8, 0), 1);
	XT_EXPECT_EQ(events_of(0, 8, 0), 0);
}

static void trigger(void)
{
	XT_EXPECT_EQ(xt_change(queue, 1, XPOLL_FILT_USER, XPOLL_ADD | XPOLL_CLEAR,
	                       XPOLL_NOTE_TRIGGER, 0, NULL), 0);
}

/*
 * With an event that needs no report, the queue requests more reports than it has room for: one is
 * left.
 */
static void leave_a_report_without_room(void)
{
	struct xpoll_event events[2];

	trigger();
	files[0].signals = files[1].signals = 1;
	XT_EXPECT_EQ(xpoll_event(queue, NULL, 0, events, 2, 0), 2);
	XT_EXPECT_EQ(files[1].signals, 0);
	XT_EXPECT(xt_find(events, 2, (uint64_t)files[1].fd, READ) < 0);
}

XT_TEST(report_without_room_waits_for_enable)
{
	XT_CALL(begin());
	leave_a_report_without_room();
	change(1, XPOLL_DISABLE);
	XT_EXPECT_EQ(events_of(1, 8, 0), 0);
	change(1, XPOLL_ENABLE);
	XT_EXPECT_EQ(events_of(1, 8, 0), 1);
	XT_EXPECT_EQ(events_of(1, 8, 0), 0);
}

XT_TEST(report_without_room_ends_with_its_registration)
{
	XT_CALL(begin());
	leave_a_report_without_room();
	change(1, XPOLL_DELETE);
	XT_OK(xt_add(queue, files[1].fd, READ, 0));
	XT_EXPECT_EQ(events_of(1, 8, 0), 0);
}

/*
 * Each signal causes one event, even if the array is often full, and if changes are made in
 * between.
 */
XT_TEST(each_signal_is_one_event)
{
	enum { EACH = 20 };
	struct xpoll_event events[8];
	int delivered = 0, count;

	XT_CALL(begin());
	for (int i = 0; i < FILES; i++)
		files[i].signals = EACH;
	for (int round = 0; round < 2 * FILES * EACH; round++) {
		trigger();
		meanwhile = round % 3 == 1 ? disable : NULL;
		count = xpoll_event(queue, NULL, 0, events, 1 + round % 4, round % 2);
		XT_CHECK(count >= 1);
		for (int i = 0; i < count; i++)
			delivered += events[i].filter == READ;
		for (int i = 0; i < FILES && round % 3 == 0; i++)
			change(i, round % 2 ? XPOLL_DISABLE : XPOLL_ENABLE);
	}
	meanwhile = NULL;
	for (int i = 0; i < FILES; i++)
		change(i, XPOLL_ENABLE);
	while ((count = xpoll_event(queue, NULL, 0, events, 8, 0)) > 0)
		for (int i = 0; i < count; i++)
			delivered += events[i].filter == READ;
	XT_EXPECT_EQ(delivered, FILES * EACH);
}

/* The call delivers the first report of the file, so the second one is left for the next call. */
XT_TEST(second_report_in_a_call_comes_with_the_next)
{
	XT_CALL(begin());
	leave_a_report_without_room();
	trigger();
	files[1].signals = 1;
	XT_EXPECT_EQ(events_of(1, 8, 0), 1);
	XT_EXPECT_EQ(files[1].signals, 0);
	XT_EXPECT_EQ(events_of(1, 8, 0), 1);
	XT_EXPECT_EQ(events_of(1, 8, 0), 0);
}

/*
 * The poll-like level has found a level-triggered filter, which is disabled before xpoll_revents
 * returns it.
 */
static void disabled_before_it_is_taken(bool asks)
{
	void *data;

	XT_CALL(begin());
	files[0].signals = 1;
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 1);
	change(0, XPOLL_DISABLE);
	if (asks)
		XT_EXPECT_EQ(xpoll_revents(queue, &data), 0);
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 0);
	change(0, XPOLL_ENABLE);
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 1);
	XT_EXPECT_EQ(xpoll_revents(queue, &data), POLLIN);
	XT_EXPECT_EQ(xpoll_wait(queue, 0), 0);
}

XT_TEST(report_disabled_before_xpoll_revents_waits_for_enable)
{
	XT_CALL(disabled_before_it_is_taken(true));
	XT_CALL(disabled_before_it_is_taken(false));
}

/*
 * Goal: when the system lacks memory or watches at an inconvenient time, the queue returns an
 * error, keeps its registrations, and loses no event (S18).  Each case was a bug once.
 * Method: the calls are wrapped at link time, and fail when the test wants it.
 */
#include "xt.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "linux/sys_linux.h"
#include "sys/sys.h"

static int add_passes = -1; /* number of ADDs that succeed; -1: all */
static int adds;            /* number of ADDs that failed */
static bool put_fails;
static bool look_fails;
static short look_fails_for; /* fail probes for these bits only; 0: none */
static int stat_fails; /* number of fstat(2) that fail */
static void (*before_look)(void); /* called once, before the next fstat(2) */

XT_WRAP(xp_sys_epoll_ctl);
int __wrap_xp_sys_epoll_ctl(int epoll_fd, int op, int fd, uint32_t events, uint64_t token)
{
	int rc = __real_xp_sys_epoll_ctl(epoll_fd, op, fd, events, token);

	/* An ADD of an existing entry needs no memory: it fails with EEXIST in any case. */
	if (op != EPOLL_CTL_ADD || rc < 0 || add_passes < 0)
		return rc;
	if (add_passes > 0) {
		add_passes--;
		return rc;
	}
	(void)__real_xp_sys_epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, 0, 0);
	adds++;
	return -ENOSPC;
}

XT_WRAP(xp_sys_dup_to);
int __wrap_xp_sys_dup_to(int fd, int number)
{
	return put_fails ? -EBUSY : __real_xp_sys_dup_to(fd, number);
}

XT_WRAP(xp_sys_poll_now);
int __wrap_xp_sys_poll_now(struct pollfd *fds, size_t count)
{
	bool fails = look_fails ||
		(look_fails_for && count == 1 && fds->events == look_fails_for);

	return fails ? -ENOMEM : __real_xp_sys_poll_now(fds, count);
}

static bool stat_is_let_through(void)
{
	if (before_look) {
		void (*happens)(void) = before_look;

		before_look = NULL;
		happens();
	}
	if (stat_fails == 0)
		return true;
	stat_fails--;
	return false;
}

XT_WRAP(xp_sys_fstat);
int __wrap_xp_sys_fstat(int fd, struct stat *status)
{
	return stat_is_let_through() ? __real_xp_sys_fstat(fd, status) : -ENOMEM;
}

XT_WRAP(xp_sys_fstat_born);
int __wrap_xp_sys_fstat_born(int fd, struct stat *status, int64_t *born_ns)
{
	return stat_is_let_through()
	           ? __real_xp_sys_fstat_born(fd, status, born_ns)
	           : -ENOMEM;
}

/* Reset all faults, because an earlier test may have returned before it did so. */
static void all_is_well(void)
{
	add_passes = -1;
	adds = 0;
	put_fails = false;
	look_fails = false;
	look_fails_for = 0;
	stat_fails = 0;
	before_look = NULL;
}

/* Collect the notes of VNODE events until these have come, or the time is up. */
static uint32_t notes_until(struct xpoll *queue, uint32_t wanted)
{
	struct xpoll_event event;
	uint32_t notes = 0;

	while ((notes & wanted) != wanted && xpoll_event(queue, NULL, 0, &event, 1, XT_SOON) == 1)
		notes |= event.fflags;
	return notes;
}

static void remove_directory(void)
{
	XT_OK(rmdir(xt_name("d")));
}

/* The check for an earlier report finds the directory removed; NOTE_DELETE must still come. */
XT_TEST(directory_removed_before_a_look_for_another_reason_is_told)
{
	struct xpoll *queue = xt_open_quiet();
	uint32_t notes = XPOLL_NOTE_WRITE | XPOLL_NOTE_DELETE;

	all_is_well();
	XT_OK(mkdir(xt_name("d"), 0755));
	xt_close(xt_make("d/f", ""));
	int fd = xt_open_path(xt_name("d"), O_RDONLY | O_DIRECTORY);
	XT_OK(xt_change(queue, (uint64_t)fd, VNODE, XPOLL_ADD, notes, 0, NULL));
	XT_OK(unlink(xt_name("d/f")));
	before_look = remove_directory;
	XT_EXPECT_EQ(notes_until(queue, notes), notes);
}

static int grown;

static void grow(void)
{
	XT_EQ(write(grown, "more", 4), 4);
}

XT_TEST(file_grown_before_a_look_for_another_reason_is_told)
{
	struct xpoll *queue = xt_open_quiet();
	uint32_t notes = XPOLL_NOTE_ATTRIB | XPOLL_NOTE_WRITE | XPOLL_NOTE_EXTEND;

	all_is_well();
	grown = xt_file("");
	XT_OK(xt_change(queue, (uint64_t)grown, VNODE, XPOLL_ADD, notes, 0, NULL));
	XT_EQ(fchmod(grown, 0600), 0);
	XT_EQ(fchmod(grown, 0640), 0);
	before_look = grow;
	XT_EXPECT_EQ(notes_until(queue, notes), notes);
}

/* Ready pipes and the mount table, with room for one event: each mount must be delivered. */
static void child_mounts(void *argument)
{
	enum { OTHERS = 5 };
	struct xpoll *queue = argument;
	struct xpoll_event event;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		xt_note("mounts cannot be changed here");
		return;
	}
	XT_EQ(xpoll_reinit(queue), 0);
	for (int i = 0; i < OTHERS; i++) {
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_OK(xt_add(queue, pipe.r, READ, 0));
	}
	int table = xt_open_path("/proc/self/mountinfo", O_RDONLY);
	XT_OK(xt_add(queue, table, EXCEPT, 0));
	/* `bad` selects the wait whose probe fails; one of them probes what did not fit before. */
	for (int bad = 0; bad < 2 * OTHERS; bad++) {
		bool told = false;

		XT_EQ(bad % 2 ? umount("/mnt") : mount("none", "/mnt", "tmpfs", 0, NULL), 0);
		for (int i = 0; i < 10 * OTHERS && !told; i++) {
			look_fails = i == bad;
			if (xpoll_event(queue, NULL, 0, &event, 1, XT_SOON) > 0)
				told = event.ident == (uint64_t)table;
		}
		look_fails = false;
		XT_EXPECT(told);
	}
}

XT_TEST(look_that_fails_does_not_take_news_away)
{
	all_is_well();
	XT_CHECK(xt_child(child_mounts, xt_open_quiet()));
}

XT_TEST(file_whose_status_fails_is_ready_and_stays)
{
	struct xpoll *queue = xt_open_quiet();
	int fd = xt_file("text");
	struct xpoll_event now;

	all_is_well();
	XT_OK(xt_add(queue, fd, READ, 0));
	XT_GETS(queue, NULL, fd, READ);
	stat_fails = 1;
	XT_GETS(queue, NULL, fd, READ);
	XT_EQ(stat_fails, 0);
	XT_EQ(xpoll_lookup(queue, (uint64_t)fd, READ, &now), 0);
	XT_GETS(queue, NULL, fd, READ);
}

/* If poll(2) fails, the result of select(2) suffices; for some files it is the only one. */
XT_TEST(look_that_fails_does_not_hide_what_select_has_found)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_pipe();
	struct xpoll_event event;

	all_is_well();
	if (!xt_is("select"))
		return;
	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_NONE(queue);
	xt_put(pair.w);
	look_fails = true;
	int count = xpoll_event(queue, NULL, 0, &event, 1, 0);
	look_fails = false;
	XT_EQ(count, 1);
	XT_EQ(event.ident, pair.r);
}

/* CLEAR moves it from the array into the helper set; if that has no room, nothing changes. */
XT_TEST(clear_that_cannot_be_had_leaves_the_level)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_pipe();
	struct xpoll_event now;

	all_is_well();
	XT_OK(xt_add(queue, pair.r, READ, 0));
	add_passes = 0;
	int status = xt_add(queue, pair.r, READ, XPOLL_CLEAR);
	add_passes = -1;
	/* epoll changes the existing entry, which needs no memory. */
	XT_EQ(status, xt_is("epoll") ? 0 : ENOSPC);
	XT_EQ(xpoll_lookup(queue, (uint64_t)pair.r, READ, &now), 0);
	XT_EQ(now.flags & XPOLL_CLEAR, status ? 0 : XPOLL_CLEAR);
	xt_put(pair.w);
	XT_GETS(queue, NULL, pair.r, READ);
}

/* A queue in which READ of a new socket is registered with these flags; not on epoll: NULL. */
static struct xpoll *with_read(struct xt_pair *pair, int op, uint32_t notes)
{
	struct xpoll *queue = xt_open_quiet();

	all_is_well();
	*pair = xt_socketpair(SOCK_STREAM);
	XT_EXPECT_STATUS(xt_change(queue, (uint64_t)pair->r, READ, op, notes, 0, NULL), 0);
	return xt_is("epoll") ? queue : NULL;
}

XT_TEST(exclusive_that_cannot_be_put_back_fails_the_wait_until_it_is)
{
	struct xt_pair pair;
	struct xpoll *queue = with_read(&pair, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE);
	uint64_t ident = (uint64_t)pair.r;
	struct xpoll_event event;

	if (!queue)
		return;
	/* The change deletes the entry from the epoll set, and then fails to add it again. */
	add_passes = 0;
	XT_STATUS(xt_change(queue, ident, WRITE, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE, 0, NULL), ENOSPC);
	XT_FAILS(xpoll_lookup(queue, ident, WRITE, &event), ENOENT);
	XT_FAILS(xpoll_event(queue, NULL, 0, &event, 1, 0), ENOSPC);
	add_passes = -1;
	xt_put(pair.w);
	XT_GETS(queue, NULL, ident, READ);
}

/* EPOLLEXCLUSIVE cannot be set by MOD: the entry is deleted, and adding it again fails. */
XT_TEST(add_that_makes_an_entry_exclusive_and_fails_keeps_the_level)
{
	struct xt_pair pair;
	struct xpoll *queue = with_read(&pair, XPOLL_ADD, 0);
	uint64_t ident = (uint64_t)pair.r;

	if (!queue)
		return;
	add_passes = 0;
	XT_STATUS(xt_change(queue, ident, READ, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE, 0, NULL), ENOSPC);
	add_passes = -1;
	xt_put(pair.w);
	XT_GETS(queue, NULL, ident, READ);
}

XT_TEST(exclusive_that_a_check_cannot_make_level_again_is_not_forgotten)
{
	struct xt_pair pair;
	struct xpoll *queue = with_read(&pair, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE);
	uint64_t ident = (uint64_t)pair.r;
	struct xpoll_event event;

	if (!queue)
		return;
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	xt_put(pair.w);
	XT_GETS(queue, NULL, ident, READ);
	add_passes = 0;
	(void)xpoll_event(queue, NULL, 0, &event, 1, 0);
	XT_EXPECT(adds > 0);
	add_passes = -1;
	XT_GETS(queue, NULL, ident, READ);
}

/* DISABLE changes an exclusive filter's entry; the filter is disabled even if that fails. */
XT_TEST(disable_of_an_exclusive_succeeds_without_room)
{
	struct xt_pair pair;
	struct xpoll *queue = with_read(&pair, XPOLL_ADD, XPOLL_NOTE_EXCLUSIVE);
	uint64_t ident = (uint64_t)pair.r;

	if (!queue)
		return;
	add_passes = 0;
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_EXPECT_EQ(adds, 1);
	add_passes = -1;
	xt_put(pair.w);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, ident, READ);
}

/* The library may need a new entry here, or not; if the change fails, nothing has changed. */
XT_TEST(add_to_a_disabled_exclusive_is_made_or_changes_nothing)
{
	struct xt_pair pair;
	struct xpoll *queue = with_read(&pair, XPOLL_ADD | XPOLL_DISABLE, XPOLL_NOTE_EXCLUSIVE);
	uint64_t ident = (uint64_t)pair.r;
	struct xpoll_event now;

	if (!queue)
		return;
	add_passes = 0;
	int status = xt_change(queue, ident, WRITE, XPOLL_ADD, 0, 0, NULL);
	add_passes = -1;
	XT_EXPECT(status == 0 || status == ENOSPC);
	XT_EXPECT_EQ(xpoll_lookup(queue, ident, WRITE, &now), status ? -1 : 0);
	XT_EQ(xpoll_lookup(queue, ident, READ, &now), 0);
	XT_EXPECT(now.flags & XPOLL_DISABLE);
	XT_EQ(xt_stats(queue).registered, status ? 1 : 2);
	xt_put(pair.w);
	if (status)
		XT_NONE(queue);
	else
		XT_GETS(queue, NULL, ident, WRITE);
}

/* A queue with a dead entry, kept in the set by a duplicate until the set is renewed. */
struct graves {
	struct xpoll *queue;
	struct xt_pair living;
	struct xt_pair dead;
	int file;
};

static void graves_dig(struct graves *graves)
{
	graves->queue = xt_open_quiet();
	graves->living = xt_pipe();
	graves->dead = xt_pipe();
	graves->file = xt_file("");
	XT_OK(xt_add(graves->queue, graves->living.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(graves->queue, graves->dead.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(graves->queue, graves->file, READ, 0));
	(void)xt_dup(graves->dead.r);
	xt_close(graves->dead.r);
	xt_number(xt_eventfd(), graves->dead.r);
	/* The descriptor is reused, so EPOLL_CTL_DEL could not delete the old file's entry. */
	XT_OK(xt_add(graves->queue, graves->dead.r, READ, XPOLL_CLEAR));
}

/* Report the dead entry until the set is renewed: 1; otherwise returns the wait's result. */
static int graves_open(struct graves *graves)
{
	uint64_t before = xt_stats(graves->queue).rebuilds;
	struct xpoll_event event;
	int rc = 0;

	for (int i = 0; i < 64 && rc == 0; i++) {
		if (xt_stats(graves->queue).rebuilds != before)
			return 1;
		xt_put(graves->dead.w);
		rc = xpoll_event(graves->queue, NULL, 0, &event, 1, 0);
	}
	return rc;
}

XT_TEST(renewal_without_room_for_watches_fails_the_wait_and_loses_nothing)
{
	struct graves graves;
	struct xpoll_event event;

	all_is_well();
	if (!xt_is("epoll"))
		return;
	XT_CALL(graves_dig(&graves));
	add_passes = 1; /* the new set's own first entry */
	errno = 0;
	XT_EQ(graves_open(&graves), -1);
	XT_EQ(errno, ENOSPC);
	XT_EXPECT(adds > 0);
	XT_FAILS(xpoll_event(graves.queue, NULL, 0, &event, 1, 0), ENOSPC);
	add_passes = -1;
	XT_NONE(graves.queue);
	xt_put(graves.living.w);
	XT_GETS(graves.queue, NULL, graves.living.r, READ);
}

XT_TEST(renewal_that_fails_keeps_the_old_set_and_what_watches_it)
{
	struct graves graves;

	all_is_well();
	if (!xt_is("epoll"))
		return;
	XT_CALL(graves_dig(&graves));
	int outer = xpoll_fd(graves.queue);
	XT_CHECK(outer >= 0);
	put_fails = true;
	XT_EQ(graves_open(&graves), 0);
	XT_EQ(xt_stats(graves.queue).rebuilds, 0);
	put_fails = false;
	xt_put(graves.living.w);
	XT_EQ(xt_poll(outer, POLLIN), POLLIN);
	XT_GETS(graves.queue, NULL, graves.living.r, READ);
}

/* A renewal wakes all sleeping threads, for the new set; if it fails, none must be woken. */
XT_TEST(renewal_that_fails_wakes_nobody)
{
	struct xt_sleeper sleepers[2];
	struct xt_thread *threads[2];
	struct graves graves;

	all_is_well();
	if (!xt_is("epoll"))
		return;
	XT_CALL(graves_dig(&graves));
	put_fails = true;
	for (int i = 0; i < 2; i++) {
		sleepers[i] = (struct xt_sleeper){.queue = graves.queue, .timeout_ns = -1};
		threads[i] = xt_start(xt_sleep, &sleepers[i]);
		xt_asleep(threads[i]);
	}
	uint64_t wakes = xt_stats(graves.queue).syscalls_wake;
	/* Enough dropped reports for two attempts of a renewal. */
	for (uint64_t dropped = 0; dropped < 8;) {
		xt_put(graves.dead.w);
		for (uint64_t before = dropped; dropped == before; (void)sched_yield())
			dropped = xt_stats(graves.queue).stale_dropped;
	}
	XT_EXPECT_EQ(xt_stats(graves.queue).rebuilds, 0);
	XT_EXPECT_EQ(xt_stats(graves.queue).syscalls_wake, wakes);
	put_fails = false;
	for (int i = 0; i < 2; i++)
		xt_send_home(graves.queue, threads[i]);
}

/* Hazard 2: a renewal of the set does not affect the watch of a growing file. */
XT_TEST(hazard_02_growing_file_survives_the_renewal)
{
	struct graves graves;

	all_is_well();
	if (!xt_is("epoll"))
		return;
	XT_CALL(graves_dig(&graves));
	XT_EQ(graves_open(&graves), 1);
	XT_NONE(graves.queue);
	xt_put(graves.file);
	XT_EQ(lseek(graves.file, 0, SEEK_SET), 0);
	XT_GETS(graves.queue, NULL, graves.file, READ);
}

/* If the probe for urgent data fails, the event comes, perhaps below the low-water mark. */
XT_TEST(urgent_data_below_the_mark_that_cannot_be_looked_for_is_reported)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair tcp = xt_tcp();

	all_is_well();
	XT_OK(xt_change(queue, (uint64_t)tcp.r, READ, XPOLL_ADD, XPOLL_NOTE_LOWAT, 10, NULL));
	xt_put(tcp.w);
	XT_EQ(send(tcp.w, "!", 1, MSG_OOB), 1);
	XT_CHECK(xt_poll_until(tcp.r, POLLPRI, POLLPRI));
	look_fails_for = POLLPRI;
	XT_GETS(queue, NULL, tcp.r, READ);
	look_fails_for = 0;
}

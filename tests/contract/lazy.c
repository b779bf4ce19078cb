/*
 * Goal: filters that are enabled without a system call, and so checked by the library, break
 * nothing: hazards 7, 8, 9, 12 and 18 of docs/internals/core.md.
 * Method: many candidates, files that poll(2) must not check, activity of disabled directions,
 * undelivered hang-ups, shared listeners; the queue's counters show the costs.
 */
#include "xt.h"

#include <sched.h>
#include <sys/resource.h>

#ifdef __linux__
#include <sys/mount.h>
#include <sys/signalfd.h>
#endif

static int toggle(struct xpoll *queue, int fd, int filter)
{
	int rc = xt_flag(queue, (uint64_t)fd, filter, XPOLL_DISABLE);

	return rc ? rc : xt_flag(queue, (uint64_t)fd, filter, XPOLL_ENABLE);
}

/* Hazard 7: of many candidates, the one that is ready is found. */
XT_TEST(hazard_07_many_candidates_one_ready_is_found)
{
	enum { COUNT = 1500 };
	struct xpoll *queue = xt_open_quiet();
	static struct xt_pair pipes[COUNT];
	struct xpoll_event event;

	XT_FILES(2 * COUNT + 200);
	for (int i = 0; i < COUNT; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, 0));
	}
	for (int round = 0; round < 5; round++) {
		int chosen = (round * 611 + 7) % COUNT;

		for (int i = 0; i < COUNT; i++)
			XT_OK(toggle(queue, pipes[i].r, READ));
		/* The wait may sleep only after it has checked all candidates. */
		xt_put(pipes[chosen].w);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EXPECT_EQ(event.ident, pipes[chosen].r);
		XT_EQ(xt_get(pipes[chosen].r), 'x');
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
		xt_put(pipes[COUNT - 1 - chosen].w);
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
		XT_EXPECT_EQ(event.ident, pipes[COUNT - 1 - chosen].r);
		XT_EQ(xt_get((int)event.ident), 'x');
	}
}

/* Hazard 7: poll(2) refuses more entries than RLIMIT_NOFILE. */
static void below_the_limit(void *argument)
{
	struct xpoll *queue = xt_open_quiet();
	struct rlimit limit;
	struct xt_pair pipes[100];
	struct xpoll_event event;

	(void)argument;
	for (int i = 0; i < 100; i++) {
		pipes[i] = xt_pipe();
		XT_OK(xt_add(queue, pipes[i].r, READ, 0));
	}
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 10;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 100; i++)
		XT_OK(toggle(queue, pipes[i].r, READ));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	xt_put(pipes[99].w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EXPECT_EQ(event.ident, pipes[99].r);
}

XT_TEST(hazard_07_more_candidates_than_the_file_limit)
{
	if (xt_is("poll"))
		XT_SKIP("poll(2) itself refuses more entries than the limit");
	XT_SINGLE_ONLY();
	XT_CHECK(xt_child(below_the_limit, NULL));
}

#ifdef __linux__
/* Hazard 8: a poll(2) of the mount table's descriptor clears its readiness. */
static void mount_table_changes(void *argument)
{
	struct xpoll *queue = xt_open_quiet();
	int *skipped = argument;
	char path[] = "/tmp/xt-mount-XXXXXX";
	struct xpoll_event event;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !mkdtemp(path)) {
		*skipped = 1;
		return;
	}
	int table = xt_open_path("/proc/self/mountinfo", O_RDONLY);
	XT_OK(xt_add(queue, table, EXCEPT, 0));
	for (int i = 0; i < 3; i++)
		XT_OK(toggle(queue, table, EXCEPT));
	(void)xpoll_event(queue, NULL, 0, &event, 1, 0);
	for (int i = 0; i < 10; i++) {
		int rc = i % 2 ? umount(path)
		               : mount("none", path, "tmpfs", 0, NULL);

		if (rc < 0) {
			*skipped = 1;
			break;
		}
		XT_OK(xt_flag(queue, (uint64_t)table, EXCEPT, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, (uint64_t)table, EXCEPT, XPOLL_ENABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
		XT_EXPECT_EQ(event.ident, table);
		XT_EXPECT_EQ(event.filter, EXCEPT);
	}
	(void)rmdir(path);
}

/* The same while other descriptors are ready, with room for one event. */
static void mount_table_changes_among_others(void *argument)
{
	enum { OTHERS = 5 };
	struct xpoll *queue = xt_open_quiet();
	int *skipped = argument;
	char path[] = "/tmp/xt-mount-XXXXXX";
	struct xpoll_event event;
	int table;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    !mkdtemp(path)) {
		*skipped = 1;
		return;
	}
	for (int i = 0; i < OTHERS; i++) {
		struct xt_pair pipe = xt_pipe();

		xt_put(pipe.w);
		XT_OK(xt_add(queue, pipe.r, READ, 0));
	}
	table = xt_open_path("/proc/self/mountinfo", O_RDONLY);
	XT_OK(xt_add(queue, table, EXCEPT, 0));
	for (int i = 0; i < 10; i++) {
		int rc = i % 2 ? umount(path)
		               : mount("none", path, "tmpfs", 0, NULL);
		bool told = false;

		if (rc < 0) {
			*skipped = 1;
			break;
		}
		for (int k = 0; k < 10 * OTHERS && !told; k++) {
			XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, XT_SOON), 1);
			told = event.ident == (uint64_t)table;
		}
		XT_EXPECT(told);
	}
	(void)rmdir(path);
}

static void mount_table_child(void *argument)
{
	int skipped = 0;

	(void)argument;
	mount_table_changes(&skipped);
	if (!skipped)
		mount_table_changes_among_others(&skipped);
	if (skipped)
		xt_note("mounts cannot be changed here");
}

XT_TEST(hazard_08_mount_table_change_is_told_once_not_consumed)
{
	XT_SINGLE_ONLY();
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");
	XT_CHECK(xt_child(mount_table_child, NULL));
}

/* Hazard 8: a signalfd's readiness depends on the thread that calls poll(2). */
struct signal_waiter {
	struct xpoll *queue;
	struct xpoll_event event;
	int rc;
};

static void signal_wait(void *argument)
{
	struct signal_waiter *self = argument;

	self->rc = xpoll_event(self->queue, NULL, 0, &self->event, 1, -1);
}

/* Returns a signalfd for SIGUSR2, which is blocked from now on. */
static int usr2_file(sigset_t *old)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	XT_EXPECT_EQ(pthread_sigmask(SIG_BLOCK, &set, old), 0);
	return xt_keep(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

XT_TEST(hazard_08_ready_file_of_proc_is_told_by_every_wait)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");

	struct xpoll *queue = xt_open();
	int mounts = xt_open_path("/proc/self/mounts", O_RDONLY);
	uint64_t ident = (uint64_t)mounts;

	XT_OK(xt_add(queue, mounts, READ, 0));
	for (int i = 0; i < 3; i++)
		XT_GETS(queue, NULL, mounts, READ);
	XT_OK(toggle(queue, mounts, READ));
	XT_GETS(queue, NULL, mounts, READ);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ADD | XPOLL_ENABLE |
	              XPOLL_DISPATCH));
	XT_GETS(queue, NULL, mounts, READ);
	XT_NONE(queue);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_GETS(queue, NULL, mounts, READ);
}

/* A file that is never ready and wakes no waiter must not keep a wait from sleeping. */
XT_TEST(hazard_08_file_that_wakes_nobody_lets_a_wait_sleep)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");
	XT_SINGLE_ONLY();

	struct xpoll *queue = xt_open();
	int file = xt_open_path("/proc/sys/kernel/random/boot_id", O_RDONLY);
	struct xpoll_event event;

	/* A regular file never reports POLLRDHUP. */
	XT_EQ(xpoll_ctl(queue, XPOLL_ADD, POLLRDHUP, file, NULL), 0);
	uint64_t before = xt_stats(queue).syscalls_wait;
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 5000000), 0);
	XT_EXPECT(xt_stats(queue).syscalls_wait - before < 20);
}

XT_TEST(hazard_08_signalfd_is_looked_at_by_the_waiting_thread)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");

	struct signal_waiter waiter = {.queue = xt_open()};
	sigset_t old;
	int fd = usr2_file(&old);

	XT_OK(xt_add(waiter.queue, fd, READ, 0));
	XT_OK(toggle(waiter.queue, fd, READ));
	struct xt_thread *thread = xt_start(signal_wait, &waiter);
	xt_asleep(thread);
	/* The signal is pending for that thread only; this thread's poll(2) does not report it. */
	XT_EQ(pthread_kill(xt_pthread(thread), SIGUSR2), 0);
	XT_OK(toggle(waiter.queue, fd, READ));
	xt_join(thread);
	XT_EXPECT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.event.ident, fd);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

/* The report was received and dropped while the filter was disabled. */
XT_TEST(hazard_08_signalfd_enabled_for_another_thread_is_reported)
{
	if (xt_has_kqueue() || xt_sunos())
		XT_SKIP("only Linux has such a file");

	struct signal_waiter waiter = {.queue = xt_open()};
	sigset_t old;
	int fd = usr2_file(&old);

	XT_OK(xt_add(waiter.queue, fd, READ, 0));
	struct xt_thread *thread = xt_start(signal_wait, &waiter);
	xt_asleep(thread);
	XT_OK(xt_flag(waiter.queue, (uint64_t)fd, READ, XPOLL_DISABLE));
	uint64_t fruitless = xt_stats(waiter.queue).fruitless;
	XT_EQ(pthread_kill(xt_pthread(thread), SIGUSR2), 0);
	/* Only on epoll does the kernel wake a thread for a disabled filter. */
	while (xt_is("epoll") && xt_stats(waiter.queue).fruitless == fruitless)
		(void)sched_yield();
	xt_asleep(thread);
	XT_OK(xt_flag(waiter.queue, (uint64_t)fd, READ, XPOLL_ENABLE));
	xt_join(thread);
	XT_EXPECT_EQ(waiter.rc, 1);
	XT_EXPECT_EQ(waiter.event.ident, fd);
	XT_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}
#endif

/* Hazard 8: the check of such a file consumes its report, which is delivered or kept. */
XT_TEST(hazard_08_counter_read_by_another_is_not_reported)
{
	struct xpoll *queue = xt_open();
	int counter = xt_eventfd();
	uint64_t value = 1;

	if (counter < 0)
		XT_SKIP("no eventfd here");
	XT_OK(xt_add(queue, counter, READ, 0));
	for (int i = 0; i < 10; i++) {
		XT_OK(toggle(queue, counter, READ));
		XT_NONE(queue);
		XT_EQ(write(counter, &value, sizeof value), 8);
		XT_GETS(queue, NULL, counter, READ);
		XT_EQ(read(counter, &value, sizeof value), 8);
		XT_NONE(queue);
	}
}

/* Hazard 9: a disabled direction has activity all the time. */
static void disabled_activity(int type)
{
	enum { ROUNDS = 5000 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pair = xt_socketpair(type);
	uint64_t ident = (uint64_t)pair.r;
	struct xpoll_event event;

	XT_OK(xt_add(queue, pair.r, READ, 0));
	XT_OK(xt_add(queue, pair.r, WRITE, 0));
	XT_OK(toggle(queue, pair.r, WRITE));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DISABLE));
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < ROUNDS; i++) {
		xt_put(pair.r);
		XT_EQ(xt_get(pair.w), 'x');
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	}
	uint64_t fruitless = xt_stats(queue).fruitless - before.fruitless;
	xt_note("%ju fruitless of %d", (uintmax_t)fruitless, ROUNDS);
	XT_CHECK(fruitless <= ROUNDS / 20);
	/* A filter that is enabled again is reported again. */
	XT_OK(xt_flag(queue, ident, WRITE, XPOLL_ENABLE));
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EXPECT_EQ(event.filter, WRITE);
	XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DISABLE));
	xt_put(pair.w);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_EXPECT_EQ(event.filter, READ);
}

XT_TEST(hazard_09_edges_of_a_disabled_direction_are_few)
{
	XT_CALL(disabled_activity(SOCK_STREAM));
	XT_CALL(disabled_activity(SOCK_DGRAM));
}

/* Hazard 9 and S15: such activity does not end a thread's sleep either. */
struct pest {
	struct xt_pair pair;
	int rounds;
};

static void pester(void *argument)
{
	struct pest *pest = argument;

	for (int i = 0; i < pest->rounds; i++) {
		xt_put(pest->pair.w);
		(void)xt_get(pest->pair.r);
		(void)sched_yield();
	}
}

XT_TEST(hazard_09_data_for_a_disabled_reader_wakes_a_sleeper_rarely)
{
	struct xpoll *queue = xt_open_quiet();
	struct pest pest = {.pair = xt_socketpair(SOCK_STREAM), .rounds = 3000};
	struct xpoll_event event;
	uint64_t ident = (uint64_t)pest.pair.r;

	XT_OK(xt_add(queue, pest.pair.r, READ, 0));
	if (xt_has_except())
		XT_OK(xt_add(queue, pest.pair.r, EXCEPT, 0));
	XT_OK(toggle(queue, pest.pair.r, READ));
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_OK(xt_flag(queue, 1, USER, XPOLL_ADD));
	struct xpoll_stats before = xt_stats(queue);
	struct xt_thread *thread = xt_start(pester, &pest);
	while (!xt_done(thread))
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 3000000), 0);
	xt_join(thread);
	XT_CHECK(xt_stats(queue).fruitless - before.fruitless <= 300);
}

/* Hazard 12: poll(2) returns POLLHUP for this socket; no event, and no busy loop. */
XT_TEST(hazard_12_unconnected_socket_is_silent_and_does_not_spin)
{
	struct xpoll *queue = xt_open_quiet();
	int fds[2] = {xt_socket(AF_INET, SOCK_STREAM),
	              xt_socket(xt_is("afd") ? AF_INET : AF_UNIX, SOCK_STREAM)};
	struct xpoll_event event;

	for (int i = 0; i < 2; i++) {
		XT_OK(xt_add(queue, fds[i], READ, 0));
		XT_OK(xt_add(queue, fds[i], WRITE, 0));
	}
	struct xpoll_stats before = xt_stats(queue);
	for (int i = 0; i < 5; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 10000000), 0);
	struct xpoll_stats after = xt_stats(queue);
	XT_CHECK(after.syscalls_wait - before.syscalls_wait <= 40);
	XT_CHECK(after.fruitless - before.fruitless <= 20);
}

/* Hazard 12: when the socket connects, its event is delivered. */
XT_TEST(hazard_12_unconnected_socket_that_connects_is_told)
{
	struct xpoll *queue = xt_open();
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	XT_OK(xt_add(queue, fd, READ, 0));
	XT_OK(xt_add(queue, fd, WRITE, XPOLL_DISPATCH));
	XT_NONE(queue);
	XT_NONE(queue);
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		XT_EQ(errno, EINPROGRESS);
	XT_GETS(queue, NULL, fd, WRITE);
	/* The listener has the connection when the last segment of three has arrived. */
	XT_CHECK(xt_poll_until(listener, POLLIN, POLLIN));
	int peer = xt_keep(accept(listener, NULL, NULL));
	XT_NONE(queue);
	xt_put(peer);
	XT_GETS(queue, NULL, fd, READ);
}

/* Hazard 12: the same for a socket that starts to listen. */
XT_TEST(hazard_12_unconnected_socket_that_listens_is_told)
{
	if (xt_chooses_filters_early())
		XT_SKIP("a socket's filter is that of its kind when it is added");
	struct xpoll *queue = xt_open();
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof address;
	int listener = xt_socket(AF_INET, SOCK_STREAM);
	int fd = xt_socket(AF_INET, SOCK_STREAM);

	XT_OK(xt_add(queue, listener, READ, 0));
	XT_NONE(queue);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	XT_EQ(bind(listener, (struct sockaddr *)&address, length), 0);
	XT_EQ(listen(listener, 8), 0);
	XT_EQ(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	XT_NONE(queue);
	(void)connect(fd, (struct sockaddr *)&address, sizeof address);
	XT_GETS(queue, NULL, listener, READ);
}

/* Hazard 18: changes of an exclusive registration of a listener. */
XT_TEST(hazard_18_exclusive_listener_toggles_and_changes)
{
	struct xpoll *queues[2] = {xt_open(), xt_open_quiet()};
	struct sockaddr_in address;
	int listener = xt_listener(&address);
	uint64_t ident = (uint64_t)listener;
	uint32_t hint = XPOLL_NOTE_EXCLUSIVE;

	for (int i = 0; i < 2; i++)
		XT_OK(xt_change(queues[i], ident, READ, XPOLL_ADD, hint, 0,
		                NULL));
	for (int i = 0; i < 5; i++) {
		int fd = xt_socket(AF_INET, SOCK_STREAM);

		XT_OK(toggle(queues[0], listener, READ));
		XT_NONE(queues[0]);
		(void)connect(fd, (struct sockaddr *)&address, sizeof address);
		XT_GETS(queues[0], NULL, listener, READ);
		XT_OK(xt_flag(queues[0], ident, READ, XPOLL_DISABLE));
		XT_NONE(queues[0]);
		XT_OK(xt_flag(queues[0], ident, READ, XPOLL_ENABLE));
		XT_GETS(queues[0], NULL, listener, READ);
		(void)xt_keep(accept(listener, NULL, NULL));
	}
	/* Add the filter without the hint, add another filter, and delete both. */
	XT_OK(xt_add(queues[0], listener, READ, 0));
	XT_OK(xt_change(queues[0], ident, READ, XPOLL_ADD, hint, 0, NULL));
	XT_OK(xt_add(queues[0], listener, WRITE, 0));
	XT_NONE(queues[0]);
	XT_OK(xt_flag(queues[0], ident, READ, XPOLL_DELETE));
	XT_OK(xt_flag(queues[0], ident, WRITE, XPOLL_DELETE));
}

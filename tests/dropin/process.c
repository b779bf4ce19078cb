/*
 * Goal: threads, fork, vfork, exec and cancellation.
 * Method: several threads or processes use the same arrays; each thread that
 * waits finds a byte that is there, and nothing that a child does affects its
 * parent.
 */
#include "dropin.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* --- fork ------------------------------------------------------------------- */

static void child_upsets_everything(void *argument)
{
	struct crowd *crowd = argument;

	for (int i = 0; i < CROWD; i++)
		XT_EQ(crowd_poll(crowd, 0), 0);
	for (int i = 0; i < CROWD; i++) {
		crowd->fds[i].events = POLLPRI;
		XT_EQ(crowd_poll(crowd, 0), 0);
	}
	for (int i = 0; i < CROWD; i++)
		XT_EQ(close(crowd->fds[i].fd), 0);
	XT_EQ(crowd_poll(crowd, 0), CROWD);
}

XT_TEST(forked_child_does_not_touch_what_the_parent_watches)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	XT_CHECK(xt_child(child_upsets_everything, &crowd));
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
}

static void child_polls_for_itself(void *argument)
{
	struct crowd *crowd = argument;

	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd->pipes[i].w);
		XT_EQ(crowd_ready(crowd), i);
		xt_get(crowd->fds[i].fd);
	}
}

XT_TEST(forked_child_has_sets_of_its_own)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 3; i++)
		XT_CHECK(xt_child(child_polls_for_itself, &crowd));
}

XT_TEST(vforked_child_may_close_everything)
{
	struct crowd crowd;
	int status;

	XT_CALL(crowd_open(&crowd));
	pid_t child = vfork();
	if (child == 0) {
		for (int i = 0; i < CROWD; i++)
			(void)close(crowd.fds[i].fd);
		(void)close_range(3, ~0u, 0);
		_exit(0);
	}
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	for (int i = 0; i < CROWD; i++) {
		xt_put(crowd.pipes[i].w);
		XT_EQ(crowd_ready(&crowd), i);
		xt_get(crowd.fds[i].fd);
	}
}

/* Returns the number of lines of /proc/self/fd in a program that is executed. */
static int count_in_executed(void)
{
	int ends[2];
	char text[4096];
	int lines = 0;
	ssize_t len;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		dup2(ends[1], 1);
		execl("/bin/ls", "ls", "/proc/self/fd", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((len = read(ends[0], text, sizeof text)) > 0)
		for (ssize_t i = 0; i < len; i++)
			lines += text[i] == '\n';
	close(ends[0]);
	waitpid(child, NULL, 0);
	return lines;
}

XT_TEST(executed_program_inherits_nothing_of_ours)
{
	struct crowd crowd;
	int before = count_in_executed();

	XT_CALL(crowd_open(&crowd));
	XT_EQ(count_in_executed(), before);
}

/* --- Threads -------------------------------------------------------------------- */

struct waiter {
	struct crowd *crowd;
	atomic_int *done;
	int rc;
};

static void wait_on_crowd(void *argument)
{
	struct waiter *waiter = argument;

	waiter->rc = crowd_poll(waiter->crowd, -1);
	atomic_fetch_add(waiter->done, 1);
}

/* Each thread gets the events of the array, as from poll(2). */
XT_TEST(threads_may_wait_on_the_same_array)
{
	struct crowd crowd;

	if (XT_TSAN)
		XT_SKIP("the test races on purpose");
	XT_CALL(crowd_open(&crowd));
	for (int round = 0; round < 20; round++) {
		struct waiter waiters[3];
		struct xt_thread *threads[3];
		atomic_int done = 0;

		for (int i = 0; i < 3; i++) {
			waiters[i] = (struct waiter){.crowd = &crowd, .done = &done};
			threads[i] = xt_start(wait_on_crowd, &waiters[i]);
		}
		xt_asleep(threads[round % 3]);
		xt_put(crowd.pipes[round].w);
		for (int i = 0; i < 3; i++) {
			xt_join(threads[i]);
			XT_EQ(waiters[i].rc, 1);
		}
		xt_get(crowd.fds[round].fd);
		xt_threads_reuse();
	}
}

static void wait_on_own_copy(void *argument)
{
	struct waiter *waiter = argument;
	struct pollfd fds[CROWD];

	memcpy(fds, waiter->crowd->fds, sizeof fds);
	waiter->rc = 0;
	for (int i = 0; i < 200 && waiter->rc == 0; i++)
		waiter->rc = poll(fds, CROWD, 0);
	if (waiter->rc == 0)
		waiter->rc = poll(fds, CROWD, -1);
	atomic_fetch_add(waiter->done, 1);
}

XT_TEST(threads_may_wait_on_arrays_of_their_own)
{
	struct crowd crowd;

	XT_CALL(crowd_open(&crowd));
	for (int round = 0; round < 20; round++) {
		struct waiter waiters[4];
		struct xt_thread *threads[4];
		atomic_int done = 0;

		for (int i = 0; i < 4; i++) {
			waiters[i] = (struct waiter){.crowd = &crowd, .done = &done};
			threads[i] = xt_start(wait_on_own_copy, &waiters[i]);
		}
		xt_asleep(threads[round % 4]);
		xt_put(crowd.pipes[round].w);
		for (int i = 0; i < 4; i++) {
			xt_join(threads[i]);
			XT_EQ(waiters[i].rc, 1);
		}
		xt_get(crowd.fds[round].fd);
		xt_threads_reuse();
	}
}

struct onlooker {
	struct crowd *crowd;
	atomic_int stop;
};

static void look_on(void *argument)
{
	struct onlooker *onlooker = argument;

	while (!atomic_load(&onlooker->stop))
		(void)crowd_poll(onlooker->crowd, -1);
}

/* Other threads that are waking do not take the byte from a call that does not wait. */
XT_TEST(byte_that_is_there_is_found_beside_sleepers)
{
	struct crowd crowd;
	struct onlooker onlooker = {.crowd = &crowd};
	struct xt_thread *threads[2];
	int found = 1;

	if (XT_TSAN)
		XT_SKIP("the test races on purpose");
	XT_CALL(crowd_open(&crowd));
	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(look_on, &onlooker);
	for (int i = 0; i < 20000 && found == 1; i++) {
		xt_put(crowd.pipes[7].w);
		found = crowd_poll(&crowd, 0);
		xt_get(crowd.fds[7].fd);
	}
	atomic_store(&onlooker.stop, 1);
	xt_put(crowd.pipes[7].w);
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
	XT_EQ(found, 1);
}

XT_TEST(cancelled_thread_leaves_the_set_to_others)
{
	struct crowd crowd;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	XT_CALL(crowd_open(&crowd));
	for (int round = 0; round < 60; round++) {
		atomic_int done = 0;
		struct waiter waiter = {.crowd = &crowd, .done = &done};
		struct xt_thread *thread = xt_start(wait_on_crowd, &waiter);

		xt_asleep(thread);
		XT_EQ(pthread_cancel(xt_pthread(thread)), 0);
		xt_join(thread);
		XT_EQ(atomic_load(&done), 0);
		xt_threads_reuse();
	}
	xt_put(crowd.pipes[4].w);
	XT_EQ(crowd_ready(&crowd), 4);
}

static void upset_beside_a_sleeper(void *argument)
{
	struct crowd *crowd = argument;

	XT_EQ(crowd_poll(crowd, 0), 0);
	for (int i = 0; i < CROWD; i++)
		XT_EQ(close(crowd->fds[i].fd), 0);
	XT_EQ(crowd_poll(crowd, -1), CROWD);
}

XT_TEST(forked_child_beside_a_sleeper_does_not_disturb_it)
{
	struct crowd crowd;

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer bears no fork beside other threads");
	XT_CALL(crowd_open(&crowd));
	for (int round = 0; round < 10; round++) {
		atomic_int done = 0;
		struct waiter waiter = {.crowd = &crowd, .done = &done};
		struct xt_thread *thread = xt_start(wait_on_crowd, &waiter);

		xt_asleep(thread);
		XT_CHECK(xt_child(upset_beside_a_sleeper, &crowd));
		XT_EQ(atomic_load(&done), 0);
		xt_put(crowd.pipes[round].w);
		xt_join(thread);
		XT_EQ(waiter.rc, 1);
		XT_EQ(crowd.fds[round].revents, POLLIN);
		xt_get(crowd.fds[round].fd);
		xt_threads_reuse();
	}
}

/* --- Descriptors of one thread ------------------------------------------------------- */

enum { APART = 17 };

struct parting {
	struct crowd crowd;
	atomic_int parted;
	atomic_int done;
	int (*part)(int fd);
};

static int by_range(int fd)
{
	return close_range((unsigned)fd, (unsigned)fd, 2 /* CLOSE_RANGE_UNSHARE */);
}

static int by_unshare(int fd)
{
	return unshare(CLONE_FILES) < 0 ? -1 : close(fd);
}

/* In this thread's own table of descriptors the number refers to another file, which is ready. */
static void poll_apart(void *argument)
{
	struct parting *parting = argument;
	struct crowd *crowd = &parting->crowd;
	int number = crowd->fds[APART].fd;
	struct pollfd fds[CROWD];

	memcpy(fds, crowd->fds, sizeof fds);
	XT_EQ(parting->part(number), 0);
	XT_EQ(poll(fds, CROWD, 0), 1);
	XT_EQ(fds[APART].revents, POLLNVAL);
	XT_EQ(dup2(crowd->pipes[3].w, number), number);
	fds[APART].events = POLLOUT;
	XT_EQ(poll(fds, CROWD, 0), 1);
	XT_EQ(fds[APART].revents, POLLOUT);
	atomic_store(&parting->parted, 1);
	xt_until(&parting->done, 1);
}

static void wait_together(void *argument)
{
	struct parting *parting = argument;

	XT_EQ(crowd_poll(&parting->crowd, -1), 1);
}

/* For the other threads, one of which sleeps, the descriptor still refers to the old file. */
static void part(void *argument)
{
	struct parting *parting = argument;
	struct crowd *crowd = &parting->crowd;
	struct xt_thread *sleeper;
	struct xt_thread *apart;

	XT_CALL(crowd_open(crowd));
	sleeper = xt_start(wait_together, parting);
	xt_asleep(sleeper);
	apart = xt_start(poll_apart, parting);
	xt_until(&parting->parted, 1);
	xt_put(crowd->pipes[APART].w);
	xt_join(sleeper);
	XT_EXPECT_EQ(crowd->fds[APART].revents, POLLIN);
	for (int i = 0; i < 30; i++)
		XT_EXPECT_EQ(crowd_ready(crowd), APART);
	atomic_store(&parting->done, 1);
	xt_join(apart);
}

XT_TEST(thread_with_descriptors_of_its_own_does_not_disturb_the_others)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer bears no thread in a forked child");
	XT_CHECK(xt_child(part, &(struct parting){.part = by_range}));
	XT_CHECK(xt_child(part, &(struct parting){.part = by_unshare}));
}

/* --- Closing and opening while others poll ------------------------------------------ */

enum { SHUFFLED = 64, ROUNDS = 4000 };

struct shuffle {
	struct pollfd fds[SHUFFLED];
	int peers[SHUFFLED];
	atomic_int ready_to_close[SHUFFLED]; /* 1: the other thread may replace it */
	atomic_int stop;
	uint64_t seed;
	uint64_t sent;
};

/*
 * Replace pairs whose last byte was read, with the same descriptor or another one, and write a byte
 * to each new pair.
 */
static void replace_pairs(void *argument)
{
	struct shuffle *shuffle = argument;

	while (!atomic_load(&shuffle->stop)) {
		int i = (int)(xt_random(&shuffle->seed) % SHUFFLED);
		int ends[2];

		if (atomic_load(&shuffle->ready_to_close[i]) != 1)
			continue;
		close(shuffle->fds[i].fd);
		close(shuffle->peers[i]);
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
			break;
		shuffle->fds[i].fd = ends[0];
		shuffle->peers[i] = ends[1];
		if (write(ends[1], "x", 1) == 1)
			shuffle->sent++;
		atomic_store(&shuffle->ready_to_close[i], 0);
	}
}

/*
 * The array is shared, and a replaced descriptor is noticed by the next call only, so the timeouts
 * are short.  No byte may be lost: at the end all were read.
 */
XT_TEST(numbers_reused_by_another_thread_lose_nothing)
{
	static struct shuffle shuffle;
	struct xt_thread *thread;
	uint64_t taken = 0;

	if (XT_TSAN)
		XT_SKIP("the test races on purpose");
	memset(&shuffle, 0, sizeof shuffle);
	shuffle.seed = xt_seed();
	for (int i = 0; i < SHUFFLED; i++) {
		struct xt_pair pair = xt_socketpair(SOCK_STREAM);

		/*
		 * The threads close the duplicates, and this one closes the originals at the end.
		 */
		shuffle.fds[i] = (struct pollfd){
			.fd = dup(pair.r),
			.events = POLLIN,
		};
		shuffle.peers[i] = dup(pair.w);
		xt_shut(pair);
		atomic_store(&shuffle.ready_to_close[i], 1);
	}
	thread = xt_start(replace_pairs, &shuffle);
	while (taken < ROUNDS) {
		(void)poll(shuffle.fds, SHUFFLED, 1);
		for (int i = 0; i < SHUFFLED; i++) {
			if (atomic_load(&shuffle.ready_to_close[i]) != 0 ||
			    !(shuffle.fds[i].revents & POLLIN) ||
			    xt_get(shuffle.fds[i].fd) != 'x')
				continue;
			taken++;
			atomic_store(&shuffle.ready_to_close[i], 1);
		}
	}
	atomic_store(&shuffle.stop, 1);
	xt_join(thread);
	for (int i = 0; i < SHUFFLED; i++)
		if (atomic_load(&shuffle.ready_to_close[i]) == 0) {
			XT_EQ(poll(&shuffle.fds[i], 1, 0), 1);
			taken++;
		}
	XT_EQ(taken, shuffle.sent);
	for (int i = 0; i < SHUFFLED; i++) {
		close(shuffle.fds[i].fd);
		close(shuffle.peers[i]);
	}
}

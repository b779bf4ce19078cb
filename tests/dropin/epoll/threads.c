/*
 * Goal: what one thread does to a set never harms another one: cancellation, fork, vfork, two
 * threads that poll one set, a duplicate that begins or ends during the first poll.
 * Method: a second thread, or a child, does it, and the set is asked for its events.
 */
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"

static void *wait_cancelled(void *argument)
{
	struct epoll_event event;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	(void)epoll_wait(*(int *)argument, &event, 1, 0);
	pthread_testcancel();
	return NULL;
}

static void *poll_cancelled(void *argument)
{
	struct pollfd look = {.fd = *(int *)argument, .events = POLLIN};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	(void)poll(&look, 1, 0);
	return NULL;
}

static void run_cancelled(void *(*call)(void *), int set)
{
	pthread_t thread;
	void *result;

	XT_OK(pthread_create(&thread, NULL, call, &set));
	XT_OK(pthread_join(thread, &result));
	XT_CHECK(result == PTHREAD_CANCELED);
}

/* Calls with timeout 0 hold the set's lock, so a cancelled thread must not end inside one. */
XT_TEST(a_cancelled_thread_leaves_the_set)
{
	int outer = kit_open(), set = kit_open();
	struct xt_pair pipe = xt_pipe();

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	XT_OK(kit_add(set, pipe.r, EPOLLIN));
	XT_OK(kit_add(outer, set, EPOLLIN));
	xt_put(pipe.w);
	XT_CHECK(kit_readable(set));
	run_cancelled(wait_cancelled, set);
	KIT_GETS(set, pipe.r, EPOLLIN);
	run_cancelled(wait_cancelled, outer);
	KIT_GETS(outer, set, EPOLLIN);
	run_cancelled(poll_cancelled, set);
	run_cancelled(poll_cancelled, outer);
	KIT_GETS(outer, set, EPOLLIN);
	xt_get(pipe.r);
	KIT_NONE(outer);
	KIT_NONE(set);
	xt_put(pipe.w);
	KIT_GETS(outer, set, EPOLLIN);
}

struct nested {
	int outer, inner;
	atomic_int stops;
};

static void wait_often(void *argument)
{
	struct nested *nested = argument;
	struct epoll_event event;

	while (!atomic_load(&nested->stops)) {
		(void)epoll_wait(nested->outer, &event, 1, 0);
		(void)kit_del(nested->outer, nested->inner);
		(void)kit_add(nested->outer, nested->inner, EPOLLIN);
	}
}

static void nest_new_sets(void *argument)
{
	int outer = kit_open(), inner = kit_open();

	(void)argument;
	XT_OK(kit_add(outer, inner, EPOLLIN));
}

XT_TEST(a_fork_waits_for_nested_sets)
{
	struct nested nested = {.outer = kit_open(), .inner = kit_open()};
	struct xt_pair pipe = xt_pipe();
	struct xt_thread *thread;

	xt_put(pipe.w);
	XT_OK(kit_add(nested.inner, pipe.r, EPOLLIN));
	XT_OK(kit_add(nested.outer, nested.inner, EPOLLIN));
	thread = xt_start(wait_often, &nested);
	for (int i = 0; i < 100; i++)
		XT_CHECK(xt_child(nest_new_sets, NULL));
	atomic_store(&nested.stops, 1);
	xt_join(thread);
}

struct family {
	int outer, middle, inner;
	struct xt_pair pipe;
};

static void put_now(void *argument)
{
	xt_put(*(int *)argument);
}

static void wait_in_child(void *argument)
{
	struct family *family = argument;
	struct xt_thread *thread;

	KIT_NONE(family->outer);
	thread = xt_start(put_now, &family->pipe.w);
	KIT_GETS(family->outer, family->middle, EPOLLIN);
	KIT_HAS(family->inner, family->pipe.r, EPOLLIN);
	xt_join(thread);
	xt_get(family->pipe.r);
	KIT_NONE(family->outer);
	XT_OK(kit_del(family->middle, family->inner));
	XT_OK(kit_del(family->outer, family->middle));
}

XT_TEST(a_child_has_its_sets_in_sets)
{
	struct family family = {kit_open(), kit_open(), kit_open(), xt_pipe()};

	XT_OK(kit_add(family.inner, family.pipe.r, EPOLLIN));
	XT_OK(kit_add(family.middle, family.inner, EPOLLIN));
	XT_OK(kit_add(family.outer, family.middle, EPOLLIN));
	XT_CHECK(xt_child(wait_in_child, &family));
}

struct polled {
	int set;
	atomic_int stops, calls;
};

static void poll_often(void *argument)
{
	struct polled *polled = argument;
	struct pollfd look = {.fd = polled->set, .events = POLLIN};

	while (!atomic_load(&polled->stops)) {
		(void)poll(&look, 1, 0);
		atomic_fetch_add(&polled->calls, 1);
	}
}

XT_TEST(two_polls_lose_no_event)
{
	struct polled polled = {.set = kit_open()};
	struct xt_pair pipes[2] = {xt_pipe(), xt_pipe()};
	struct xt_thread *threads[2];
	struct epoll_event events[4];

	for (int i = 0; i < 2; i++)
		XT_OK(kit_add(polled.set, pipes[i].r, EPOLLIN | EPOLLONESHOT));
	for (int i = 0; i < 2; i++)
		threads[i] = xt_start(poll_often, &polled);
	for (int round = 0; round < 400; round++) {
		int calls = atomic_load(&polled.calls) + 6;

		for (int i = 0; i < 2; i++)
			xt_put(pipes[i].w);
		while (atomic_load(&polled.calls) < calls)
			sched_yield();
		for (int count = 0, more; count < 2; count += more) {
			more = epoll_wait(polled.set, events, 4, 20000);
			if (more <= 0) {
				xt_fail(__FILE__, __LINE__, "only %d events in round %d", count,
				        round);
				break;
			}
		}
		for (int i = 0; i < 2; i++) {
			xt_get(pipes[i].r);
			XT_OK(kit_mod(polled.set, pipes[i].r, EPOLLIN | EPOLLONESHOT));
		}
	}
	atomic_store(&polled.stops, 1);
	for (int i = 0; i < 2; i++)
		xt_join(threads[i]);
}

/* A thread that does one step for each turn, at the moment when it gets the turn. */
struct racing {
	atomic_int turn, done; /* turn < 0: end */
	int set, duplicate, pipe[2];
};

static void duplicate_in_turn(void *argument)
{
	struct racing *racing = argument;

	for (int next = 1; atomic_load(&racing->turn) >= 0;) {
		if (atomic_load(&racing->turn) != next)
			continue;
		racing->duplicate = dup(racing->set);
		atomic_store(&racing->done, next++);
	}
}

static void close_and_reuse_in_turn(void *argument)
{
	struct racing *racing = argument;

	for (int next = 1; atomic_load(&racing->turn) >= 0;) {
		if (atomic_load(&racing->turn) != next)
			continue;
		(void)close(racing->duplicate);
		(void)pipe(racing->pipe);
		atomic_store(&racing->done, next++);
	}
}

/* Let the thread do its step while this one makes the first poll of a new set. */
static void race_first_poll(struct racing *racing, int turn)
{
	struct pollfd look = {.fd = racing->set, .events = POLLIN};

	atomic_store(&racing->turn, turn);
	(void)poll(&look, 1, 0);
	while (atomic_load(&racing->done) != turn)
		sched_yield();
}

XT_TEST(a_duplicate_made_during_the_first_poll_is_the_set)
{
	struct racing racing = {.set = -1};
	struct xt_thread *thread = xt_start(duplicate_in_turn, &racing);
	int others = 0;

	for (int turn = 1; turn <= 1000; turn++) {
		struct stat set, duplicate;

		racing.set = epoll_create1(EPOLL_CLOEXEC);
		race_first_poll(&racing, turn);
		XT_OK(fstat(racing.set, &set));
		XT_OK(fstat(racing.duplicate, &duplicate));
		others += set.st_dev != duplicate.st_dev || set.st_ino != duplicate.st_ino;
		(void)close(racing.duplicate);
		(void)close(racing.set);
	}
	atomic_store(&racing.turn, -1);
	xt_join(thread);
	XT_EQ(others, 0);
}

XT_TEST(a_number_reused_during_the_first_poll_stays_the_new_file)
{
	struct racing racing = {.set = -1};
	struct xt_thread *thread = xt_start(close_and_reuse_in_turn, &racing);
	int lost = 0;

	for (int turn = 1; turn <= 1000; turn++) {
		racing.set = epoll_create1(EPOLL_CLOEXEC);
		racing.duplicate = dup(racing.set);
		race_first_poll(&racing, turn);
		for (int i = 0; i < 2; i++) {
			struct stat status;

			lost += fstat(racing.pipe[i], &status) < 0 || !S_ISFIFO(status.st_mode);
			(void)close(racing.pipe[i]);
		}
		(void)close(racing.set);
	}
	atomic_store(&racing.turn, -1);
	xt_join(thread);
	XT_EQ(lost, 0);
}

XT_TEST(a_child_of_vfork_duplicates_for_itself)
{
	int fd = xt_keep(eventfd(1, EFD_NONBLOCK));
	struct xt_pair pipe = xt_pipe();
	uint64_t value;
	pid_t child = vfork();
	int status;

	if (child == 0)
		_exit(dup2(fd, pipe.r) == pipe.r ? 0 : 1);
	XT_EQ(waitpid(child, &status, 0), child);
	XT_EQ(status, 0);
	xt_put(pipe.w);
	XT_EQ(xt_get(pipe.r), 'x');
	XT_EQ(read(fd, &value, sizeof value), sizeof value);
}

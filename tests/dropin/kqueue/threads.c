/*
 * Goal: any number of threads use one queue; changes and closes during a wait;
 * descriptors that are closed and reused while threads wait.
 * Method: counters that must add up, and generations: no call returns an event
 * of a file that was closed before the call began.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "kit.h"

enum { THREADS = XT_SANITIZED ? 100 : 1000, NUMBERS = 64 };

/* --- A crowd --------------------------------------------------------------------- */

struct crowd {
	int kq;
	atomic_int inside;
	atomic_int got[THREADS];
};

static void *crowd_wait(void *opaque)
{
	struct crowd *crowd = opaque;
	struct kevent event;

	atomic_fetch_add(&crowd->inside, 1);
	if (kevent(crowd->kq, NULL, 0, &event, 1, NULL) == 1)
		atomic_fetch_add(&crowd->got[event.ident], 1);
	return NULL;
}

/* Each event goes to one of the threads, and each thread gets one. */
XT_TEST(thousand_threads_get_an_event_each)
{
	static struct crowd crowd;
	static pthread_t threads[THREADS];
	pthread_attr_t attributes;
	int started = 0;

	memset(&crowd, 0, sizeof crowd);
	crowd.kq = kit_open();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, XT_SANITIZED ? 1 << 20 : 1 << 17);
	while (started < THREADS &&
	       pthread_create(&threads[started], &attributes, crowd_wait,
	                      &crowd) == 0)
		started++;
	pthread_attr_destroy(&attributes);
	xt_until(&crowd.inside, started);
	for (int i = 0; i < started; i++)
		XT_EXPECT_STATUS(kit_change(crowd.kq, (uintptr_t)i, EVFILT_USER,
		                            EV_ADD | EV_ONESHOT, NOTE_TRIGGER, 0,
		                            NULL), 0);
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	XT_CHECK(started > 0);
	for (int i = 0; i < started; i++)
		XT_EQ(crowd.got[i], 1);
	KIT_NONE(crowd.kq);
}

/* --- Changes and closes during a wait --------------------------------------------- */

struct waiter {
	int kq;
	int rc;
	struct kevent event;
};

static void wait_for_one(void *opaque)
{
	struct waiter *waiter = opaque;

	waiter->rc = kevent(waiter->kq, NULL, 0, &waiter->event, 1, NULL);
}

XT_TEST(change_during_a_wait_takes_effect)
{
	struct waiter waiter = {.kq = kit_open()};
	struct xt_pair pipe = xt_pipe();

	xt_put(pipe.w);
	XT_OK(kit_add(waiter.kq, pipe.r, EVFILT_READ, EV_DISABLE | EV_DISPATCH));
	for (int i = 0; i < 4; i++) {
		struct xt_thread *thread = xt_start(wait_for_one, &waiter);

		xt_asleep(thread);
		if (i % 2)
			XT_OK(kit_change(waiter.kq, 1, EVFILT_TIMER,
			                 EV_ADD | EV_ONESHOT, 0, 1, NULL));
		else
			XT_OK(kit_flag(waiter.kq, pipe.r, EVFILT_READ, EV_ENABLE));
		xt_join(thread);
		XT_EQ(waiter.rc, 1);
		XT_EQ(waiter.event.filter, i % 2 ? EVFILT_TIMER : EVFILT_READ);
	}
}

/* Like FreeBSD, the waiting thread sleeps on; when it returns, the queue ends. */
XT_TEST(close_during_a_wait_leaves_the_waiter_its_queue)
{
	struct xt_pair pipe = xt_pipe();
	int before = xt_count_open();
	struct waiter waiter = {.kq = kqueue()};
	struct xt_thread *thread;

	XT_OK(kit_add(waiter.kq, pipe.r, EVFILT_READ, 0));
	thread = xt_start(wait_for_one, &waiter);
	xt_asleep(thread);
	XT_EQ(close(waiter.kq), 0);
	XT_FAILS(kevent(waiter.kq, NULL, 0, NULL, 0, NULL), EBADF);
	xt_put(pipe.w);
	xt_join(thread);
	XT_EQ(waiter.rc, 1);
	XT_EQ(waiter.event.ident, pipe.r);
	XT_EQ(xt_count_open(), before);
}

enum {
	SOAK_QUEUES = 300,
	SOAK_AT_ONCE = 30,
};

/* Register something with most filters; writing to the pipe wakes all threads. */
static bool fill(int kq, int pipe, int file)
{
	struct kevent changes[6];

	EV_SET(&changes[0], pipe, EVFILT_READ, EV_ADD, 0, 0, NULL);
	EV_SET(&changes[1], 1, EVFILT_TIMER, EV_ADD, NOTE_SECONDS, 3600, NULL);
	EV_SET(&changes[2], 1, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
	EV_SET(&changes[3], file, EVFILT_VNODE, EV_ADD, NOTE_WRITE, 0, NULL);
	EV_SET(&changes[4], SIGUSR2, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
	EV_SET(&changes[5], pipe, EVFILT_READ, EV_ADD, 0, 0, NULL);
	changes[5].ext[0] = 1;
	return kevent(kq, changes, 6, NULL, 0, NULL) == 0;
}

static void close_under_sleepers(int file)
{
	struct xt_pair pipe = xt_pipe();
	struct waiter waiters[SOAK_AT_ONCE];
	struct xt_thread *threads[SOAK_AT_ONCE];

	for (int i = 0; i < SOAK_AT_ONCE; i++) {
		waiters[i] = (struct waiter){.kq = kqueue()};
		XT_CHECK(waiters[i].kq >= 0 && fill(waiters[i].kq, pipe.r, file));
		threads[i] = xt_start(wait_for_one, &waiters[i]);
	}
	for (int i = 0; i < SOAK_AT_ONCE; i++) {
		xt_asleep(threads[i]);
		XT_EQ(close(waiters[i].kq), 0);
	}
	xt_put(pipe.w);
	for (int i = 0; i < SOAK_AT_ONCE; i++) {
		xt_join(threads[i]);
		XT_EQ(waiters[i].rc, 1);
		XT_EQ(waiters[i].event.ident, pipe.r);
		XT_EQ(waiters[i].event.ext[0], 1);
	}
	xt_close(pipe.r);
	xt_close(pipe.w);
}

XT_TEST(hundreds_of_queues_closed_under_sleepers_leave_nothing)
{
	int file = xt_make("file", ""), before;

	XT_FILES(20 * SOAK_AT_ONCE);
	signal(SIGUSR2, SIG_IGN);
	XT_CALL(close_under_sleepers(file));
	before = xt_count_open();
	for (int i = 1; i < SOAK_QUEUES / SOAK_AT_ONCE; i++) {
		xt_threads_reuse();
		XT_CALL(close_under_sleepers(file));
	}
	XT_EQ(xt_count_open(), before);
}

/* In one case the queue is closed while the threads sleep in it. */
XT_TEST(process_exits_while_threads_sleep)
{
	struct xt_pair pipe = xt_pipe();
	int file = xt_make("file", "");

	if (XT_SANITIZED)
		XT_SKIP("a sanitizer bears no thread in a forked child");
	for (int closes = 0; closes < 2; closes++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct waiter waiter = {.kq = kqueue()};

			if (!fill(waiter.kq, pipe.r, file))
				_exit(2);
			for (int i = 0; i < 8; i++)
				xt_asleep(xt_start(wait_for_one, &waiter));
			if (closes)
				close(waiter.kq);
			exit(3);
		}
		XT_CHECK(child > 0);
		XT_EQ(waitpid(child, &status, 0), child);
		XT_EQ(status, 3 << 8);
	}
}

static void *wait_until_cancelled(void *opaque)
{
	struct waiter *waiter = opaque;

	wait_for_one(waiter);
	return NULL;
}

/* The cancelled wait releases its reference to the queue. */
XT_TEST(cancelled_waiter_leaves_nothing)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	int before = xt_count_open();
	struct waiter waiter = {.kq = kqueue()};
	pthread_t thread;
	void *result;

	XT_EQ(pthread_create(&thread, NULL, wait_until_cancelled, &waiter), 0);
	XT_EQ(pthread_cancel(thread), 0);
	XT_EQ(pthread_join(thread, &result), 0);
	XT_CHECK(result == PTHREAD_CANCELED);
	XT_EQ(close(waiter.kq), 0);
	XT_EQ(xt_count_open(), before);
}

/*
 * A call either has not begun its changes when it is cancelled, or completes, as in FreeBSD: it
 * never makes a part of them.
 */
struct cancelled {
	int kq;
	int rc;
};

static void *cancel_myself(void *opaque)
{
	struct cancelled *cancelled = opaque;
	struct kevent change, event;

	pthread_cancel(pthread_self());
	EV_SET(&change, 1, EVFILT_USER, EV_ADD, 0, 0, NULL);
	/* kevent without room for events is no cancellation point. */
	cancelled->rc = kevent(cancelled->kq, &change, 1, NULL, 0, NULL);
	EV_SET(&change, 2, EVFILT_USER, EV_ADD, NOTE_TRIGGER, 0, NULL);
	cancelled->rc = 100 + kevent(cancelled->kq, &change, 1, &event, 1, NULL);
	return NULL;
}

XT_TEST(cancelled_call_has_made_no_changes)
{
	if (XT_SANITIZED)
		XT_SKIP("a sanitizer loses track of a cancelled thread");
	struct cancelled cancelled = {.kq = kit_open(), .rc = -1};
	pthread_t thread;
	void *result;

	XT_EQ(pthread_create(&thread, NULL, cancel_myself, &cancelled), 0);
	XT_EQ(pthread_join(thread, &result), 0);
	XT_CHECK(result == PTHREAD_CANCELED);
	XT_EQ(cancelled.rc, 0);
	XT_OK(kit_change(cancelled.kq, 1, EVFILT_USER, EV_DELETE, 0, 0, NULL));
	XT_STATUS(kit_change(cancelled.kq, 2, EVFILT_USER, EV_DELETE, 0, 0, NULL),
	          ENOENT);
}

static void interrupted(int number)
{
	(void)number;
}

static void add_and_wait(void *opaque)
{
	struct waiter *waiter = opaque;
	struct kevent change;

	EV_SET(&change, 1, EVFILT_USER, EV_ADD, 0, 0, NULL);
	waiter->rc = kevent(waiter->kq, &change, 1, &waiter->event, 1, NULL);
	if (waiter->rc < 0)
		waiter->rc = -errno;
}

XT_TEST(interrupted_call_has_made_its_changes)
{
	struct waiter waiter = {.kq = kit_open(), .rc = 1};
	struct sigaction action = {.sa_handler = interrupted};
	struct xt_thread *thread;

	XT_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	thread = xt_start(add_and_wait, &waiter);
	xt_asleep(thread);
	while (!xt_done(thread)) {
		(void)pthread_kill(xt_pthread(thread), SIGUSR2);
		sched_yield();
	}
	xt_join(thread);
	XT_EQ(waiter.rc, -EINTR);
	XT_OK(kit_change(waiter.kq, 1, EVFILT_USER, EV_DELETE, 0, 0, NULL));
	signal(SIGUSR2, SIG_DFL);
}

/* --- Numbers used again ------------------------------------------------------------- */

struct churn {
	int kq;
	int base;
	atomic_bool stop;
	atomic_uint closed[NUMBERS]; /* generation of the file that was closed last */
	atomic_uint wrong;
	atomic_uint events;
};

static void churn_wait(void *opaque)
{
	struct churn *churn = opaque;

	while (!atomic_load(&churn->stop)) {
		const struct timespec while_ = {0, 1000000};
		struct kevent events[8];
		unsigned closed[NUMBERS];
		int count;

		for (int i = 0; i < NUMBERS; i++)
			closed[i] = atomic_load(&churn->closed[i]);
		count = kevent(churn->kq, NULL, 0, events, 8, &while_);
		for (int i = 0; i < count; i++) {
			unsigned generation = (unsigned)(uintptr_t)events[i].udata;
			int slot = (int)events[i].ident - churn->base;

			if (generation <= closed[slot])
				atomic_fetch_add(&churn->wrong, 1);
		}
		if (count > 0)
			atomic_fetch_add(&churn->events, (unsigned)count);
	}
}

/* Open a pipe with data in it at this descriptor; copies[] keeps the file open after a close. */
static int churn_open(int number, int copies[2])
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    write(fds[1], "x", 1) != 1 || dup2(fds[0], number) != number)
		return -1;
	copies[0] = fds[0];
	copies[1] = fds[1];
	return 0;
}

XT_TEST(closed_number_tells_of_its_new_file_only)
{
	/* ThreadSanitizer reports a race of close(2) with a thread that checks the descriptor. */
	if (XT_TSAN)
		XT_SKIP("the test races on purpose");
	static struct churn churn;
	struct xt_thread *threads[3];
	int64_t end = xt_now() + (int64_t)(xt_stress_seconds(1.5) * 1e9);
	unsigned generation = 0;

	memset(&churn, 0, sizeof churn);
	churn.kq = kit_open();
	churn.base = 400;
	for (int i = 0; i < 3; i++)
		threads[i] = xt_start(churn_wait, &churn);
	while (xt_now() < end) {
		int slot = (int)(generation % NUMBERS), copies[2];

		if (churn_open(churn.base + slot, copies) < 0)
			break;
		generation++;
		XT_EXPECT_STATUS(kit_change(churn.kq,
		                            (uintptr_t)(churn.base + slot),
		                            EVFILT_READ, EV_ADD, 0, 0,
		                            (void *)(uintptr_t)generation), 0);
		if (generation % 4 == 0)
			while (atomic_load(&churn.events) < generation / 8 &&
			       xt_now() < end)
				sched_yield();
		close(churn.base + slot);
		atomic_store(&churn.closed[slot], generation);
		/* The copies have kept the file open until now. */
		close(copies[0]);
		close(copies[1]);
	}
	atomic_store(&churn.stop, true);
	for (int i = 0; i < 3; i++)
		xt_join(threads[i]);
	XT_EQ(churn.wrong, 0);
	XT_CHECK(churn.events > 0);
}

/* Many threads create and close queues at the same time. */
struct makers {
	atomic_int rounds;
	atomic_int failed;
};

static void make_and_close(void *opaque)
{
	struct makers *makers = opaque;

	for (int i = 0; i < (XT_SANITIZED ? 40 : 200); i++) {
		int kq = kqueue();
		struct kevent event;

		if (kq < 0 || kit_change(kq, 1, EVFILT_USER, EV_ADD,
		                         NOTE_TRIGGER, 0, NULL) != 0 ||
		    kit_look(kq, &event, 1) != 1 || close(kq) < 0)
			atomic_fetch_add(&makers->failed, 1);
		atomic_fetch_add(&makers->rounds, 1);
	}
}

XT_TEST(queues_are_made_and_closed_by_many_threads)
{
	/* ThreadSanitizer does not see the closes that the library makes. */
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer loses track of numbers");
	int before = xt_count_open();
	struct makers makers = {0};
	struct xt_thread *threads[6];

	for (int i = 0; i < 6; i++)
		threads[i] = xt_start(make_and_close, &makers);
	for (int i = 0; i < 6; i++)
		xt_join(threads[i]);
	XT_EQ(makers.failed, 0);
	XT_EQ(xt_count_open(), before);
}

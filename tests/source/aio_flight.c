/*
 * Goal: operations in progress (S24) are cancelled, outlive the thread that
 * submitted them, and meet xpoll_destroy, xpoll_close_fd and fork.  Each
 * completes once, and after that the library uses neither its buffer nor its
 * descriptor.
 * Method: files that are not in memory; a buffer whose page stops any thread
 * that touches it; the file's content is the oracle.
 */
#include "aio_kit.h"

#include <sched.h>
#include <sys/mman.h>

enum { MANY = 200 };

struct flight {
	struct xpoll *queue;
	int fd;
	struct xpoll_aio aios[MANY];
	char *room; /* buffers of AIO_LONG / 8 bytes each */
};

#define EACH ((size_t)(AIO_LONG / 8))

static void flight_begin(struct flight *flight)
{
	flight->queue = xt_open();
	flight->fd = kit_file((int64_t)MANY * 4096 + (int64_t)EACH);
#ifdef __FreeBSD__
	/*
	 * FreeBSD's kernel may lose data if two reads write to one page during a fork, so each
	 * buffer has its own pages.
	 */
	flight->room = aligned_alloc(4096, MANY * EACH);
#else
	flight->room = malloc(MANY * EACH);
#endif
	XT_CHECK(flight->room != NULL);
	memset(flight->room, 0x55, MANY * EACH);
	kit_random(flight->fd);
	for (int i = 0; i < MANY; i++)
		kit_op(&flight->aios[i], XPOLL_AIO_READ, flight->fd,
		       flight->room + (size_t)i * EACH, EACH, i * 37 % MANY * 4096);
}

static void flight_end(struct flight *flight)
{
	free(flight->room);
}

static void flight_submit(struct flight *flight)
{
	for (int i = 0; i < MANY; i++)
		XT_OK(kit_submit(flight->queue, &flight->aios[i]));
}

/*
 * Check that each result is complete and right, or -ECANCELED.  Returns the number of the latter.
 */
static int flight_cancelled(const struct flight *flight)
{
	int cancelled = 0;

	for (int i = 0; i < MANY; i++) {
		const struct xpoll_aio *aio = &flight->aios[i];

		if (aio->result == -ECANCELED)
			cancelled++;
		else if (!XT_EXPECT_EQ(aio->result, (int64_t)EACH) ||
		         !kit_right(aio->buffer, aio->offset, (int64_t)EACH))
			return -1;
	}
	return cancelled;
}

XT_TEST(cancel_gives_the_result_or_ecanceled_once)
{
	struct flight flight;

	XT_CALL(flight_begin(&flight));
	AIO_NEEDED(flight.queue);
	XT_CALL(flight_submit(&flight));
	for (int i = 0; i < MANY; i++)
		XT_EQ(xpoll_aio_cancel(flight.queue, &flight.aios[i]), 0);
	/* A second cancel has no effect. */
	for (int i = 0; i < MANY; i += 3)
		XT_EQ(xpoll_aio_cancel(flight.queue, &flight.aios[i]), 0);
	KIT_GETS_ALL(flight.queue, flight.aios, MANY);
	XT_CHECK(flight_cancelled(&flight) >= 0);
	for (int i = 0; i < MANY; i++)
		XT_FAILS(xpoll_aio_cancel(flight.queue, &flight.aios[i]), ENOENT);
	XT_NONE(flight.queue);
	flight_end(&flight);
}

XT_TEST(destroy_waits_and_no_buffer_is_touched_after_it)
{
	for (int round = 0; round < 5; round++) {
		struct flight flight;

		XT_CALL(flight_begin(&flight));
		AIO_NEEDED(flight.queue);
		XT_CALL(flight_submit(&flight));
		for (int i = 0; i < round * 40; i++)
			(void)sched_yield();
		xt_destroy(flight.queue);
		XT_CHECK(flight_cancelled(&flight) >= 0);
		/*
		 * xpoll_destroy has returned, so the program may reuse the memory: make it
		 * inaccessible, so that a late access crashes.
		 */
		XT_EQ(mprotect((void *)(((uintptr_t)flight.room + 4095) &
		                        ~(uintptr_t)4095), MANY * EACH - 4096,
		               PROT_READ), 0);
		XT_EQ(mprotect((void *)(((uintptr_t)flight.room + 4095) &
		                        ~(uintptr_t)4095), MANY * EACH - 4096,
		               PROT_READ | PROT_WRITE), 0);
		flight_end(&flight);
	}
}

/*
 * After xpoll_close_fd the descriptor may be reused: each operation has read the old file or was
 * cancelled.
 */
XT_TEST(close_fd_waits_and_no_operation_meets_the_next_file)
{
	for (int round = 0; round < 5; round++) {
		struct flight flight;
		int other = xt_file("another file");

		XT_CALL(flight_begin(&flight));
		AIO_NEEDED(flight.queue);
		XT_CALL(flight_submit(&flight));
		int number = xt_dup(flight.fd);
		XT_EQ(dup2(number, flight.fd), flight.fd);
		XT_EQ(xpoll_close_fd(flight.fd), 0);
		XT_EQ(dup2(other, flight.fd), flight.fd);
		KIT_GETS_ALL(flight.queue, flight.aios, MANY);
		XT_CHECK(flight_cancelled(&flight) >= 0);
		xt_destroy(flight.queue);
		flight_end(&flight);
	}
}

/* Operations on other descriptors of the same queue continue. */
XT_TEST(forget_fd_leaves_other_descriptors_alone)
{
	struct flight flight;
	int other = kit_file(AIO_LONG);
	char *buffer = malloc(AIO_LONG);
	struct xpoll_aio aio;

	XT_CALL(flight_begin(&flight));
	AIO_NEEDED(flight.queue);
	kit_op(&aio, XPOLL_AIO_READ, other, buffer, AIO_LONG, 0);
	XT_CALL(flight_submit(&flight));
	XT_EQ(xpoll_forget_fd(other), 0);
	KIT_GETS_ALL(flight.queue, flight.aios, MANY);
	XT_EXPECT_EQ(flight_cancelled(&flight), 0);
	XT_OK(kit_submit(flight.queue, &aio));
	XT_EQ(xpoll_forget_fd(flight.fd), 0);
	KIT_GETS_ALL(flight.queue, &aio, 1);
	XT_EXPECT_EQ(aio.result, AIO_LONG);
	free(buffer);
	flight_end(&flight);
}

/* --- Operations that take as long as the test wants --------------------------- */

struct held {
	struct kit_trap trap;
	struct xpoll *queue;
	int fd;
	struct xpoll_aio first; /* this operation is stopped in the trap */
	struct xpoll_aio next;
	char byte;
};

static void held_begin(struct held *held)
{
	held->queue = xt_open();
	held->fd = kit_file(AIO_LONG);
	kit_op(&held->first, XPOLL_AIO_WRITE, held->fd, held->trap.page, 4096,
	       0);
	kit_op(&held->next, XPOLL_AIO_FSYNC, held->fd, NULL, 0, 0);
	XT_OK(kit_submit(held->queue, &held->first));
	kit_trap_sprung(&held->trap);
	XT_OK(kit_submit(held->queue, &held->next));
}

/* Take the events of both operations, because their structures are on the test's stack. */
static void held_end(struct held *held)
{
	struct xpoll_event event;

	while (xpoll_aio_cancel(held->queue, &held->first) == 0 ||
	       xpoll_aio_cancel(held->queue, &held->next) == 0)
		(void)xpoll_event(held->queue, NULL, 0, &event, 1, XT_SOON);
	XT_EXPECT(held->first.result == 4096 ||
	          held->first.result == -ECANCELED);
	XT_EXPECT(held->next.result == 0 || held->next.result == -ECANCELED);
}

#define HELD(held)                                                        \
	do {                                                              \
		AIO_NEEDED(NULL);                                         \
		if (!kit_trap(&(held)->trap))                             \
			XT_SKIP(KIT_NO_TRAP);                             \
		XT_CALL(held_begin(held));                                \
	} while (0)

/*
 * An operation that has begun cannot be cancelled, and uses its buffer until its event is
 * delivered.
 */
XT_TEST(operation_under_way_blocks_neither_submit_nor_wait_nor_cancel)
{
	struct held held;
	struct xpoll_event event;

	HELD(&held);
	XT_EQ(xpoll_aio_cancel(held.queue, &held.first), 0);
	XT_STATUS(xt_flag(held.queue, (uintptr_t)&held.first, AIO,
	                  XPOLL_DELETE), EBUSY);
	XT_EQ(xpoll_lookup(held.queue, (uintptr_t)&held.first, AIO, &event), 0);
	XT_OK(xt_change(held.queue, 1, USER, XPOLL_ADD | XPOLL_ONESHOT,
	                XPOLL_NOTE_TRIGGER, 0, NULL));
	struct xpoll_event events[4];
	int rc = xt_take(held.queue, events, 4, XT_SOON);
	XT_CHECK(rc > 0 && xt_find(events, rc, 1, USER) >= 0);
	XT_CHECK(xt_find(events, rc, (uintptr_t)&held.first, AIO) < 0);
	kit_trap_open(&held.trap);
	held_end(&held);
}

static void destroy_it(void *argument)
{
	struct held *held = argument;

	xpoll_destroy(held->queue);
}

XT_TEST(destroy_waits_for_an_operation_under_way)
{
	struct held held;

	XT_SINGLE_ONLY();
	HELD(&held);
	xt_forget_queue(held.queue);
	struct xt_thread *thread = xt_start(destroy_it, &held);
	xt_asleep(thread);
	XT_EXPECT(!xt_done(thread));
	kit_trap_open(&held.trap);
	xt_join(thread);
	XT_EXPECT(held.first.result == 4096 ||
	          held.first.result == -ECANCELED);
	XT_EXPECT(held.next.result == 0 || held.next.result == -ECANCELED);
}

static void close_it(void *argument)
{
	struct held *held = argument;

	(void)XT_EXPECT_EQ(xpoll_close_fd(held->fd), 0);
}

/* While the operation runs, this queue and others can be used. */
XT_TEST(close_fd_waits_for_an_operation_under_way_and_holds_up_nobody_else)
{
	struct held held;
	struct xpoll *other = xt_open_quiet();

	HELD(&held);
	int number = xt_dup(held.fd);
	XT_EQ(dup2(number, held.fd), held.fd);
	struct xt_thread *thread = xt_start(close_it, &held);
	xt_asleep(thread);
	XT_EXPECT(!xt_done(thread));
	XT_EXPECT(fcntl(held.fd, F_GETFD) >= 0);
	XT_OK(xt_change(held.queue, 1, USER, XPOLL_ADD | XPOLL_ONESHOT,
	                XPOLL_NOTE_TRIGGER, 0, NULL));
	struct xpoll_event events[4];
	int rc = xt_take(held.queue, events, 4, XT_SOON);
	XT_CHECK(rc > 0);
	xt_destroy(other);
	xpoll_destroy(xpoll_create(1));
	XT_EQ(xpoll_forget_fd(number), 0);
	kit_trap_open(&held.trap);
	xt_join(thread);
	XT_FAILS(fcntl(held.fd, F_GETFD), EBADF);
	XT_EQ(dup2(number, held.fd), held.fd);
	held_end(&held);
}

/* --- Threads -------------------------------------------------------------------- */

struct part {
	struct flight *flight;
	int first;
};

static void submit_part(void *argument)
{
	struct part *part = argument;

	for (int i = part->first; i < part->first + MANY / 4; i++)
		XT_OK(kit_submit(part->flight->queue, &part->flight->aios[i]));
}

/* The kernel would cancel the operations that a thread has submitted when that thread exits. */
XT_TEST(operations_outlive_the_thread_that_submitted_them)
{
	struct flight flight;
	struct part parts[4];

	XT_CALL(flight_begin(&flight));
	AIO_NEEDED(flight.queue);
	for (int i = 0; i < 4; i++) {
		parts[i] = (struct part){&flight, i * MANY / 4};
		xt_join(xt_start(submit_part, &parts[i]));
	}
	KIT_GETS_ALL(flight.queue, flight.aios, MANY);
	XT_EXPECT_EQ(flight_cancelled(&flight), 0);
	flight_end(&flight);
}

struct taker {
	struct flight *flight;
	atomic_int *left;
};

static void take_some(void *argument)
{
	struct taker *taker = argument;

	while (atomic_load(taker->left) > 0) {
		struct xpoll_event events[3];
		int rc = xpoll_event(taker->flight->queue, NULL, 0, events, 3,
		                     XT_SOON);

		if (rc < 0 && !XT_EXPECT_EQ(errno, EINTR))
			break;
		for (int i = 0; i < rc; i++)
			if (XT_EXPECT_EQ(events[i].filter, AIO))
				atomic_fetch_sub(taker->left, 1);
	}
	(void)xpoll_wake(taker->flight->queue);
}

XT_TEST(several_threads_submit_cancel_and_take)
{
	struct flight flight;
	struct part parts[4];
	struct xt_thread *threads[7];
	atomic_int left;
	struct taker taker = {&flight, &left};

	XT_CALL(flight_begin(&flight));
	AIO_NEEDED(flight.queue);
	atomic_init(&left, MANY);
	for (int i = 0; i < 3; i++)
		threads[i] = xt_start(take_some, &taker);
	for (int i = 0; i < 4; i++) {
		parts[i] = (struct part){&flight, i * MANY / 4};
		threads[3 + i] = xt_start(submit_part, &parts[i]);
	}
	for (int i = 0; i < MANY; i++)
		(void)xpoll_aio_cancel(flight.queue, &flight.aios[i]);
	for (int i = 0; i < 7; i++)
		xt_join(threads[i]);
	XT_EXPECT_EQ(atomic_load(&left), 0);
	XT_CHECK(flight_cancelled(&flight) >= 0);
	flight_end(&flight);
}

/* --- fork (S26) ------------------------------------------------------------------- */

static void child_tries(void *argument)
{
	struct flight *flight = argument;

	XT_FAILS(xpoll_aio_submit(flight->queue, &flight->aios[0]), EBADF);
	XT_FAILS(xpoll_aio_cancel(flight->queue, &flight->aios[0]), EBADF);
	xpoll_destroy(flight->queue);
}

static void child_takes_over(void *argument)
{
	struct flight *flight = argument;
	struct xpoll_event now;

	XT_EQ(xpoll_reinit(flight->queue), 0);
	/* In the child: the operations in progress belong to the parent. */
	XT_FAILS(xpoll_lookup(flight->queue, (uintptr_t)&flight->aios[0], AIO,
	                      &now), ENOENT);
	XT_NONE(flight->queue);
	for (int i = 0; i < MANY; i++)
		XT_OK(kit_submit(flight->queue, &flight->aios[i]));
	KIT_GETS_ALL(flight->queue, flight->aios, MANY);
	XT_EXPECT_EQ(flight_cancelled(flight), 0);
	xpoll_destroy(flight->queue);
}

/* The child creates a queue of its own while it has the inherited one. */
static void child_begins_anew(void *argument)
{
	struct flight *flight = argument;
	struct xpoll *inherited = flight->queue;

	flight->queue = xpoll_create(1);
	XT_CHECK(flight->queue != NULL);
	XT_EQ(xpoll_forget_fd(flight->fd), 0);
	XT_CALL(flight_submit(flight));
	xpoll_destroy(inherited);
	KIT_GETS_ALL(flight->queue, flight->aios, MANY);
	XT_EXPECT_EQ(flight_cancelled(flight), 0);
	xpoll_destroy(flight->queue);
}

static void forked(void (*child)(void *))
{
	struct flight flight;

	XT_SINGLE_ONLY();
	XT_CALL(flight_begin(&flight));
	AIO_NEEDED(flight.queue);
	XT_CALL(flight_submit(&flight));
	for (int i = 0; i < 3; i++)
		XT_CHECK(xt_child(child, &flight));
	KIT_GETS_ALL(flight.queue, flight.aios, MANY);
	XT_EXPECT_EQ(flight_cancelled(&flight), 0);
	flight_end(&flight);
}

XT_TEST(fork_child_is_ebadf_and_the_parent_gets_all)
{
	XT_CALL(forked(child_tries));
}

XT_TEST(fork_child_reinit_has_its_own)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	XT_CALL(forked(child_takes_over));
}

XT_TEST(fork_child_with_a_new_queue_has_its_own)
{
	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer starts no thread after fork");
	XT_CALL(forked(child_begins_anew));
}

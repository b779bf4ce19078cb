/*
 * Goal: a queue is not inherited by fork (S26, hazard 16): in the child every
 * call except xpoll_destroy and xpoll_reinit fails with EBADF, and nothing that
 * the child does affects the parent.
 * Method: children that call every function; checks of the parent's queue
 * before and after.
 */
#include "xt.h"

#include <sched.h>
#include <sys/wait.h>

struct family {
	struct xpoll *queue;
	struct xt_pair pipe; /* READ, level-triggered */
	struct xt_pair edge; /* READ with CLEAR|DISPATCH, and the other end */
	int file;
	uint64_t ident;
};

static void *mark(uintptr_t value)
{
	return (void *)value;
}

static void family_make(struct family *family)
{
	family->queue = xt_open_quiet();
	family->pipe = xt_pipe();
	family->edge = xt_pipe();
	family->file = xt_file("text");
	family->ident = (uint64_t)family->pipe.r;
	XT_OK(xt_change(family->queue, family->ident, READ, XPOLL_ADD, 0, 0,
	                mark(1)));
	XT_OK(xt_change(family->queue, (uint64_t)family->edge.r, READ,
	                XPOLL_ADD | XPOLL_CLEAR | XPOLL_DISPATCH, 0, 0,
	                mark(2)));
	XT_OK(xt_change(family->queue, (uint64_t)family->edge.w, WRITE,
	                XPOLL_ADD | XPOLL_DISABLE, 0, 0, mark(3)));
	XT_OK(xt_change(family->queue, 1, USER, XPOLL_ADD | XPOLL_CLEAR, 0, 0,
	                mark(4)));
}

/* Check that the parent's queue works as before. */
static void family_is_whole(struct family *family)
{
	struct xpoll_event event;

	XT_NONE(family->queue);
	xt_put(family->pipe.w);
	XT_GETS(family->queue, &event, family->ident, READ);
	XT_EXPECT(event.udata == mark(1));
	XT_EQ(xt_get(family->pipe.r), 'x');
	xt_put(family->edge.w);
	XT_GETS(family->queue, NULL, family->edge.r, READ);
	XT_EQ(xt_get(family->edge.r), 'x');
	XT_OK(xt_flag(family->queue, (uint64_t)family->edge.r, READ,
	              XPOLL_ENABLE));
	XT_OK(xt_flag(family->queue, (uint64_t)family->edge.w, WRITE,
	              XPOLL_ENABLE));
	XT_GETS(family->queue, NULL, family->edge.w, WRITE);
	XT_OK(xt_flag(family->queue, (uint64_t)family->edge.w, WRITE,
	              XPOLL_DISABLE));
	XT_OK(xt_trigger(family->queue, 1));
	XT_GETS(family->queue, &event, 1, USER);
	XT_EXPECT(event.udata == mark(4));
	XT_NONE(family->queue);
}

static void child_tries_all(void *argument)
{
	struct family *family = argument;
	struct xpoll *queue = family->queue;
	struct xpoll_event change = xt_record(family->ident, READ, XPOLL_DELETE);
	struct xpoll_event event;
	struct xpoll_stats stats;
	struct xpoll_aio aio = {.size = sizeof aio, .fd = family->file};

	XT_FAILS(xpoll_event(queue, &change, 1, NULL, 0, 0), EBADF);
	XT_FAILS(xpoll_event(queue, NULL, 0, &event, 1, -1), EBADF);
	XT_FAILS(xpoll_event_mask(queue, NULL, 0, &event, 1, -1, NULL), EBADF);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, family->pipe.r, NULL),
	         EBADF);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, family->pipe.w, NULL),
	         EBADF);
	XT_FAILS(xpoll_wait(queue, -1), EBADF);
	XT_FAILS(xpoll_wake(queue), EBADF);
	XT_FAILS(xpoll_wake_all(queue), EBADF);
	XT_FAILS(xpoll_fd(queue), EBADF);
	XT_FAILS(xpoll_next_timeout(queue), EBADF);
	XT_FAILS(xpoll_stats(queue, &stats, sizeof stats), EBADF);
	errno = 0;
	XT_EQ(xpoll_revents(queue, NULL), 0);
	XT_EXPECT_STATUS(errno, EBADF);
	XT_FAILS(xpoll_lookup(queue, family->ident, READ, &event), EBADF);
	XT_FAILS(xpoll_aio_submit(queue, &aio), EBADF);
	XT_FAILS(xpoll_aio_cancel(queue, &aio), EBADF);
	XT_EXPECT(strcmp(xpoll_backend(queue), xt_backend) == 0);
	xpoll_destroy(queue);
}

/* Complaint: A forked child disturbs the parent's loop. */
XT_TEST(child_every_call_is_ebadf_and_the_parent_is_whole)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_tries_all, &family));
	XT_CALL(family_is_whole(&family));
}

static void child_only_destroys(void *argument)
{
	struct family *family = argument;

	xpoll_destroy(family->queue);
}

XT_TEST(child_destroy_touches_nothing_of_the_parents)
{
	struct family family;

	XT_CALL(family_make(&family));
	for (int i = 0; i < 3; i++)
		XT_CHECK(xt_child(child_only_destroys, &family));
	XT_CALL(family_is_whole(&family));
}

/* Hazard 16: xpoll_close_fd and xpoll_forget_fd walk over all queues of the process. */
static void child_closes_descriptors(void *argument)
{
	struct family *family = argument;

	XT_EQ(xpoll_forget_fd(family->pipe.r), 0);
	XT_EQ(xpoll_close_fd(family->pipe.r), 0);
	XT_FAILS(xpoll_close_fd(family->pipe.r), EBADF);
	XT_EQ(xpoll_close_fd(family->edge.r), 0);
	XT_EQ(xpoll_close_fd(family->edge.w), 0);
}

XT_TEST(hazard_16_child_close_fd_does_not_change_the_parents_set)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_closes_descriptors, &family));
	XT_CALL(family_is_whole(&family));
}

/* The child creates a queue of its own before it uses the old one. */
static void child_makes_its_own(void *argument)
{
	struct family *family = argument;
	struct xpoll *queue = xpoll_open(NULL);

	XT_CHECK(queue);
	XT_OK(xt_add(queue, family->pipe.r, READ, 0));
	xt_put(family->pipe.w);
	XT_GETS(queue, NULL, family->pipe.r, READ);
	XT_EQ(xt_get(family->pipe.r), 'x');
	XT_EQ(xpoll_close_fd(family->pipe.r), 0);
	XT_NONE(queue);
	xpoll_destroy(queue);
	XT_FAILS(xpoll_wake(family->queue), EBADF);
}

XT_TEST(hazard_16_child_own_queue_works_and_the_parent_is_whole)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_makes_its_own, &family));
	XT_CALL(family_is_whole(&family));
}

/* S26: xpoll_reinit makes the queue the child's own. */
static void child_reinits(void *argument)
{
	struct family *family = argument;
	struct xpoll *queue = family->queue;
	struct xpoll_event now;

	XT_EQ(xpoll_reinit(queue), 0);
	XT_FAILS(xpoll_reinit(queue), EINVAL);
	XT_EQ(xpoll_lookup(queue, (uint64_t)family->edge.r, READ, &now), 0);
	XT_EXPECT_EQ(now.flags & (XPOLL_CLEAR | XPOLL_DISPATCH | XPOLL_DISABLE),
	             XPOLL_CLEAR | XPOLL_DISPATCH);
	XT_EQ(xpoll_lookup(queue, (uint64_t)family->edge.w, WRITE, &now), 0);
	XT_EXPECT(now.flags & XPOLL_DISABLE);
	XT_CALL(family_is_whole(family));
	/* After this the queue belongs to the child, so all changes succeed. */
	XT_OK(xt_flag(queue, family->ident, READ, XPOLL_DELETE));
	XT_OK(xt_flag(queue, 1, USER, XPOLL_DELETE));
	XT_EQ(xpoll_close_fd(family->edge.r), 0);
	XT_EQ(xpoll_wake(queue), 0);
	xpoll_destroy(queue);
}

/* Complaint: A forked child disturbs the parent's loop. */
XT_TEST(child_reinit_has_the_same_registrations_of_its_own)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_reinits, &family));
	XT_CALL(family_is_whole(&family));
	XT_FAILS(xpoll_reinit(family.queue), EINVAL);
}

/* Registrations that the library checks itself, and files that are always ready, are kept, too. */
static void child_reinits_lazy(void *argument)
{
	struct family *family = argument;
	struct xpoll_event events[8];

	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_EQ(xpoll_event(family->queue, NULL, 0, events, 8, -1), 2);
	XT_EXPECT(xt_find(events, 2, family->ident, READ) >= 0);
	XT_EXPECT(xt_find(events, 2, (uint64_t)family->file, READ) >= 0);
	XT_OK(xt_flag(family->queue, family->ident, READ, XPOLL_DISABLE));
	XT_GETS(family->queue, NULL, family->file, READ);
}

XT_TEST(child_reinit_after_toggles_delivers_what_holds)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_OK(xt_add(family.queue, family.file, READ, 0));
	for (int i = 0; i < 3; i++) {
		XT_OK(xt_flag(family.queue, family.ident, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(family.queue, family.ident, READ, XPOLL_ENABLE));
	}
	xt_put(family.pipe.w);
	XT_CHECK(xt_child(child_reinits_lazy, &family));
}

/*
 * The new queue of the child gets the numbers of closed descriptors that the tables still contain.
 * Those registrations end, but the queue's own wake-up descriptor must keep working.
 */
static void child_reinits_in_closed_numbers(void *argument)
{
	struct family *family = argument;
	int numbers[] = {family->pipe.r, family->edge.r};
	struct xpoll_event now;

	XT_EQ(close(numbers[0]), 0);
	XT_EQ(close(numbers[1]), 0);
	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_CHECK(fcntl(numbers[0], F_GETFD) >= 0);
	for (int i = 0; i < 2; i++) {
		XT_FAILS(xpoll_lookup(family->queue, (uint64_t)numbers[i], READ,
		                      &now), ENOENT);
		(void)xt_flag(family->queue, (uint64_t)numbers[i], READ,
		              XPOLL_DELETE);
		XT_EQ(xpoll_wake(family->queue), 0);
		XT_EQ(xpoll_event(family->queue, NULL, 0, &now, 1, -1), 0);
	}
}

XT_TEST(child_reinit_in_closed_numbers_keeps_its_wake)
{
	if (getenv("MODEL_KERNEL"))
		XT_SKIP("the drop-in has descriptors of its own");
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_reinits_in_closed_numbers, &family));
}

/* Three registrations are delivered once each, in one wait or several. */
static void take_three(struct xpoll *queue)
{
	struct xpoll_event events[8];
	int taken = 0;

	while (taken < 3) {
		int rc = xpoll_event(queue, NULL, 0, events, 8, XT_SOON);

		XT_CHECK(rc > 0);
		taken += rc;
	}
	XT_EQ(taken, 3);
	XT_NONE(queue);
}

static void child_takes_edges(void *argument)
{
	struct xpoll *queue = argument;

	XT_EQ(xpoll_reinit(queue), 0);
	take_three(queue);
}

/* With CLEAR, conditions that hold are delivered to the child again, whatever the kind of file. */
XT_TEST(child_reinit_delivers_clear_of_each_kind_of_file)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pipe = xt_pipe();
	int folder = xt_keep(open("/", O_RDONLY | O_CLOEXEC));

	xt_put(pipe.w);
	XT_OK(xt_add(queue, pipe.r, READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, xt_file("text"), READ, XPOLL_CLEAR));
	XT_OK(xt_add(queue, folder, READ, XPOLL_CLEAR));
	take_three(queue);
	XT_CHECK(xt_child(child_takes_edges, queue));
	XT_NONE(queue);
}

/* xpoll_reinit drops pending events and a pending wake in the child. */
static void child_reinits_pending(void *argument)
{
	struct family *family = argument;

	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_NONE(family->queue);
	uint64_t wakes = xt_stats(family->queue).wakes;
	XT_OK(xt_trigger(family->queue, 1));
	XT_GETS(family->queue, NULL, 1, USER);
	XT_NONE(family->queue);
	XT_EQ(xt_stats(family->queue).wakes, wakes);
}

XT_TEST(child_reinit_drops_pending_events)
{
	struct family family;
	struct xpoll_event event;

	XT_SINGLE_ONLY(); /* of two waiting threads the second one would consume the wake */
	XT_CALL(family_make(&family));
	XT_OK(xt_trigger(family.queue, 1));
	XT_EQ(xpoll_wake(family.queue), 0);
	XT_CHECK(xt_child(child_reinits_pending, &family));
	/* The child's xpoll_reinit has not taken the parent's pending events. */
	XT_GETS(family.queue, NULL, 1, USER);
	XT_EQ(xpoll_event(family.queue, NULL, 0, &event, 1, -1), 0);
}

static void grandchild_tries(void *argument)
{
	struct family *family = argument;

	XT_FAILS(xpoll_wake(family->queue), EBADF);
	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_CALL(family_is_whole(family));
}

static void child_has_a_child(void *argument)
{
	struct family *family = argument;

	/* The child does not use the queue, and forks a child itself. */
	XT_CHECK(xt_child(grandchild_tries, family));
	XT_FAILS(xpoll_wake(family->queue), EBADF);
	XT_EQ(xpoll_reinit(family->queue), 0);
	XT_CHECK(xt_child(grandchild_tries, family));
	XT_CALL(family_is_whole(family));
}

XT_TEST(grandchild_reinit_works_beside_parent_and_child)
{
	struct family family;

	XT_CALL(family_make(&family));
	XT_CHECK(xt_child(child_has_a_child, &family));
	XT_CALL(family_is_whole(&family));
}

/*
 * S26: another thread waits in the queue when the process forks.  In the child a call may at worst
 * fail with EBUSY, and xpoll_destroy must not wait for that thread, which the child does not have.
 */
static void child_of_busy_parent(void *argument)
{
	struct family *family = argument;
	int rc = xpoll_reinit(family->queue);

	if (rc < 0)
		XT_EQ(errno, EBUSY);
	else
		XT_CALL(family_is_whole(family));
	xpoll_destroy(family->queue);
}

static void wait_for_ever(void *argument)
{
	struct family *family = argument;
	struct xpoll_event event;

	(void)xpoll_event(family->queue, NULL, 0, &event, 1, -1);
}

XT_TEST(child_of_parent_with_waiter_can_destroy)
{
	struct family family;

	if (XT_TSAN)
		XT_SKIP("ThreadSanitizer knows no order between a thread and "
		        "a child");
	XT_CALL(family_make(&family));
	struct xt_thread *thread = xt_start(wait_for_ever, &family);
	xt_asleep(thread);
	bool fine = xt_child(child_of_busy_parent, &family) &&
	            xt_child(child_only_destroys, &family);
	xt_send_home(family.queue, thread);
	XT_CHECK(fine);
	/*
	 * Parent and child share the pipes, so a byte that the child wrote may have arrived here.
	 */
	XT_OK(xt_flag(family.queue, (uint64_t)family.edge.r, READ, XPOLL_ENABLE));
	XT_CALL(family_is_whole(&family));
}

/*
 * A living child's copy of the descriptor keeps the parent's closed file in the epoll set (hazard
 * 2).
 */
XT_TEST(hazard_02_child_keeps_a_closed_file_open_and_others_survive)
{
	struct family family;
	struct xt_pair gate = xt_pipe();
	struct xpoll_event event;
	char byte;

	XT_CALL(family_make(&family));
	XT_EQ(fcntl(gate.r, F_SETFL, 0), 0);
	(void)fflush(stdout);
	pid_t child = fork();
	XT_CHECK(child >= 0);
	if (child == 0) {
		(void)close(gate.w);
		/* The child lives until the parent closes the gate. */
		_exit(read(gate.r, &byte, 1) == 0 ? 0 : 1);
	}
	int copy = xt_dup(family.pipe.w);
	xt_close(family.pipe.r);
	if (write(copy, "x", 1) != 1)
		xt_note("nobody holds the pipe");
	for (int i = 0; i < 100; i++)
		(void)xpoll_event(family.queue, NULL, 0, &event, 1, 0);
	int rc = xpoll_event(family.queue, NULL, 0, &event, 1, 0);
	xt_close(gate.w);
	XT_EXPECT_EQ(waitpid(child, NULL, 0), child);
	XT_EQ(rc, 0);
	XT_OK(xt_trigger(family.queue, 1));
	XT_GETS(family.queue, NULL, 1, USER);
}

/*
 * Goal: xpoll behaves the same on kernels whose kqueue(2) differs: records of
 * failed changes (macOS), a pipe without a reader (NetBSD), no EVFILT_USER (old
 * OpenBSD).  It also polls the queue's own kqueue descriptor, because no kernel
 * clears the readiness of one whose report no longer holds.
 * Method: a kevent(2) in front of the drop-in's, which behaves like these
 * kernels.
 */
#include "xt.h"

#include <dlfcn.h>
#include <sys/event.h>

enum { TIMER = XPOLL_FILT_TIMER, CHANGES_MOST = 128 };

typedef int kevent_call(int, const struct kevent *, int, struct kevent *, int,
                        const struct timespec *);

static enum { FREEBSD, MACOS, NETBSD, OPENBSD } kernel;
static int said;          /* number of results that the model has changed */
static int watched = -1;  /* descriptor of a kqueue whose polls are counted */
static int asked;         /* number of polls of `watched` */

/* Change the result of a change to that of the modelled kernel. */
static void answer(struct kevent *event, const struct kevent *changes, int len)
{
	if (!(event->flags & EV_ERROR))
		return;
	if (kernel == NETBSD && event->filter == EVFILT_WRITE &&
	    event->data == EPIPE) {
		event->data = EBADF;
		said++;
	}
	for (int i = 0; i < len && kernel == MACOS; i++)
		if (changes[i].ident == event->ident &&
		    changes[i].filter == event->filter) {
			event->flags |= changes[i].flags;
			said += event->data != 0;
		}
}

int kevent(int queue, const struct kevent *changes, int len,
           struct kevent *events, int cap, const struct timespec *timeout)
{
	static kevent_call *real;
	struct kevent copy[CHANGES_MOST];
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "kevent");
	if (len < 0 || len > CHANGES_MOST) {
		errno = EINVAL;
		return -1;
	}
	/* The arrays of changes and events may be the same, so keep a copy of the changes. */
	if (len > 0)
		memcpy(copy, changes, (size_t)len * sizeof *copy);
	asked += queue == watched && cap > 0 && len == 0;
	if (kernel == OPENBSD && len == 1 && copy[0].filter == EVFILT_USER) {
		events[0] = copy[0];
		events[0].flags = EV_ERROR;
		events[0].data = EINVAL;
		said++;
		return 1;
	}
	rc = real(queue, changes, len, events, cap, timeout);
	for (int i = 0; i < rc; i++)
		answer(&events[i], copy, len);
	return rc;
}

static struct xpoll *queue_on(int which)
{
	kernel = which;
	said = 0;
	return xt_open_quiet();
}

XT_TEST(failed_changes_of_macos_are_told_as_those_of_others)
{
	struct xpoll *queue = queue_on(MACOS);
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event now;
	uint64_t ident = (uint64_t)pipe.r;

	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_GETS(queue, NULL, pipe.r, READ);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_DISABLE));
	XT_NONE(queue);
	/* The change that is passed with the next wait fails, because the pipe has no reader. */
	xt_close(pipe.r);
	XT_OK(xt_flag(queue, ident, READ, XPOLL_ENABLE));
	XT_NONE(queue);
	XT_CHECK(said > 0);
	XT_FAILS(xpoll_lookup(queue, ident, READ, &now), ENOENT);
	XT_STATUS(xt_flag(queue, ident, READ, XPOLL_DELETE), EBADF);
	XT_STATUS(xt_add(queue, pipe.r, READ, 0), EBADF);
}

XT_TEST(pipe_that_nobody_reads_is_watched_though_netbsd_says_ebadf)
{
	struct xpoll *queue = queue_on(NETBSD);
	struct xt_pair pipe = xt_pipe();
	struct xpoll_event event;

	xt_close(pipe.r);
	XT_OK(xt_add(queue, pipe.w, WRITE, 0));
	XT_CHECK(said > 0);
	XT_GETS(queue, &event, pipe.w, WRITE);
	XT_EXPECT(event.flags & XPOLL_EOF);
	XT_OK(xt_flag(queue, (uint64_t)pipe.w, WRITE, XPOLL_DELETE));
	XT_NONE(queue);
	xt_close(pipe.w);
	XT_STATUS(xt_add(queue, pipe.w, WRITE, 0), EBADF);
}

/* After the failure no registration remains, as DIFFERENCES.md says. */
XT_TEST(pipe_that_nobody_reads_is_epipe_without_user_events)
{
	struct xpoll *queue = queue_on(OPENBSD);
	struct xt_pair pipe = xt_pipe();
	struct xt_pair other = xt_pipe();

	xt_close(pipe.r);
	XT_STATUS(xt_add(queue, pipe.w, WRITE, 0), EPIPE);
	XT_CHECK(said > 0);
	XT_NONE(queue);
	XT_EXPECT_EQ(xt_stats(queue).registered, 0);
	/* The descriptor is reused for another pipe, which has a reader. */
	xt_number(other.w, pipe.w);
	XT_OK(xt_add(queue, pipe.w, WRITE, 0));
	XT_GETS(queue, NULL, pipe.w, WRITE);
}

/* FreeBSD keeps a kqueue readable after it has reported an event, until a kevent(2) polls it. */
XT_TEST(descriptor_of_a_queue_is_asked_what_is_over)
{
	struct xpoll *queue = queue_on(FREEBSD);
	struct xt_pair pipe = xt_pipe();

	watched = xpoll_fd(queue);
	XT_CHECK(watched >= 0);
	XT_OK(xt_add(queue, pipe.r, READ, 0));
	XT_NONE(queue);
	xt_put(pipe.w);
	XT_CHECK(xt_poll_until(watched, POLLIN, POLLIN));
	XT_GETS(queue, NULL, pipe.r, READ);
	(void)xt_get(pipe.r);
	asked = 0;
	XT_NONE(queue);
	XT_EXPECT(asked > 0);
	XT_EQ(xt_poll(watched, POLLIN), 0);
	watched = -1;
}

/*
 * The poll consumes the timer's event, so the library makes its wake-up descriptor readable until
 * the event is delivered.
 */
XT_TEST(timer_that_has_come_keeps_the_descriptor_readable)
{
	struct xpoll *queue = queue_on(FREEBSD);

	watched = xpoll_fd(queue);
	XT_CHECK(watched >= 0);
	XT_OK(xt_change(queue, 1, TIMER, XPOLL_ADD | XPOLL_ONESHOT,
	                XPOLL_NOTE_NSECONDS, 2000000, NULL));
	XT_EQ(xt_poll(watched, POLLIN), 0);
	XT_CHECK(xt_poll_until(watched, POLLIN, POLLIN));
	/* Waits at the poll-like level do not consume the timer's event. */
	for (int i = 0; i < 3; i++) {
		XT_EQ(xpoll_wait(queue, 0), 0);
		XT_EQ(xt_poll(watched, POLLIN), POLLIN);
	}
	XT_GETS(queue, NULL, 1, TIMER);
	XT_NONE(queue);
	XT_EQ(xt_poll(watched, POLLIN), 0);
	watched = -1;
}

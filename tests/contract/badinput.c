/*
 * Goal: bad input fails with its error and is never ignored silently; each of
 * several bad changes in one call gets its own error (S5).
 * Method: a table of changes with the status that each must get; each change is
 * submitted alone, and then all at once with room for all results.
 */
#include "xt.h"

#include <limits.h>

struct bad_change {
	const char *what;
	uint64_t ident;
	int filter;
	int flags;
	uint32_t fflags;
	int64_t data;
	int status;
};

/* stand for descriptors that the test opens or closes */
enum { FD = 1000, CLOSED = 1001, O_PATH_FD = 1002 };

static const struct bad_change cases[] = {
	{"closed READ", CLOSED, READ, XPOLL_ADD, 0, 0, EBADF},
	{"closed WRITE", CLOSED, WRITE, XPOLL_ADD, 0, 0, EBADF},
	{"closed EXCEPT", CLOSED, EXCEPT, XPOLL_ADD, 2, 0, EBADF},
	{"negative fd", UINT64_MAX, READ, XPOLL_ADD, 0, 0, EBADF},
	{"fd above int", UINT64_C(1) << 32, READ, XPOLL_ADD, 0, 0, EBADF},
	{"fd INT_MAX", INT_MAX, READ, XPOLL_ADD, 0, 0, EBADF},
	{"fd INT_MAX + 1", UINT64_C(0x80000000), READ, XPOLL_ADD, 0, 0, EBADF},
	{"filter 0", FD, 0, XPOLL_ADD, 0, 0, EINVAL},
	{"filter 1", FD, 1, XPOLL_ADD, 0, 0, EINVAL},
	{"filter -8", FD, -8, XPOLL_ADD, 0, 0, EINVAL},
	{"filter -100", FD, -100, XPOLL_ADD, 0, 0, EINVAL},
	{"filter INT16_MIN", FD, INT16_MIN, XPOLL_ADD, 0, 0, EINVAL},
	{"filter INT16_MAX", FD, INT16_MAX, XPOLL_ADD, 0, 0, EINVAL},
	/* Truncated to 16 bits, these values would be READ and ADD. */
	{"filter 65535", FD, 65535, XPOLL_ADD, 0, 0, EINVAL},
	{"filter INT_MIN | -1", FD, INT_MIN | 0xffff, XPOLL_ADD, 0, 0, EINVAL},
	{"flag 0x10000", FD, READ, XPOLL_ADD | 0x10000, 0, 0, EINVAL},
	{"flag INT_MIN", FD, READ, XPOLL_ADD | INT_MIN, 0, 0, EINVAL},
	{"USER flag 0x10000", 1, USER, XPOLL_ADD | 0x10000, 0, 0, EINVAL},
	{"no action", FD, READ, 0, 0, 0, EINVAL},
	{"only CLEAR", FD, READ, XPOLL_CLEAR, 0, 0, EINVAL},
	{"ADD and DELETE", FD, READ, XPOLL_ADD | XPOLL_DELETE, 0, 0, EINVAL},
	{"ENABLE and DISABLE", FD, READ, XPOLL_ENABLE | XPOLL_DISABLE, 0, 0,
	 EINVAL},
	{"ADD, ENABLE and DISABLE", FD, READ,
	 XPOLL_ADD | XPOLL_ENABLE | XPOLL_DISABLE, 0, 0, EINVAL},
	{"flag 0x0100", FD, READ, XPOLL_ADD | 0x0100, 0, 0, EINVAL},
	{"flag 0x0800", FD, READ, XPOLL_ADD | 0x0800, 0, 0, EINVAL},
	{"flag 0x1000", FD, READ, XPOLL_ADD | 0x1000, 0, 0, EINVAL},
	{"flag 0x2000", FD, READ, XPOLL_ADD | 0x2000, 0, 0, EINVAL},
	{"unknown note", FD, READ, XPOLL_ADD, 0x00800000u, 0, EINVAL},
	{"note of another filter", FD, WRITE, XPOLL_ADD, XPOLL_NOTE_TRIGGER, 0,
	 EINVAL},
	{"EXCEPT unknown note", FD, EXCEPT, XPOLL_ADD, 0x00000400u, 0, EINVAL},
	{"USER unknown note", 1, USER, XPOLL_ADD, 0x02000000u, 0, EINVAL},
	{"USER ADD and DELETE", 1, USER, XPOLL_ADD | XPOLL_DELETE, 0, 0, EINVAL},
	{"USER trigger absent", 1, USER, 0, XPOLL_NOTE_TRIGGER, 0, ENOENT},
	{"USER delete absent", 1, USER, XPOLL_DELETE, 0, 0, ENOENT},
	{"READ delete absent", FD, READ, XPOLL_DELETE, 0, 0, ENOENT},
	{"READ enable absent", FD, READ, XPOLL_ENABLE, 0, 0, ENOENT},
	{"WRITE disable absent", FD, WRITE, XPOLL_DISABLE, 0, 0, ENOENT},
#ifdef O_PATH
	{"O_PATH READ", O_PATH_FD, READ, XPOLL_ADD, 0, 0, ENOTSUP},
	{"O_PATH WRITE", O_PATH_FD, WRITE, XPOLL_ADD, 0, 0, ENOTSUP},
	{"O_PATH EXCEPT", O_PATH_FD, EXCEPT, XPOLL_ADD, 2, 0, ENOTSUP},
#endif
	{"LOWAT of 0", FD, READ, XPOLL_ADD, XPOLL_NOTE_LOWAT, 0, EINVAL},
	{"COUNT EXCEPT", FD, EXCEPT, XPOLL_ADD, XPOLL_NOTE_COUNT, 0, EINVAL},
	{"LOWAT of -1", FD, WRITE, XPOLL_ADD, XPOLL_NOTE_LOWAT, -1, EINVAL},
	{"TIMER < 0", 1, XPOLL_FILT_TIMER, XPOLL_ADD, 0, -1, EINVAL},
	{"TIMER units", 1, XPOLL_FILT_TIMER, XPOLL_ADD, 3, 1000, EINVAL},
	{"SIGNAL 0", 0, XPOLL_FILT_SIGNAL, XPOLL_ADD, 0, 0, EINVAL},
	{"SIGNAL note", SIGUSR2, XPOLL_FILT_SIGNAL, XPOLL_ADD, 2, 0, EINVAL},
	{"PROC 0", 0, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0, ESRCH},
	{"PROC huge", UINT64_MAX, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT, 0, ESRCH},
	{"PROC note that comes out", 1, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_CHILD, 0, EINVAL},
	{"PROC delete absent", 1, XPOLL_FILT_PROC, XPOLL_DELETE, 0, 0, ENOENT},
	{"VNODE of a pipe", FD, VNODE, XPOLL_ADD, XPOLL_NOTE_WRITE, 0, EINVAL},
	{"VNODE note", FD, VNODE, XPOLL_ADD, 0x800, 0, EINVAL},
	{"AIO", 4096, XPOLL_FILT_AIO, XPOLL_ADD, 0, 0, EPERM},
	{"EMPTY with CLEAR", FD, XPOLL_FILT_EMPTY, XPOLL_ADD | XPOLL_CLEAR, 0, 0, ENOTSUP},
};

#define CASES ((int)(sizeof cases / sizeof *cases))

/* Returns the status that this change must get here: illumos has no processes as a source. */
static int case_status(const struct bad_change *change)
{
	return xt_sunos() && change->filter == XPOLL_FILT_PROC ? ENOTSUP
		: change->status;
}

struct stand_ins {
	int fd;
	int closed;
	int o_path;
};

static struct stand_ins stand_ins_make(void)
{
	struct stand_ins real = {.fd = xt_pipe().r, .o_path = -1};

#ifdef O_PATH
	real.o_path = xt_open_path("/tmp", O_PATH);
#endif
	/* A descriptor far above all others, so that no other thread opens it meanwhile. */
	real.closed = 900;
	return real;
}

static struct xpoll_event case_record(const struct bad_change *change,
                                      const struct stand_ins *real)
{
	struct xpoll_event record;
	uint64_t ident = change->ident;

	if (ident == FD)
		ident = (uint64_t)real->fd;
	else if (ident == CLOSED)
		ident = (uint64_t)real->closed;
	else if (ident == O_PATH_FD)
		ident = (uint64_t)real->o_path;
	return *xpoll_set(&record, ident, change->filter, change->flags,
	                  change->fflags, change->data, NULL);
}

XT_TEST(bad_change_alone_has_its_error)
{
	struct xpoll *queue = xt_open();
	struct stand_ins real = stand_ins_make();

	for (int i = 0; i < CASES; i++) {
		struct xpoll_event record = case_record(&cases[i], &real);
		int rc;

		errno = 0;
		rc = xpoll_event(queue, &record, 1, NULL, 0, 0);
		if (rc != -1 || errno != case_status(&cases[i]))
			xt_fail(__FILE__, __LINE__, "%s: %d, %s, not %s",
			        cases[i].what, rc, xt_error_name(errno),
			        xt_error_name(case_status(&cases[i])));
	}
	XT_NONE(queue);
	XT_EXPECT(xt_threads || xt_stats(queue).registered == 0);
}

XT_TEST(bad_changes_together_each_has_its_error)
{
	struct xpoll *queue = xt_open();
	struct stand_ins real = stand_ins_make();
	struct xpoll_event records[CASES];

	for (int i = 0; i < CASES; i++)
		records[i] = case_record(&cases[i], &real);
	XT_EQ(xpoll_event(queue, records, CASES, records, CASES, -1), CASES);
	for (int i = 0; i < CASES; i++)
		if (!(records[i].flags & XPOLL_ERROR) ||
		    records[i].data != case_status(&cases[i]))
			xt_fail(__FILE__, __LINE__, "%s: %s, not %s",
			        cases[i].what,
			        xt_error_name((int)records[i].data),
			        xt_error_name(case_status(&cases[i])));
}

XT_TEST(bad_counts_and_arrays_are_einval)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event record = xt_record(1, USER, XPOLL_ADD);
	struct xpoll_event now;

	XT_FAILS(xpoll_event(queue, &record, -1, NULL, 0, 0), EINVAL);
	XT_FAILS(xpoll_event(queue, NULL, 1, NULL, 0, 0), EINVAL);
	XT_FAILS(xpoll_event(queue, NULL, 0, &record, -1, 0), EINVAL);
	XT_FAILS(xpoll_event(queue, NULL, 0, NULL, 1, 0), EINVAL);
	/* The call has applied no change. */
	XT_FAILS(xpoll_event(queue, &record, 1, NULL, 1, 0), EINVAL);
	XT_FAILS(xpoll_event(queue, &record, 1, &now, INT_MIN, 0), EINVAL);
	XT_FAILS(xpoll_lookup(queue, 1, USER, &now), ENOENT);
}

XT_TEST(bad_ctl_operations_are_einval)
{
	static const int ops[] = {
	    0,
	    -1,
	    XPOLL_CLEAR,
	    XPOLL_ADD | XPOLL_DELETE,
	    XPOLL_ADD | XPOLL_ENABLE | XPOLL_DISABLE,
	    XPOLL_ENABLE | XPOLL_DISABLE,
	    XPOLL_DELETE | XPOLL_DISABLE,
	    XPOLL_DELETE | XPOLL_CLEAR,
	    XPOLL_ENABLE | XPOLL_ONESHOT,
	    XPOLL_ADD | XPOLL_RECEIPT,
	    XPOLL_ADD | XPOLL_ERROR,
	    XPOLL_ADD | 0x10000,
	    XPOLL_ADD | 0x0100,
	};
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!XT_EXPECT_FAILS(
		        xpoll_ctl(queue, ops[i], POLLIN, pipe.r, NULL), EINVAL))
			xt_note("op 0x%x", (unsigned)ops[i]);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pipe.r, NULL), ENOENT);
}

XT_TEST(bad_ctl_events_are_einval)
{
	/*
	 * POLLRDHUP is accepted also where the system lacks it: the library then defines it as
	 * 0x4000.
	 */
	static const int events[] = {POLLERR, POLLHUP, POLLNVAL, POLLIN | POLLHUP, -1,
	                             0x10000, POLLRDHUP == 0x2000 ? 0x4000 : 0x2000};
	struct xt_pair pipe = xt_pipe();
	struct xpoll *queue = xt_open();

	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (!XT_EXPECT_FAILS(xpoll_ctl(queue, XPOLL_ADD, events[i],
		                               pipe.r, NULL),
		                     EINVAL))
			xt_note("events 0x%x", (unsigned)events[i]);
	XT_FAILS(xpoll_ctl(queue, XPOLL_DELETE, POLLIN, pipe.r, NULL), ENOENT);
}

XT_TEST(bad_ctl_descriptor_is_ebadf_or_enotsup)
{
	struct xpoll *queue = xt_open();

	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLIN, -1, NULL), EBADF);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLIN, INT_MAX, NULL), EBADF);
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLOUT, 900, NULL), EBADF);
#ifdef O_PATH
	XT_FAILS(xpoll_ctl(queue, XPOLL_ADD, POLLIN,
	                   xt_open_path("/tmp", O_PATH), NULL),
	         ENOTSUP);
#endif
}

XT_TEST(no_queue_is_einval_in_every_call)
{
	struct xpoll_event record = xt_record(1, USER, XPOLL_ADD);
	struct xpoll_stats stats;
	void *data;

	XT_FAILS(xpoll_event(NULL, &record, 1, NULL, 0, 0), EINVAL);
	XT_FAILS(xpoll_event_mask(NULL, NULL, 0, &record, 1, 0, NULL), EINVAL);
	XT_FAILS(xpoll_ctl(NULL, XPOLL_ADD, POLLIN, 0, NULL), EINVAL);
	XT_FAILS(xpoll_wait(NULL, 0), EINVAL);
	XT_FAILS(xpoll_wake(NULL), EINVAL);
	XT_FAILS(xpoll_wake_all(NULL), EINVAL);
	XT_FAILS(xpoll_fd(NULL), EINVAL);
	XT_FAILS(xpoll_next_timeout(NULL), EINVAL);
	XT_FAILS(xpoll_lookup(NULL, 1, USER, &record), EINVAL);
	XT_FAILS(xpoll_stats(NULL, &stats, sizeof stats), EINVAL);
	XT_FAILS(xpoll_reinit(NULL), EINVAL);
	XT_EXPECT(!xpoll_backend(NULL));
	/* After the last record xpoll_revents returns 0 and leaves errno alone. */
	errno = 0;
	XT_EQ(xpoll_revents(NULL, &data), 0);
	XT_EXPECT_STATUS(errno, EINVAL);
}

XT_TEST(bad_arguments_of_the_small_calls)
{
	struct xpoll *queue = xt_open();
	struct xpoll_event now = {0};
	struct xpoll_stats stats;
	char text[8];

	XT_FAILS(xpoll_lookup(queue, 1, USER, NULL), EINVAL);
	XT_FAILS(xpoll_lookup(queue, 1, 99, &now), EINVAL);
	XT_FAILS(xpoll_lookup(queue, 1, USER, &now), ENOENT);
	XT_FAILS(xpoll_stats(queue, NULL, sizeof stats), EINVAL);
	XT_FAILS(xpoll_stats(queue, &stats, 0), EINVAL);
	XT_FAILS(xpoll_describe(NULL, text, sizeof text), EINVAL);
	XT_FAILS(xpoll_close_fd(-1), EBADF);
	XT_FAILS(xpoll_close_fd(900), EBADF);
	XT_FAILS(xpoll_forget_fd(-1), EBADF);
	XT_EQ(xpoll_forget_fd(900), 0);
	XT_FAILS(xpoll_reinit(queue), EINVAL);
	XT_FAILS(xpoll_backends(NULL, 1), EINVAL);
	XT_FAILS(xpoll_backends(NULL, -1), EINVAL);
}

XT_TEST(no_timer_has_no_next_timeout)
{
	struct xpoll *queue = xt_open();

	XT_EQ(xpoll_next_timeout(queue), -1);
}

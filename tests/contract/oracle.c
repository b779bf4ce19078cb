/*
 * Goal: the poll-like level returns exactly the bits of this system's poll(2),
 * for any descriptor (S12, S13), and the event level agrees with it for the
 * conditions that both report (S8, S12).
 * Method: poll(2) is the oracle, for every kind of descriptor and every
 * combination of events: when registered first, when disabled and enabled, and
 * when reported again.
 */
#include "kinds.h"

#include <sys/stat.h>

static const int directions[] = {POLLIN, POLLOUT, POLLPRI, POLLRDHUP};

enum { COMBINATIONS = 16 };

static int combination(int number)
{
	int events = 0;

	for (int i = 0; i < 4; i++)
		if (number & (1 << i))
			events |= directions[i];
	return events;
}

/* Returns the bits that the queue reports of its only descriptor now. */
static int queue_says(struct xpoll *queue, const void *data)
{
	void *got = NULL;
	int rc = xpoll_wait(queue, 0);

	if (rc < 0) {
		xt_fail(__FILE__, __LINE__, "xpoll_wait: %s",
		        xt_error_name(errno));
		return -1;
	}
	int revents = xpoll_revents(queue, &got);
	if (revents) {
		XT_EXPECT(rc >= 1);
		XT_EXPECT(got == data);
	}
	XT_EXPECT_EQ(xpoll_revents(queue, NULL), 0);
	return revents;
}

/* With kqueue(2) a hang-up may be reported without POLLRDHUP. */
static bool same(int got, int want)
{
	if (xt_has_kqueue() && got & want & POLLHUP)
		got |= want & POLLRDHUP;
	return got == want;
}

static bool agrees(struct xpoll *queue, const struct kind *kind, int fd,
                   int events, const char *when)
{
	int want = xt_poll(fd, events);
	int got = queue_says(queue, kind);

	if (same(got, want))
		return true;
	/* The state of a network connection may have changed meanwhile: compare again. */
	want = xt_poll(fd, events);
	got = queue_says(queue, kind);
	if (same(got, want))
		return true;
	xt_fail(__FILE__, __LINE__,
	        "%s, events 0x%x, %s: revents 0x%x, poll(2) says 0x%x",
	        kind->name, (unsigned)events, when, (unsigned)got,
	        (unsigned)want);
	return false;
}

/* Make a change.  The result of DELETE is not checked for a kind that the back end refuses. */
static bool ctl(struct xpoll *queue, int op, int events, int fd,
                const struct kind *kind)
{
	static union {
		const void *in;
		void *out;
	} data;

	data.in = kind;
	if (xpoll_ctl(queue, op, events, fd, data.out) == 0)
		return true;
	xt_fail(__FILE__, __LINE__, "%s: op 0x%x, events 0x%x: %s", kind->name,
	        (unsigned)op, (unsigned)events, xt_error_name(errno));
	return false;
}

/* Returns true for states that kqueue(2) cannot report: see DIFFERENCES.md. */
static bool untold(const struct kind *kind)
{
	/*
	 * WRITE of a pipe without a reader is refused, and without EVFILT_USER the library cannot
	 * replace the filter.
	 */
	if (xt_lacks_user_events() && strncmp(kind->name, "pipe_read", 9) == 0)
		return true;
#ifdef __OpenBSD__
	/* This kernel's filter reports a terminal that has hung up as writable. */
	if (xt_is("kqueue") && strstr(kind->name, "_hung_up"))
		return true;
#endif
	return (xt_is("kqueue") || (xt_is("select") && xt_has_kqueue())) &&
		(kind->traits & KIND_EVENT_SILENT || kind->pair.writer ||
		 strcmp(kind->name, "udp_error") == 0);
}

/* Returns false if the kernel has EVFILT_EXCEPT for sockets only, and fd is not a socket. */
static bool has_except(int fd)
{
	struct stat status;

	return xt_has_except() &&
		(xt_pipes_have_except() ||
		 (fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode)));
}

/*
 * Returns true for a request without a filter: POLLPRI alone with a hang-up, or POLLRDHUP without
 * POLLIN.
 */
static bool has_no_filter(int fd, int events)
{
	if (events & POLLPRI && !has_except(fd))
		return true;
	return xt_has_kqueue() &&
		(events == POLLPRI ||
		 (events & (POLLIN | POLLRDHUP)) == POLLRDHUP);
}

static bool check_kind(struct xpoll *queue, const struct kind *kind, int fd,
                       int events)
{
	if (!ctl(queue, XPOLL_ADD, events, fd, kind) ||
	    !agrees(queue, kind, fd, events, "added") ||
	    !agrees(queue, kind, fd, events, "again"))
		return false;
	if (!ctl(queue, XPOLL_DISABLE, events, fd, kind))
		return false;
	if (!XT_EXPECT_EQ(queue_says(queue, kind), 0))
		return false;
	for (int i = 0; i < 3; i++)
		if (!ctl(queue, XPOLL_ENABLE, events, fd, kind) ||
		    !agrees(queue, kind, fd, events, "enabled") ||
		    !agrees(queue, kind, fd, events, "enabled, again") ||
		    !ctl(queue, XPOLL_DISABLE, events, fd, kind))
			return false;
	if (!ctl(queue, XPOLL_DELETE, events, fd, kind))
		return false;
	return XT_EXPECT_EQ(queue_says(queue, kind), 0);
}

static void one_direction_at_a_time(struct xpoll *queue,
                                    const struct kind *kind, int fd)
{
	int both = POLLIN | POLLOUT;

	XT_CHECK(ctl(queue, XPOLL_ADD, both, fd, kind));
	for (int i = 0; i < 3; i++) {
		XT_CHECK(ctl(queue, XPOLL_DISABLE, POLLIN, fd, kind));
		XT_CHECK(agrees(queue, kind, fd, POLLOUT, "reading disabled"));
		XT_CHECK(ctl(queue, XPOLL_ENABLE, POLLIN, fd, kind));
		XT_CHECK(ctl(queue, XPOLL_DISABLE, POLLOUT, fd, kind));
		XT_CHECK(agrees(queue, kind, fd, POLLIN, "writing disabled"));
		XT_CHECK(ctl(queue, XPOLL_ENABLE, POLLOUT, fd, kind));
		XT_CHECK(agrees(queue, kind, fd, both, "both enabled"));
	}
	XT_CHECK(ctl(queue, XPOLL_DELETE, both, fd, kind));
}

XT_TEST(poll_like_level_agrees_with_poll_for_every_kind)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < kinds_count; i++) {
		int fd = untold(&kinds[i]) ? -1 : kinds[i].make(&kinds[i]);

		if (fd < 0)
			continue;
		for (int number = 1; number < COMBINATIONS; number++)
			if (!has_no_filter(fd, combination(number)) &&
			    !check_kind(queue, &kinds[i], fd,
			                combination(number)))
				break;
	}
}

XT_TEST(poll_like_level_each_direction_alone_agrees_with_poll)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < kinds_count; i++) {
		int fd = untold(&kinds[i]) ? -1 : kinds[i].make(&kinds[i]);

		if (fd >= 0)
			one_direction_at_a_time(queue, &kinds[i], fd);
	}
}

/* All kinds are in one queue: each descriptor gets its own bits only. */
XT_TEST(poll_like_level_all_kinds_together_agree_with_poll)
{
	struct xpoll *queue = xt_open();
	int fds[128];
	int seen[128] = {0};
	int wanted[128] = {0};

	XT_CHECK(kinds_count <= 128);
	for (int i = 0; i < kinds_count; i++) {
		fds[i] = untold(&kinds[i]) ? -1 : kinds[i].make(&kinds[i]);
		wanted[i] = POLLIN | POLLOUT | POLLRDHUP |
			(has_except(fds[i]) ? POLLPRI : 0);
		if (fds[i] >= 0)
			XT_CHECK(ctl(queue, XPOLL_ADD, wanted[i], fds[i],
			             &kinds[i]));
	}
	/*
	 * S11: each is reported within a bounded number of waits, because files are always ready.
	 */
	for (int waits = 0; waits < 64; waits++) {
		void *data = NULL;
		int revents;

		XT_CHECK(xpoll_wait(queue, 0) >= 1);
		while ((revents = xpoll_revents(queue, &data))) {
			int i = (int)((const struct kind *)data - kinds);

			seen[i] |= revents;
		}
	}
	for (int i = 0; i < kinds_count; i++)
		if (fds[i] >= 0 && !same(seen[i], xt_poll(fds[i], wanted[i])))
			xt_fail(__FILE__, __LINE__,
			        "%s: revents 0x%x, poll(2) says 0x%x",
			        kinds[i].name, (unsigned)seen[i],
			        (unsigned)xt_poll(fds[i], wanted[i]));
}

/*
 * Check one filter at the event level: compare whether it is delivered with whether it has to be.
 */
static void check_event(struct xpoll *queue, const struct kind *kind, int fd,
                        int filter)
{
	int bit = filter == READ ? POLLIN : filter == WRITE ? POLLOUT : POLLPRI;
	int revents = xt_poll(fd, bit | (filter == READ ? POLLRDHUP : 0));
	struct xpoll_event event;

	int rc = xt_add(queue, fd, filter, 0);

	if (rc == EPIPE && filter == WRITE && xt_lacks_user_events() &&
	    strstr(kind->name, "no_writer"))
		return; /* a pipe for which the kernel refuses the filter */
	XT_OK(rc);
	rc = xpoll_event(queue, NULL, 0, &event, 1, 0);
	XT_OK(xt_flag(queue, (uint64_t)fd, filter, XPOLL_DELETE));
	XT_CHECK(rc == 0 || rc == 1);
	bool must = (revents & bit) && !(kind->traits & KIND_EVENT_SILENT);
	bool must_not = revents == 0 || (kind->traits & KIND_EVENT_SILENT);
	if ((must && rc == 0) || (must_not && rc == 1))
		xt_fail(__FILE__, __LINE__,
		        "%s: %s %s, though poll(2) says 0x%x", kind->name,
		        xt_filter_name(filter), rc ? "came" : "did not come",
		        (unsigned)revents);
	if (rc == 1)
		XT_EXPECT(event.ident == (uint64_t)fd &&
		          event.filter == filter);
}

XT_TEST(event_level_agrees_with_poll_for_every_kind)
{
	struct xpoll *queue = xt_open();

	for (int i = 0; i < kinds_count; i++) {
		int fd = kinds[i].make(&kinds[i]);

		if (fd < 0 || kinds[i].traits & KIND_FILE ||
		    (xt_lacks_user_events() && strstr(kinds[i].name, "no_reader")))
			continue;
		check_event(queue, &kinds[i], fd, READ);
		check_event(queue, &kinds[i], fd, WRITE);
		if (has_except(fd))
			check_event(queue, &kinds[i], fd, EXCEPT);
	}
}

/*
 * S8: no kind of descriptor causes a busy loop while all its filters are disabled or not delivered.
 * Complaint: Hang-ups of a descriptor of which nothing is wanted spin.
 */
XT_TEST(hazard_12_no_kind_spins_when_suppressed_or_disabled)
{
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event event;

	for (int i = 0; i < kinds_count; i++) {
		int fd = kinds[i].make(&kinds[i]);
		int silent = kinds[i].traits & KIND_EVENT_SILENT;

		if (fd < 0)
			continue;
		XT_OK(xt_add(queue, fd, READ, silent ? 0 : XPOLL_DISABLE));
		XT_OK(xt_add(queue, fd, WRITE, silent ? 0 : XPOLL_DISABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 0), 0);
	}
	struct xpoll_stats before = xt_stats(queue);
	XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, 30000000), 0);
	struct xpoll_stats after = xt_stats(queue);
	XT_CHECK(after.syscalls_wait - before.syscalls_wait <= 20);
	XT_CHECK(after.fruitless - before.fruitless <= 20);
}

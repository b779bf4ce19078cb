/*
 * The event level: any changes, any waits, any order.
 *
 * Checked after each call: the result fits the array, errno is one that the manual names, and an
 * event belongs to a registration.  Checked at the end: each level registration of a descriptor is
 * reported if and only if poll(2) reports it, and every timer is reported.
 */
#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <xpoll.h>

#define EVENTS_MOST 8
#define WAITS_MOST 200

static struct xpoll *queue;
/* Closed since it was registered: the kernel may know, or not. */
static bool doubtful[FUZZ_FDS];
/* READ of the descriptor may be registered for hang-ups only, by the poll-like level. */
static bool hangups_alone[FUZZ_FDS];

static bool errno_fits(int error)
{
	switch (error) {
	case EINVAL:
	case EBADF:
	case ENOENT:
	case ENOTSUP:
	case EPERM:
	case ESRCH:
	case ELOOP:
	case EINTR:
		return true;
	default:
		return false;
	}
}

static bool is_fd_filter(int filter)
{
	return filter == XPOLL_FILT_READ || filter == XPOLL_FILT_WRITE ||
	       filter == XPOLL_FILT_EXCEPT;
}

static bool of_the_world(uint64_t ident)
{
	return ident >= FUZZ_FIRST && ident < FUZZ_FIRST + FUZZ_FDS;
}

static uint64_t ident_for(struct fuzz_input *input, int filter)
{
	unsigned what = fuzz_byte(input);

	if (what == 255)
		return (uint64_t)fuzz_word(input) << 32 | fuzz_word(input);
	if (is_fd_filter(filter) || filter == XPOLL_FILT_VNODE)
		return FUZZ_FIRST + what % (FUZZ_FDS + 1);
	if (filter == XPOLL_FILT_SIGNAL)
		return what % 4 == 0 ? what : (uint64_t)(what & 1 ? SIGUSR1 : SIGWINCH);
	if (filter == XPOLL_FILT_PROC)
		return what % 4 == 0 ? what / 4 : (uint64_t)getpid();
	return what % 8;
}

/*
 * Request only the exit of a process, because these processes do nothing that a tracer would
 * report.
 */
static uint32_t fflags_for(struct fuzz_input *input, int filter)
{
	unsigned what = fuzz_byte(input);

	if (what == 255)
		return filter == XPOLL_FILT_PROC ? XPOLL_NOTE_EXIT
		                                 : fuzz_word(input);
	switch (filter) {
	case XPOLL_FILT_READ:
	case XPOLL_FILT_WRITE:
		return what < 160 ? 0
		                  : (uint32_t)(what & 7) << 16 | (what >> 3 & 1);
	case XPOLL_FILT_EXCEPT:
		return XPOLL_NOTE_OOB;
	case XPOLL_FILT_TIMER:
		return what & 1 ? XPOLL_NOTE_NSECONDS : what & 0x3f;
	case XPOLL_FILT_USER:
		return (what & 1 ? XPOLL_NOTE_TRIGGER : 0) |
		       (uint32_t)(what >> 1 & 3) << 30 | what >> 3;
	case XPOLL_FILT_VNODE:
		return what;
	case XPOLL_FILT_PROC:
		return XPOLL_NOTE_EXIT;
	default:
		return 0;
	}
}

static uint16_t flags_for(struct fuzz_input *input)
{
	static const uint16_t usual[] = {
		XPOLL_ADD, XPOLL_ADD | XPOLL_CLEAR, XPOLL_ADD | XPOLL_DISPATCH,
		XPOLL_ADD | XPOLL_ONESHOT, XPOLL_ADD | XPOLL_DISABLE, XPOLL_DELETE,
		XPOLL_ENABLE, XPOLL_DISABLE, XPOLL_ADD | XPOLL_ENABLE,
		XPOLL_ADD | XPOLL_RECEIPT, XPOLL_ADD | XPOLL_KEEPUDATA, 0,
	};
	unsigned what = fuzz_byte(input);

	if (what == 255)
		return (uint16_t)fuzz_word(input);
	return usual[what % (sizeof usual / sizeof *usual)];
}

static struct xpoll_event record(struct fuzz_input *input)
{
	static const int filters[] = {
		XPOLL_FILT_READ, XPOLL_FILT_WRITE, XPOLL_FILT_READ,
		XPOLL_FILT_WRITE, XPOLL_FILT_EXCEPT, XPOLL_FILT_TIMER,
		XPOLL_FILT_USER, XPOLL_FILT_SIGNAL, XPOLL_FILT_VNODE,
		XPOLL_FILT_PROC, XPOLL_FILT_EMPTY, 3,
	};
	int filter = filters[fuzz_below(input, sizeof filters / sizeof *filters)];
	struct xpoll_event change = {
		.ident = ident_for(input, filter),
		.filter = (int16_t)filter,
		.flags = flags_for(input),
		.fflags = fflags_for(input, filter),
		.data = fuzz_byte(input),
		.udata64 = fuzz_byte(input),
	};

	if (change.data == 255)
		change.data = (int64_t)((uint64_t)fuzz_word(input) << 32);
	return change;
}

static void check_events(const struct xpoll_event *events, int count, int cap)
{
	FUZZ_HOLDS(count >= -1 && count <= cap);
	if (count < 0)
		FUZZ_HOLDS(errno_fits(errno));
	for (int i = 0; i < count; i++) {
		char text[64];

		FUZZ_HOLDS(xpoll_describe(&events[i], text, sizeof text) > 0);
		if (events[i].flags & XPOLL_ERROR)
			FUZZ_HOLDS(events[i].data == 0 ||
			           errno_fits((int)events[i].data));
		else
			FUZZ_HOLDS(events[i].filter != 3);
	}
}

static bool has_any(int fd)
{
	struct xpoll_event now;

	return xpoll_lookup(queue, (uint64_t)fd, XPOLL_FILT_READ, &now) == 0 ||
	       xpoll_lookup(queue, (uint64_t)fd, XPOLL_FILT_WRITE, &now) == 0 ||
	       xpoll_lookup(queue, (uint64_t)fd, XPOLL_FILT_EXCEPT, &now) == 0;
}

/* A successful ADD of a descriptor asks the kernel: no doubt is left. */
static void change(struct fuzz_input *input)
{
	struct xpoll_event changes[3];
	struct xpoll_event events[EVENTS_MOST];
	int nchanges = 1 + (int)fuzz_below(input, 3);
	int cap = (int)fuzz_below(input, EVENTS_MOST + 1);
	int rc;

	for (int i = 0; i < nchanges; i++)
		changes[i] = record(input);
	rc = xpoll_event(queue, changes, nchanges, events, cap, 0);
	check_events(events, rc, cap);
	if (nchanges == 1 && rc == 0 && cap == 0 &&
	    changes[0].flags & XPOLL_ADD && is_fd_filter(changes[0].filter) &&
	    of_the_world(changes[0].ident) && !strcmp(xpoll_backend(queue), "epoll"))
		doubtful[changes[0].ident - FUZZ_FIRST] = false;
}

static void wait_now(struct fuzz_input *input)
{
	struct xpoll_event events[EVENTS_MOST];
	int cap = 1 + (int)fuzz_below(input, EVENTS_MOST);
	int rc = xpoll_event(queue, NULL, 0, events, cap, 0);

	check_events(events, rc, cap);
}

static void replace(struct fuzz_input *input)
{
	int fd = fuzz_world_replace(input);

	doubtful[fd - FUZZ_FIRST] = has_any(fd) || doubtful[fd - FUZZ_FIRST];
}

/* By the poll-like level, in between. */
static void poll_level(struct fuzz_input *input)
{
	static const int ops[] = {XPOLL_ADD, XPOLL_DELETE, XPOLL_ENABLE,
	                          XPOLL_DISABLE};
	void *data;
	int op = ops[fuzz_below(input, 4)];
	int events = (int)fuzz_below(input, 64);
	int fd = fuzz_fd(input);

	if (of_the_world((uint64_t)fd) && (op == XPOLL_DELETE || !(events & POLLIN)))
		hangups_alone[fd - FUZZ_FIRST] = true;
	if (xpoll_ctl(queue, op, events, fd, input) < 0)
		FUZZ_HOLDS(errno_fits(errno));
	FUZZ_HOLDS(xpoll_wait(queue, 0) >= 0);
	for (int i = fuzz_byte(input) % 4; i > 0 && xpoll_revents(queue, &data);)
		i--;
}

static void other(struct fuzz_input *input)
{
	int fd;

	switch (fuzz_below(input, 6)) {
	case 0:
		FUZZ_HOLDS(xpoll_wake(queue) == 0);
		break;
	case 1:
		FUZZ_HOLDS(xpoll_wake_all(queue) == 0);
		break;
	case 2:
		fd = fuzz_fd(input);
		(void)xpoll_close_fd(fd);
		FUZZ_HOLDS(!has_any(fd));
		doubtful[fd - FUZZ_FIRST] = false;
		break;
	case 3:
		fd = fuzz_fd(input);
		FUZZ_HOLDS(xpoll_forget_fd(fd) == 0);
		FUZZ_HOLDS(!has_any(fd));
		doubtful[fd - FUZZ_FIRST] = false;
		break;
	case 4:
		if (xpoll_fd(queue) < 0)
			FUZZ_HOLDS(errno == ENOTSUP);
		break;
	default:
		(void)raise(fuzz_byte(input) & 1 ? SIGUSR1 : SIGWINCH);
		FUZZ_HOLDS(xpoll_next_timeout(queue) >= -1);
	}
}

/* --- The end ------------------------------------------------------------------ */

static bool seen[FUZZ_FDS][2];

static void collect(void)
{
	memset(seen, 0, sizeof seen);
	for (int waits = 0; waits < WAITS_MOST; waits++) {
		struct xpoll_event events[3];
		int rc = xpoll_event(queue, NULL, 0, events, 3, 0);

		check_events(events, rc, 3);
		for (int i = 0; i < rc; i++) {
			if (!of_the_world(events[i].ident))
				continue;
			if (events[i].filter == XPOLL_FILT_READ)
				seen[events[i].ident - FUZZ_FIRST][0] = true;
			if (events[i].filter == XPOLL_FILT_WRITE)
				seen[events[i].ident - FUZZ_FIRST][1] = true;
		}
	}
}

/* Returns true if the registration is an enabled level, which must agree with poll(2). */
static bool is_plain(int fd, int filter)
{
	struct xpoll_event now;

	if (doubtful[fd - FUZZ_FIRST] || fuzz_is_file(fd) ||
	    (filter == XPOLL_FILT_READ && hangups_alone[fd - FUZZ_FIRST]) ||
	    xpoll_lookup(queue, (uint64_t)fd, filter, &now) < 0)
		return false;
	return !(now.flags & (XPOLL_DISABLE | XPOLL_CLEAR | XPOLL_ONESHOT |
	                      XPOLL_DISPATCH)) &&
	       !(now.fflags & XPOLL_NOTE_LOWAT);
}

static void compare(void)
{
	static const int filters[2] = {XPOLL_FILT_READ, XPOLL_FILT_WRITE};
	static const int events[2] = {POLLIN | POLLRDHUP, POLLOUT};
	bool plain[FUZZ_FDS][2];

	for (int i = 0; i < FUZZ_FDS; i++)
		for (int k = 0; k < 2; k++)
			plain[i][k] = is_plain(FUZZ_FIRST + i, filters[k]);
	collect();
	for (int i = 0; i < FUZZ_FDS; i++) {
		for (int k = 0; k < 2; k++) {
			int revents = fuzz_poll(FUZZ_FIRST + i, events[k]);

			if (plain[i][k] && !(revents & POLLNVAL))
				FUZZ_HOLDS(seen[i][k] == (revents != 0));
		}
	}
}

static void step(struct fuzz_input *input)
{
	switch (fuzz_below(input, 8)) {
	case 0:
	case 1:
	case 2:
		change(input);
		break;
	case 3:
		wait_now(input);
		break;
	case 4:
	case 5:
		fuzz_world_move(input);
		break;
	case 6:
		if (fuzz_byte(input) & 1)
			replace(input);
		else
			poll_level(input);
		break;
	default:
		other(input);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, data + size};
	struct xpoll_options options = {.size = sizeof options};

	(void)signal(SIGUSR1, SIG_IGN);
	memset(doubtful, 0, sizeof doubtful);
	memset(hangups_alone, 0, sizeof hangups_alone);
	options.backend = fuzz_backend(&input);
	fuzz_world_open();
	queue = xpoll_open(&options);
	FUZZ_HOLDS(queue);
	for (int steps = 0; fuzz_more(&input) && steps < 200; steps++)
		step(&input);
	compare();
	xpoll_destroy(queue);
	fuzz_world_close();
	return 0;
}

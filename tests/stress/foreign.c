/*
 * Stress: event loops of other programs watch a queue by its xpoll_fd (S14):
 * poll(2), a level-triggered epoll set, an edge-triggered one, another queue
 * level-triggered and one edge-triggered; random registrations of every kind
 * come and go in the queue.
 * Oracle: if a wait of the queue finds an event, each watcher must have
 * reported xpoll_fd before: a level-triggered one just now, an edge-triggered
 * one since the last wait that found nothing.
 */
#include "xt.h"

#include <sys/epoll.h>

enum { PIPES = 12, EVENTS = 16 };

/* The ways in which another program watches the queue's descriptor. */
enum watcher { BY_POLL, BY_EPOLL, BY_EDGES, BY_QUEUE, BY_QUEUE_EDGES, WATCHERS };

struct foreign {
	struct xpoll *queue;
	int fd; /* xpoll_fd of the queue */
	int level, edges; /* epoll sets, level-triggered and edge-triggered */
	struct xpoll *outer, *outer_edges;
	bool told[WATCHERS];
	struct xt_pair pipes[PIPES];
	int file;
	uint64_t random;
	long events;
};

static const char *const names[WATCHERS] = {
	"poll", "epoll", "epoll by edges", "a queue", "a queue by edges",
};

static uint32_t pick(struct foreign *it, uint32_t below)
{
	return xt_random(&it->random) % below;
}

static int watch_by_epoll(int fd, uint32_t events)
{
	struct epoll_event event = {.events = events};
	int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));

	(void)XT_EXPECT_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
	return set;
}

static bool epoll_tells(int set)
{
	struct epoll_event event;

	return epoll_wait(set, &event, 1, 0) == 1;
}

static bool queue_tells(struct xpoll *outer)
{
	struct xpoll_event event;

	return xpoll_event(outer, NULL, 0, &event, 1, 0) == 1;
}

/*
 * Poll all watchers, and record which of them report xpoll_fd; an edge-triggered one reports it
 * only once.
 */
static void ask(struct foreign *it)
{
	it->told[BY_POLL] = xt_poll(it->fd, POLLIN) != 0;
	it->told[BY_EPOLL] = epoll_tells(it->level);
	it->told[BY_EDGES] |= epoll_tells(it->edges);
	it->told[BY_QUEUE] = queue_tells(it->outer);
	it->told[BY_QUEUE_EDGES] |= queue_tells(it->outer_edges);
}

static struct xt_pair make(struct foreign *it)
{
	return pick(it, 2) ? xt_pipe() : xt_socketpair(SOCK_STREAM);
}

static int add(struct foreign *it, int fd, int filter)
{
	static const int modes[] = {0, 0, XPOLL_CLEAR, XPOLL_ONESHOT,
	                            XPOLL_DISPATCH, XPOLL_DISABLE, XPOLL_ENABLE};
	static const uint32_t notes[] = {0, 0, XPOLL_NOTE_EXCLUSIVE,
	                                 XPOLL_NOTE_COUNT, XPOLL_NOTE_LOWAT};
	uint32_t note = notes[pick(it, 5)];

	return xt_change(it->queue, (uint64_t)fd, filter,
	                 XPOLL_ADD | modes[pick(it, 7)], note, 2, NULL);
}

/* Write to, read, close or replace one of the pipes. */
static void traffic(struct foreign *it)
{
	struct xt_pair *pair = &it->pipes[pick(it, PIPES)];

	switch (pick(it, 8)) {
	case 0:
		if (pick(it, 2))
			(void)XT_EXPECT_EQ(xpoll_close_fd(pair->r), 0);
		else
			xt_close(pair->r);
		xt_close(pair->w);
		*pair = make(it);
		break;
	case 1:
	case 2:
		(void)xt_drain(pair->r);
		break;
	case 3:
		(void)!write(it->file, "x", 1);
		break;
	default:
		(void)!write(pair->w, "xx", 1 + pick(it, 2));
	}
}

static void change(struct foreign *it)
{
	static const int switches[] = {XPOLL_ENABLE, XPOLL_ENABLE, XPOLL_DISABLE,
	                               XPOLL_DELETE};
	const struct xt_pair *pair = &it->pipes[pick(it, PIPES)];
	int filter = pick(it, 3) ? READ : WRITE;
	int fd = filter == READ ? pair->r : pair->w;
	uint64_t id = pick(it, 3);
	int rc;

	switch (pick(it, 8)) {
	case 0:
		rc = xt_change(it->queue, id, USER, XPOLL_ADD |
		               (pick(it, 2) ? XPOLL_CLEAR : XPOLL_ONESHOT), 0, 0,
		               NULL);
		break;
	case 1:
		rc = xt_trigger(it->queue, id);
		break;
	case 2: /* a timer that expires at once, or never */
		rc = xt_change(it->queue, id, XPOLL_FILT_TIMER, XPOLL_ADD |
		               (pick(it, 2) ? XPOLL_ONESHOT : XPOLL_DISPATCH),
		               XPOLL_NOTE_SECONDS, pick(it, 2) ? 0 : 3600, NULL);
		break;
	case 3:
		rc = xt_flag(it->queue, id, pick(it, 2) ? USER : XPOLL_FILT_TIMER,
		             switches[pick(it, 4)]);
		break;
	case 4:
	case 5:
		rc = add(it, fd, filter);
		break;
	default:
		rc = xt_flag(it->queue, (uint64_t)fd, filter,
		             switches[pick(it, 4)]);
	}
	(void)XT_EXPECT(rc == 0 || rc == ENOENT);
}

/* Take the ready events, at most `cap`.  Returns true if no more are ready. */
static bool take(struct foreign *it, int cap)
{
	struct xpoll_event events[EVENTS];
	int count;

	ask(it);
	count = xpoll_event(it->queue, NULL, 0, events, cap, 0);
	(void)XT_EXPECT(count >= 0);
	it->events += count;
	for (int i = 0; count > 0 && i < WATCHERS; i++)
		if (!it->told[i])
			xt_fail(__FILE__, __LINE__, "%d events, and %s is silent",
			        count, names[i]);
	if (count == 0)
		it->told[BY_EDGES] = it->told[BY_QUEUE_EDGES] = false;
	return count == 0;
}

static void take_all(struct foreign *it)
{
	/* A level-triggered event stays ready, so read its data or delete its registration. */
	while (!take(it, 1 + (int)pick(it, EVENTS)) && !xt_failures()) {
		for (int i = 0; i < PIPES; i++) {
			(void)xt_drain(it->pipes[i].r);
			(void)xt_flag(it->queue, (uint64_t)it->pipes[i].w, WRITE,
			              XPOLL_DISABLE);
		}
		for (uint64_t id = 0; id < 3; id++)
			(void)xt_flag(it->queue, id, USER, XPOLL_DELETE);
		(void)lseek(it->file, 0, SEEK_END);
	}
}

static bool begin(struct foreign *it)
{
	it->queue = xt_open_quiet();
	it->fd = xpoll_fd(it->queue);
	if (it->fd < 0)
		return false;
	it->level = watch_by_epoll(it->fd, EPOLLIN);
	it->edges = watch_by_epoll(it->fd, EPOLLIN | EPOLLET);
	it->outer = xt_open_quiet();
	it->outer_edges = xt_open_quiet();
	it->file = xt_file("");
	for (int i = 0; i < PIPES; i++)
		it->pipes[i] = make(it);
	return XT_EXPECT_STATUS(xt_add(it->outer, it->fd, READ, 0), 0) &&
		XT_EXPECT_STATUS(xt_add(it->outer_edges, it->fd, READ,
		                        XPOLL_CLEAR), 0) &&
		XT_EXPECT_STATUS(xt_add(it->queue, it->file, READ, 0), 0);
}

XT_TEST(stress_foreign_watchers_are_never_left_silent)
{
	double seconds = xt_stress_seconds(0.7);
	int64_t end_ns = xt_now() + (int64_t)(seconds * 1e9);
	struct foreign it = {.random = xt_seed()};
	long steps = 0;

	xt_watchdog((unsigned)seconds + 30);
	if (!begin(&it)) {
		if (!xt_failures())
			XT_SKIP("no kernel queue in this back end");
		return;
	}
	for (; !xt_failures() && xt_now() < end_ns; steps++) {
		uint32_t what = pick(&it, 16);

		if (what < 6)
			traffic(&it);
		else if (what < 12)
			change(&it);
		else if (what < 15)
			(void)take(&it, 1 + (int)pick(&it, EVENTS));
		else
			take_all(&it);
	}
	xt_note("%ld steps, %ld events, seed %ju", steps, it.events,
	        (uintmax_t)xt_seed());
}

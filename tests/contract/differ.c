/*
 * Goal: every kind of file that a test can make on this kernel is reported as
 * poll(2) and epoll(7) report it: level-triggered, edge-triggered, with
 * DISPATCH and with ONESHOT, in any combination of filters, at either level,
 * and after any sequence of changes (S3, S4, S8, S9, S10).
 * Method: files of all kinds in one queue, and random steps; poll(2) is the
 * oracle for present conditions, and an epoll set for each filter is the oracle
 * for edges.  If poll(2) clears what it reports (kernel_files.h), each oracle
 * has an open file of its own.  --seed repeats a failure.
 */
#include "kernel_files.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { FILTERS = 3, KINDS = 32, STEPS = 700, WORLDS = 4, WAITS = 3 };

static const int names[FILTERS] = {READ, WRITE, EXCEPT};
static const int own_bits[FILTERS] = {POLLIN | POLLRDHUP, POLLOUT, POLLPRI};
static const int all_bits[FILTERS] = {
	POLLIN | POLLRDHUP | POLLHUP | POLLERR, POLLOUT | POLLHUP | POLLERR, POLLPRI,
};

/* The model of one filter of a file. */
struct side {
	bool registered;
	bool enabled;
	int mode;
	int set;     /* epoll set that watches this filter edge-triggered */
	/* since the last event the set has reported, or the filter was added or enabled */
	bool edge;
	bool news;   /* poll(2) has reported the filter's own bit since the last event */
	bool maybe;  /* an event is allowed, but not required */
};

struct thing {
	struct kernel_file file;
	struct side sides[FILTERS];
	int holds; /* the bits that poll(2) keeps reporting */
};

struct world {
	struct xpoll *queue;
	struct thing things[KINDS];
	int len;
	uint64_t seed;
	int step;
	char last[80];
};

static uint32_t pick(struct world *world, uint32_t below)
{
	return xt_random(&world->seed) % below;
}

static bool consumed(const struct thing *thing)
{
	return thing->file.kind->consumed;
}

static int queue_fd(const struct thing *thing)
{
	return thing->file.fds[FILE_QUEUE];
}

/* --- The oracles -------------------------------------------------------------------------- */

static int look(const struct thing *thing)
{
	return xt_poll(thing->file.fds[FILE_POLL], POLLIN | POLLOUT | POLLPRI | POLLRDHUP);
}

static bool registered(const struct thing *thing)
{
	bool any = false;

	for (int i = 0; i < FILTERS; i++)
		any |= thing->sides[i].registered;
	return any;
}

/*
 * Returns true on epoll if only other filters are registered: their reports clear news for this
 * filter (DIFFERENCES.md).
 */
static bool beside_others(const struct thing *thing, int i)
{
	return xt_is("epoll") && registered(thing) && !thing->sides[i].registered;
}

static void ask_oracles(struct thing *thing)
{
	int revents = look(thing);

	thing->holds = consumed(thing) ? look(thing) : revents;
	for (int i = 0; i < FILTERS; i++) {
		struct side *side = &thing->sides[i];
		struct epoll_event event;

		side->edge |= epoll_wait(side->set, &event, 1, 0) == 1;
		if (!consumed(thing) || !(revents & ~thing->holds & all_bits[i]))
			continue;
		/* An error that was reported together with news for another filter is optional. */
		side->news |= (revents & ~thing->holds & own_bits[i]) != 0 &&
			!beside_others(thing, i);
		side->maybe = true;
	}
}

static bool may(const struct thing *thing, int i)
{
	const struct side *side = &thing->sides[i];

	return side->enabled && (thing->holds & all_bits[i] || side->news || side->maybe);
}

static bool must(const struct thing *thing, int i)
{
	const struct side *side = &thing->sides[i];
	int bits = consumed(thing) ? own_bits[i] : all_bits[i];

	return side->enabled && (thing->holds & bits || side->news) &&
		(!(side->mode & XPOLL_CLEAR) || side->edge);
}

/* --- Steps -------------------------------------------------------------------------------- */

static void enabled(struct side *side)
{
	side->enabled = true;
	side->edge = true;
}

static void forget_news(struct side *side)
{
	side->maybe |= side->news;
	side->news = false;
}

/*
 * Deleting a filter drops the news kept for it; deleting the last filter drops all news of the
 * file.
 */
static void deleted(struct thing *thing, int i)
{
	thing->sides[i].registered = thing->sides[i].enabled = false;
	for (int k = 0; k < FILTERS; k++)
		if (k == i || !registered(thing))
			forget_news(&thing->sides[k]);
}

static void add(struct world *world, struct thing *thing, int i)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT};
	struct side *side = &thing->sides[i];
	int mode = side->registered ? side->mode : modes[pick(world, 4)];
	int rc = xt_add(world->queue, queue_fd(thing), names[i], mode);

	/*
	 * The back end would need a second kernel object, whose polls would clear the news, so
	 * CLEAR is refused.
	 */
	if (consumed(thing) && mode & XPOLL_CLEAR && !xt_is("epoll")) {
		XT_EXPECT_STATUS(rc, ENOTSUP);
		return;
	}
	XT_OK(rc);
	/* On epoll an ADD of READ or WRITE alone clears earlier news (DIFFERENCES.md). */
	for (int k = 0; k < FILTERS && names[i] != EXCEPT && xt_is("epoll"); k++)
		forget_news(&thing->sides[k]);
	if (!side->registered)
		enabled(side);
	side->registered = true;
	side->mode = mode;
	side->edge = true;
}

static void change(struct world *world, struct thing *thing, int i)
{
	static const int flags[] = {XPOLL_ENABLE, XPOLL_ENABLE, XPOLL_DISABLE, XPOLL_DELETE};
	struct side *side = &thing->sides[i];
	int flag = flags[pick(world, 4)];

	ask_oracles(thing);
	if (!side->registered) {
		add(world, thing, i);
		return;
	}
	XT_OK(xt_flag(world->queue, (uint64_t)queue_fd(thing), names[i], flag));
	if (flag == XPOLL_ENABLE)
		enabled(side);
	else
		side->enabled = false;
	if (flag == XPOLL_DELETE)
		deleted(thing, i);
}

/* Returns one of the filters that programs register for such a file. */
static int pick_filter(struct world *world, const struct thing *thing)
{
	int i = (int)pick(world, FILTERS);

	return thing->file.kind->filters & (1 << i) ? i : 0;
}

static void step(struct world *world)
{
	struct thing *thing = &world->things[pick(world, (uint32_t)world->len)];
	const struct kernel_kind *kind = thing->file.kind;
	uint32_t what = pick(world, 10);
	int i = pick_filter(world, thing);

	(void)snprintf(world->last, sizeof world->last, "%s: %s", kind->name,
	               what < 4 ? "stir" : what < 6 ? "calm" : "change");
	if (what < 4 && kind->stir)
		kind->stir(&thing->file);
	else if (what >= 4 && what < 6 && kind->calm)
		kind->calm(&thing->file);
	else if (what >= 6)
		change(world, thing, i);
}

/* --- Comparison --------------------------------------------------------------------------- */

static void differs(const struct world *world, const struct thing *thing, int i,
                    const char *what)
{
	const struct side *side = &thing->sides[i];

	xt_fail(__FILE__, __LINE__,
	        "step %d (%s), %s of %s %s: mode 0x%x, enabled %d, edge %d, news %d, poll(2) 0x%x",
	        world->step, world->last, xt_filter_name(names[i]), thing->file.kind->name, what,
	        (unsigned)side->mode, side->enabled, side->edge, side->news,
	        (unsigned)thing->holds);
}

static void handed(struct thing *thing, int i)
{
	struct side *side = &thing->sides[i];

	side->edge = false;
	side->news = false;
	side->maybe = false;
	if (side->mode & XPOLL_DISPATCH)
		side->enabled = false;
	if (side->mode & XPOLL_ONESHOT)
		deleted(thing, i);
}

static void came(const struct world *world, struct thing *thing, int i)
{
	if (!may(thing, i))
		differs(world, thing, i, "came");
	handed(thing, i);
}

/* Handle a record of the poll-like level: its errors and hang-ups count for each filter. */
static void came_ready(struct world *world, struct thing *thing, int bits, bool wanted[FILTERS])
{
	for (int i = 0; i < FILTERS; i++) {
		if (!thing->sides[i].enabled || !(bits & (own_bits[i] | POLLERR | POLLHUP)))
			continue;
		wanted[i] = false;
		if (bits & own_bits[i])
			came(world, thing, i);
		else
			handed(thing, i);
	}
}

static void take_ready(struct world *world, bool wanted[KINDS][FILTERS])
{
	struct xpoll_ready ready[KINDS];
	int count = xpoll_pwait(world->queue, ready, KINDS, 0, NULL);

	XT_CHECK(count >= 0);
	for (int k = 0; k < count; k++) {
		int n = 0;

		while (n < world->len && queue_fd(&world->things[n]) != (int)ready[k].fd)
			n++;
		XT_CHECK(n < world->len);
		came_ready(world, &world->things[n], ready[k].events, wanted[n]);
	}
}

static void take_events(struct world *world, bool wanted[KINDS][FILTERS])
{
	struct xpoll_event events[KINDS * FILTERS];
	int count = xpoll_event(world->queue, NULL, 0, events, KINDS * FILTERS, 0);

	XT_CHECK(count >= 0);
	for (int n = 0; n < world->len; n++)
		for (int i = 0; i < FILTERS; i++)
			if (xt_find(events, count, (uint64_t)queue_fd(&world->things[n]),
			            names[i]) >= 0) {
				wanted[n][i] = false;
				came(world, &world->things[n], i);
			}
}

static void compare(struct world *world)
{
	bool wanted[KINDS][FILTERS];
	bool of_poll = pick(world, 3) == 0;

	for (int n = 0; n < world->len; n++) {
		ask_oracles(&world->things[n]);
		for (int i = 0; i < FILTERS; i++)
			wanted[n][i] = must(&world->things[n], i);
	}
	for (int i = 0; i < WAITS && !xt_failures(); i++)
		(of_poll ? take_ready : take_events)(world, wanted);
	for (int n = 0; n < world->len && !xt_failures(); n++)
		for (int i = 0; i < FILTERS; i++)
			if (wanted[n][i])
				differs(world, &world->things[n], i, "did not come");
}

/* --- Worlds ------------------------------------------------------------------------------- */

static bool make_sets(struct thing *thing)
{
	for (int i = 0; i < FILTERS; i++) {
		struct epoll_event event = {.events = EPOLLET | (uint32_t)own_bits[i]};
		int set = xt_keep(epoll_create1(EPOLL_CLOEXEC));

		if (epoll_ctl(set, EPOLL_CTL_ADD, thing->file.fds[FILE_EDGE + i], &event) < 0)
			return false;
		thing->sides[i] = (struct side){.set = set};
	}
	return true;
}

static void run(uint64_t seed)
{
	static struct world world;

	world = (struct world){.queue = xt_open_flags(XPOLL_ALL_READY), .seed = seed};
	for (int n = 0; kernel_kind_at(n) && world.len < KINDS; n++) {
		struct thing *thing = &world.things[world.len];

		*thing = (struct thing){.holds = 0};
		if (kernel_file_make(&thing->file, kernel_kind_at(n)) && make_sets(thing))
			world.len++;
		else
			xt_note("no %s here", kernel_kind_at(n)->name);
	}
	for (; world.step < STEPS && !xt_failures(); world.step++) {
		step(&world);
		if (pick(&world, 3))
			compare(&world);
	}
	if (xt_failures())
		xt_note("this world's seed is %ju", (uintmax_t)seed);
	xt_destroy(world.queue);
	for (int n = 0; n < world.len; n++)
		kernel_file_end(&world.things[n].file);
}

XT_TEST(random_every_kind_of_file_agrees_with_poll_and_epoll)
{
	XT_FILES(1024);
	(void)kernel_files_begin();
	for (uint64_t i = 0; i < WORLDS && !xt_failures(); i++)
		run(xt_seed() + i);
}

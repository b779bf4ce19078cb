/*
 * Goal: after any sequence of I/O and changes, every back end reports the same
 * as poll(2) (S3, S4, S8, S10, S12).
 * Method: random steps on pipes and socket pairs that stay registered; after
 * each step the queue is compared with poll(2) for all of them.  A failure
 * prints the seed; --seed or XT_SEED repeats it.
 */
#include "xt.h"

/* WAITS: number of waits within which all ready registrations must have been delivered. */
enum { ENDS = 12, STEPS = 1500, WAITS = 64, BOTH = POLLIN | POLLOUT };

struct end {
	int fd;
	int peer;       /* index of the other end; -1: closed */
	int registered; /* registered bits: POLLIN, POLLOUT */
	int enabled;
};

struct world {
	struct xpoll *queue;
	struct end ends[ENDS];
	uint64_t seed;
	int steps;
	char last[64];
};

static uint32_t pick(struct world *world, uint32_t below)
{
	return xt_random(&world->seed) % below;
}

static void make_pair(struct world *world, int index)
{
	static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
	uint32_t kind = pick(world, 4);

#ifdef __FreeBSD__
	/*
	 * poll(2) reports when a datagram socket's peer is closed; an armed kqueue(2) filter does
	 * not.
	 */
	if (xt_is("kqueue") && kind == 1)
		kind = 0;
#endif
	struct xt_pair pair =
	    kind == 3 ? xt_pipe() : xt_socketpair(types[kind]);

	world->ends[index] = (struct end){.fd = pair.r, .peer = index + 1};
	world->ends[index + 1] = (struct end){.fd = pair.w, .peer = index};
}

static int ctl(struct world *world, struct end *end, int op, int events)
{
	return xpoll_ctl(world->queue, op, events, end->fd, end) == 0 ? 0
	                                                              : errno;
}

/* Apply an operation to the model and to the queue. */
static void change(struct world *world, struct end *end, int op, int events)
{
	int want = 0;
	int model = events & end->registered;

	if ((op & XPOLL_DELETE && !model) ||
	    (!(op & (XPOLL_ADD | XPOLL_DELETE)) && model != events))
		want = ENOENT;
	(void)snprintf(world->last, sizeof world->last, "op 0x%x events 0x%x",
	               (unsigned)op, (unsigned)events);
	XT_STATUS(ctl(world, end, op, events), want);
	if (want)
		return;
	if (op & XPOLL_ADD)
		end->registered |= events;
	if (op & XPOLL_DELETE)
		end->registered &= ~events;
	if (op & (XPOLL_DISABLE | XPOLL_DELETE))
		end->enabled &= ~events;
	else
		end->enabled |= events;
}

static void do_io(struct world *world, struct end *end, uint32_t what)
{
	(void)snprintf(world->last, sizeof world->last, "I/O %u",
	               (unsigned)what);
	/* Errors are allowed: it may be the wrong end, full, or hung up. */
	if (what == 0 && write(end->fd, "x", 1) < 0)
		return;
	if (what == 1)
		(void)xt_get(end->fd);
	if (what == 2)
		(void)xt_drain(end->fd);
	if (what == 3)
		(void)shutdown(end->fd, SHUT_WR);
	if (what == 4 && end->peer >= 0 && (end->enabled & POLLOUT))
		for (int i = 0; i < 3000; i++)
			if (write(end->fd, "0123456789abcdef", 16) < 0)
				return;
}

/* Close an end; if its peer is closed, too, make a new pair. */
static void close_end(struct world *world, struct end *end)
{
	int index = (int)(end - world->ends);

	(void)snprintf(world->last, sizeof world->last, "close");
	if (end->registered)
		XT_STATUS(ctl(world, end, XPOLL_DELETE, end->registered), 0);
	xt_close(end->fd);
	end->fd = -1;
	end->registered = end->enabled = 0;
	struct end *peer = &world->ends[index ^ 1];
	peer->peer = -1;
	if (peer->fd < 0)
		make_pair(world, index & ~1);
}

static void step(struct world *world)
{
	static const int ops[] = {XPOLL_ADD,     XPOLL_ADD | XPOLL_DISABLE,
	                          XPOLL_ENABLE,  XPOLL_ENABLE,
	                          XPOLL_DISABLE, XPOLL_DISABLE,
	                          XPOLL_DELETE};
	static const int events[] = {POLLIN, POLLOUT, BOTH};
	struct end *end = &world->ends[pick(world, ENDS)];
	uint32_t what = pick(world, 100);

	if (end->fd < 0)
		return;
	if (what < 40)
		change(world, end, ops[pick(world, 7)], events[pick(world, 3)]);
	else if (what < 97)
		do_io(world, end, pick(world, 8) % 5);
	else
		close_end(world, end);
}

/* Returns the bits that poll(2) reports of an end, reduced to the enabled ones. */
static int poll_says(const struct end *end)
{
	if (end->fd < 0 || !end->enabled)
		return 0;
	return xt_poll(end->fd, end->enabled);
}

static bool entry_agrees(struct world *world, struct end *end, int revents)
{
	int want = poll_says(end);

	if (revents == want)
		return true;
	xt_fail(__FILE__, __LINE__,
	        "step %d (%s), end %d, enabled 0x%x: revents 0x%x, poll(2) "
	        "says 0x%x",
	        world->steps, world->last, (int)(end - world->ends),
	        (unsigned)end->enabled, (unsigned)revents, (unsigned)want);
	return false;
}

/*
 * Each event must agree with poll(2), and each ready registration must be delivered within a
 * bounded number of waits (S11).
 */
static void compare(struct world *world)
{
	bool seen[ENDS] = {false};
	int missing = 0;

	for (int i = 0; i < ENDS; i++)
		missing += poll_says(&world->ends[i]) != 0;
	for (int waits = 0; waits < WAITS && (missing || !waits); waits++) {
		void *data = NULL;
		int revents;

		XT_CHECK(xpoll_wait(world->queue, 0) >= 0);
		while ((revents = xpoll_revents(world->queue, &data))) {
			struct end *end = data;

			XT_CHECK(entry_agrees(world, end, revents));
			missing -= !seen[end - world->ends];
			seen[end - world->ends] = true;
		}
	}
	for (int i = 0; missing && i < ENDS; i++)
		if (!seen[i])
			(void)entry_agrees(world, &world->ends[i], 0);
}

/* For each of some seeds run steps on a new world, and compare after most steps. */
static void run_worlds(unsigned flags, void (*step_of)(struct world *),
                       void (*compare_of)(struct world *))
{
	for (uint64_t seed = xt_seed(); seed < xt_seed() + 8 && !xt_failures(); seed++) {
		struct world world = {.queue = xt_open_flags(flags), .seed = seed};

		for (int i = 0; i < ENDS; i += 2)
			make_pair(&world, i);
		for (; world.steps < STEPS && !xt_failures(); world.steps++) {
			step_of(&world);
			/* Sometimes make several steps before the comparison. */
			if (pick(&world, 4))
				compare_of(&world);
		}
		if (xt_failures())
			xt_note("this world's seed is %ju", (uintmax_t)seed);
		for (int i = 0; i < ENDS; i++)
			if (world.ends[i].fd >= 0)
				xt_close(world.ends[i].fd);
		xt_destroy(world.queue);
	}
}

XT_TEST(random_level_agrees_with_poll)
{
	XT_NEEDS_USER_EVENTS();
	run_worlds(0, step, compare);
}

/*
 * The event level with modes.  The model: a level-triggered or DISPATCH filter is delivered if and
 * only if it is enabled and its condition holds; a CLEAR filter is delivered if there was activity
 * since its last event, and never without its condition.
 */
struct mode_end {
	struct xt_pair pair;
	int mode;
	int enabled;
	int fresh; /* activity since the last event: an event must come */
};

enum { MODE_ENDS = 8 };

struct mode_world {
	struct xpoll *queue;
	struct mode_end ends[MODE_ENDS];
	uint64_t seed;
	int steps;
};

static void mode_step(struct mode_world *world)
{
	uint32_t random = xt_random(&world->seed);
	struct mode_end *end = &world->ends[random % MODE_ENDS];
	uint64_t ident = (uint64_t)end->pair.r;

	switch (random / MODE_ENDS % 6) {
	case 0:
	case 1:
		end->fresh = write(end->pair.w, "x", 1) == 1 || end->fresh;
		break;
	case 2:
		(void)xt_get(end->pair.r);
		break;
	case 3:
		(void)xt_drain(end->pair.r);
		break;
	case 4:
		XT_OK(xt_flag(world->queue, ident, READ, XPOLL_DISABLE));
		end->enabled = 0;
		break;
	default:
		XT_OK(xt_flag(world->queue, ident, READ, XPOLL_ENABLE));
		end->enabled = 1;
		end->fresh = 1;
		break;
	}
}

static bool mode_holds(const struct mode_end *end)
{
	return end->enabled && xt_poll(end->pair.r, POLLIN);
}

static bool mode_must(const struct mode_end *end)
{
	return mode_holds(end) && (end->fresh || !(end->mode & XPOLL_CLEAR));
}

static void mode_fail(const struct mode_world *world,
                      const struct mode_end *end, const char *what)
{
	xt_fail(__FILE__, __LINE__, "step %d, mode 0x%x, enabled %d, fresh %d: %s",
	        world->steps, (unsigned)end->mode, end->enabled, end->fresh,
	        what);
}

/* Take the events that are ready; *came marks their ends. */
static void mode_take(struct mode_world *world, bool *came)
{
	struct xpoll_event events[MODE_ENDS + 1];
	int count = xpoll_event(world->queue, NULL, 0, events, MODE_ENDS + 1, 0);

	XT_CHECK(count >= 0 && count <= MODE_ENDS);
	for (int i = 0; i < MODE_ENDS; i++) {
		struct mode_end *end = &world->ends[i];

		if (xt_find(events, count, (uint64_t)end->pair.r, READ) < 0)
			continue;
		if (!mode_holds(end)) {
			mode_fail(world, end, "came");
			return;
		}
		came[i] = true;
		end->fresh = 0;
		if (end->mode & XPOLL_DISPATCH)
			end->enabled = 0;
	}
}

static void mode_compare(struct mode_world *world)
{
	bool came[MODE_ENDS] = {false};
	bool must[MODE_ENDS];
	int missing = 1;

	for (int i = 0; i < MODE_ENDS; i++)
		must[i] = mode_must(&world->ends[i]);
	for (int waits = 0; waits < WAITS && missing; waits++) {
		XT_CALL(mode_take(world, came));
		missing = 0;
		for (int i = 0; i < MODE_ENDS; i++)
			missing += must[i] && !came[i];
	}
	for (int i = 0; i < MODE_ENDS; i++)
		if (must[i] && !came[i])
			mode_fail(world, &world->ends[i], "did not come");
}

static void mode_run(uint64_t seed)
{
	static const int modes[] = {0, XPOLL_CLEAR, XPOLL_DISPATCH,
	                            XPOLL_CLEAR | XPOLL_DISPATCH};
	struct mode_world world = {.queue = xt_open_quiet(), .seed = seed};

	for (int i = 0; i < MODE_ENDS; i++) {
		struct mode_end *end = &world.ends[i];

		*end = (struct mode_end){
		    .pair = i < 4 ? xt_pipe() : xt_socketpair(SOCK_STREAM),
		    .mode = modes[i % 4],
		    .enabled = 1};
		XT_OK(xt_add(world.queue, end->pair.r, READ, end->mode));
	}
	for (; world.steps < STEPS && !xt_failures(); world.steps++) {
		mode_step(&world);
		if (xt_random(&world.seed) % 3)
			mode_compare(&world);
	}
	if (xt_failures())
		xt_note("this world's seed is %ju", (uintmax_t)seed);
	xt_destroy(world.queue);
}

XT_TEST(random_modes_agree_with_the_model)
{
	for (uint64_t i = 0; i < 8 && !xt_failures(); i++)
		mode_run(xt_seed() + i);
}

/*
 * S11: with XPOLL_ALL_READY one wait of the event level returns every filter whose
 * condition holds, and no other.  Registrations are mixed: any set of poll(2)'s bits for
 * each end, and filters that are disabled beside others.
 */
enum { ALL_BITS = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

static int random_bits(struct world *world)
{
	static const int bits[] = {POLLIN, POLLOUT, POLLPRI, POLLRDHUP};
	int events = 0;

	while (!events)
		for (int i = 0; i < 4; i++)
			events |= pick(world, 2) ? bits[i] : 0;
	return events;
}

/*
 * Returns the bits of poll(2) that this filter stands for, by the requested bits, as xpoll_ctl(3)
 * says.
 */
static int filter_bits(const struct end *end, int filter)
{
	int bits = filter == READ ? POLLIN | POLLRDHUP : filter == WRITE ? POLLOUT : POLLPRI;

	return end->enabled & bits;
}

/*
 * Enable, disable or delete bits; POLLIN and POLLRDHUP belong to one filter, so they are enabled
 * together.
 */
static void mixed_change(struct world *world, struct end *end)
{
	static const int ops[] = {XPOLL_ADD,     XPOLL_ADD, XPOLL_ENABLE,
	                          XPOLL_DISABLE, XPOLL_DELETE};
	int op = ops[pick(world, 5)];
	int events = random_bits(world);

	if (op != XPOLL_ADD && events & (POLLIN | POLLRDHUP))
		events = (events & (POLLOUT | POLLPRI)) |
			(end->registered & (POLLIN | POLLRDHUP));
	if (!events || (op != XPOLL_ADD && events & ~end->registered))
		return;
	change(world, end, op, events);
	if (end->enabled & (POLLIN | POLLRDHUP))
		end->enabled |= end->registered & (POLLIN | POLLRDHUP);
}

static bool mixed_holds(const struct end *end, int filter)
{
	int bits = filter_bits(end, filter);
	int revents = bits ? xt_poll(end->fd, end->enabled) : 0;

	if (filter != EXCEPT)
		bits |= bits ? POLLHUP | POLLERR : 0;
	return revents & bits;
}

static void mixed_compare(struct world *world)
{
	static const int filters[] = {READ, WRITE, EXCEPT};
	struct xpoll_event events[ENDS * 3];
	int count = xpoll_event(world->queue, NULL, 0, events, ENDS * 3, 0);

	XT_CHECK(count >= 0);
	for (int i = 0; i < ENDS; i++) {
		const struct end *end = &world->ends[i];

		for (int k = 0; k < 3 && end->fd >= 0; k++) {
			bool came = xt_find(events, count, (uint64_t)end->fd, filters[k]) >= 0;

			if (came == mixed_holds(end, filters[k]))
				continue;
			xt_fail(__FILE__, __LINE__,
			        "step %d (%s), end %d, enabled 0x%x, poll(2) 0x%x: %s %s",
			        world->steps, world->last, i, (unsigned)end->enabled,
			        (unsigned)xt_poll(end->fd, end->enabled),
			        xt_filter_name(filters[k]), came ? "came" : "did not come");
		}
	}
}

static void mixed_step(struct world *world)
{
	struct end *end = &world->ends[pick(world, ENDS)];
	uint32_t what = pick(world, 100);

	if (end->fd < 0)
		return;
	if (what < 40)
		mixed_change(world, end);
	else if (what < 97)
		do_io(world, end, pick(world, 8) % 5);
	else
		close_end(world, end);
}

XT_TEST(random_mixed_levels_all_come_in_one_wait)
{
	XT_NEEDS_EXCEPT();
	if (xt_has_kqueue())
		XT_SKIP("poll(2) has bits here that no filter has");
	run_worlds(XPOLL_ALL_READY, mixed_step, mixed_compare);
}

/* Chooses the steps of a random program at random: see program.h. */
#include <sys/epoll.h>

#include "program.h"

static unsigned any(uint64_t *random, unsigned below)
{
	return xt_random(random) % below;
}

static uint32_t any_events(uint64_t *random)
{
	static const uint32_t bits[] = {EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLPRI};
	uint32_t events = 0;

	if (any(random, 8) == 0)
		return 0;
	for (int i = 0; i < 4; i++)
		if (any(random, 2) == 0)
			events |= bits[i];
	return events;
}

/* Returns any mode; only those without edges if XPOLL_EPOLL_EDGES is 0. */
static enum mode any_mode(uint64_t *random)
{
	static const enum mode levels[] = {LEVEL, ONESHOT, EXCLUSIVE};
	const char *edges = getenv("XPOLL_EPOLL_EDGES");

	if (edges && atoi(edges) == 0)
		return levels[any(random, 3)];
	return (enum mode)any(random, MODES);
}

static uint32_t draw_change(enum op op, uint64_t *random)
{
	enum mode mode = any_mode(random);
	uint32_t events = any_events(random) | mode_flags[mode];

	if (op == DEL)
		return 0;
	if (mode == EXCLUSIVE && any(random, 4) > 0)
		events &= ~(uint32_t)(EPOLLRDHUP | EPOLLPRI);
	return events;
}

/* Returns true if the step is possible.  Slot 0 is the inner set, which is never closed. */
static bool is_possible(const struct step *step)
{
	if (step->index > 0)
		return step->op != DUP || (step->value > 0 && step->value != (uint32_t)step->index);
	if (step->op <= DEL)
		return step->set == 0;
	return step->op != CLOSE && step->op != DUP;
}

static uint32_t draw_value(enum op op, uint64_t *random)
{
	switch (op) {
	case ADD:
	case MOD:
	case DEL:
		return draw_change(op, random);
	case PUT:
		return 1 + any(random, 9);
	case DUP:
		return any(random, SLOTS);
	case WAIT:
		return 1 + any(random, 8);
	case WAITERS:
		return 1 + any(random, 3);
	default:
		return 0;
	}
}

/*
 * Choose the slot and the set: of several candidates, the one whose pair of operation and kind has
 * run least often.  For a write, the one for which waits have reported the fewest events.
 */
static void draw_place(struct step *step, uint64_t *random)
{
	int tries = step->op > DEL && step->op != WAIT ? 12 : 1;
	long least = -1;

	for (int i = 0; i < tries; i++) {
		struct step other = {
			.op = step->op, .index = (int)any(random, SLOTS),
			.set = (int)any(random, SETS), .value = draw_value(step->op, random),
		};
		long ran = pairs_ran(&other, other.op == PUT ? WAIT : other.op);

		if (!is_possible(&other) || (least >= 0 && ran >= least))
			continue;
		*step = other;
		least = ran;
	}
}

void draw(struct step *step, uint64_t *random)
{
	bool was_outer_wait = step->op == WAIT && step->set == 0;

	do {
		/* Waits with threads are slow, and closes leave nothing to be reported. */
		step->op = (enum op)any(random, any(random, 8) == 0 ? MAKE : WAITERS);
		if ((step->op == CLOSE || step->op == CLOSE_PEER || step->op == DUP) &&
		    any(random, 3) > 0)
			step->op = ADD;
		step->value = 0;
		draw_place(step, random);
	} while (!is_possible(step));
	/*
	 * If the outer set was waited for, often wait for the inner set next, to check whether the
	 * report was right.
	 */
	if (was_outer_wait && any(random, 2) == 0)
		*step = (struct step){.op = WAIT, .set = 1, .value = 1 + any(random, 8)};
}

void draw_make(struct step *step, int index, uint64_t *random)
{
	*step = (struct step){
		.op = MAKE, .index = index, .value = index == 0 ? NESTED : any(random, NESTED),
	};
}

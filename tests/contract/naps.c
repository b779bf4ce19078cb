/* contract.loops: threads that sleep in the queue until they get an event. */
#include "loops.h"

#include <sched.h>

int naps_poll(struct xpoll *queue, struct xpoll_event *records, int cap, int timeout_ms, bool own)
{
	struct xpoll_ready ready[ROOM];
	int count = own ? xpoll_pwait(queue, ready, cap, timeout_ms * INT64_C(1000000), NULL)
		: xpoll_wait(queue, timeout_ms);

	if (!own && count > 0)
		for (count = 0; (ready[count].events = xpoll_revents(queue, &ready[count].data));)
			count++;
	for (int i = 0; i < count; i++)
		records[i] = (struct xpoll_event){
			.fflags = (uint32_t)ready[i].events, .udata = ready[i].data};
	return count;
}

static void nap_run(void *argument)
{
	struct nap *nap = argument;

	nap->count = nap->poll ? naps_poll(nap->queue, nap->events, nap->cap, -1, nap->own)
		: xpoll_event(nap->queue, NULL, 0, nap->events, nap->cap, -1);
}

bool naps_any(const struct world *world)
{
	for (int i = 0; i < NAPPERS; i++)
		if (world->naps[i].thread)
			return true;
	return false;
}

void naps_begin(struct world *world)
{
	int i = loops_pick(world, NAPPERS);
	struct nap *nap = &world->naps[i];

	if (nap->thread)
		return;
	if (!naps_any(world)) {
		memset(world->seen, 0, sizeof world->seen);
		world->nap_poll = loops_pick(world, 2);
	}
	/* Only one thread at a time may be in xpoll_wait. */
	*nap = (struct nap){.queue = world->queue, .poll = world->nap_poll,
	                    .own = i > 0 || loops_pick(world, 2),
	                    .cap = loops_pick(world, 2) ? ROOM : 1 + loops_pick(world, 3)};
	loops_look(world);
	for (int k = 0; k < FILES; k++)
		world->files[k].regs[0].at_once = world->files[k].regs[1].at_once = false;
	nap->thread = xt_start(nap_run, nap);
}

static void came(struct world *world, struct file *file, int filter)
{
	int index = (int)(file - world->files);
	struct reg *reg = &file->regs[filter];

	if (!reg->enabled && !reg->was_enabled)
		loops_wrong(world, index, filter, "came to a sleeper, disabled");
	if (!loops_holds(world->seen[index], filter))
		loops_wrong(world, index, filter, "came to a sleeper without its condition");
	world->came[index][filter] = false;
	reg->must = reg->may = false;
	loops_came(world, index, filter);
}

static void ended(struct world *world, struct nap *nap)
{
	xt_join(nap->thread);
	nap->thread = NULL;
	XT_CHECK(nap->count >= 0);
	loops_look(world);
	for (int i = 0; i < nap->count; i++) {
		const struct xpoll_event *event = &nap->events[i];
		struct file *file = event->udata;

		if (!nap->poll)
			came(world, file, event->filter == XPOLL_FILT_WRITE);
		for (int k = 0; nap->poll && k < 2; k++)
			if (file->regs[k].enabled && loops_holds((int)event->fflags, k))
				came(world, file, k);
	}
	/* The event that woke the thread, and edges of others, may be delivered again. */
	for (int i = 0; i < FILES; i++)
		world->files[i].regs[0].may = world->files[i].regs[1].may = true;
}

static void forget_changes(struct world *world)
{
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++)
			world->files[i].regs[k].was_enabled = false;
}

/*
 * Returns true if an event is ready that must wake a sleeping thread.  If late, report that as a
 * failure.
 */
static bool is_due(struct world *world, bool late)
{
	bool any = false;

	loops_look(world);
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++) {
			bool due = loops_due(world, i, k);

			if (due && late)
				loops_wrong(world, i, k, "a thread sleeps");
			any |= due;
		}
	return any && !late;
}

void naps_settle(struct world *world)
{
	int64_t end = xt_now() + XT_SOON / 4;
	bool again = true;

	while (again && !xt_failures()) {
		again = false;
		for (int i = 0; i < NAPPERS; i++)
			if (world->naps[i].thread && xt_done(world->naps[i].thread))
				ended(world, &world->naps[i]);
		again = naps_any(world) && is_due(world, xt_now() > end);
		if (again)
			(void)sched_yield();
	}
	forget_changes(world);
	if (!naps_any(world))
		xt_threads_reuse();
}

void naps_end(struct world *world)
{
	while (naps_any(world) && !xt_failures()) {
		naps_settle(world);
		XT_EQ(xpoll_wake_all(world->queue), 0);
		(void)sched_yield();
	}
}

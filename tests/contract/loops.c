/*
 * Goal: the state that a queue keeps for each registration, such as how often
 * it was reported, enabled or checked in vain, never causes a wrong result,
 * however long the registration exists (S3, S4, S8, S9, S10, S11, S17).
 * Method: short random programs of I/O, changes and waits at both levels, each
 * repeated hundreds of times on the same registrations.  Each wait is compared
 * with poll(2), and edges with the activity since their last event.  The same
 * with threads that sleep in the queue: none may continue to sleep while its
 * event is ready.  A failure prints the program; --seed repeats it.
 */
#include "loops.h"

enum {
	WORLDS = XT_SLOW ? 6 : 40,
	PROGRAMS = 8,
	LENGTH = 12,
	TURNS = 300,
	/* number of waits within which all ready registrations must have been delivered (S11) */
	WAITS = 64,
};

enum what {
	PEER_WRITES, GET, DRAIN, FILL, PEER_DRAINS, PEER_ENDS,
	ADD, ADD_DISABLED, ENABLE, DISABLE, DELETE,
	TAKE, TAKE_FEW, TAKE_POLL, NAP,
};

struct step {
	enum what what;
	int file;
	int filter; /* 0: READ, 1: WRITE */
	int cap;
};

static const int filters[] = {READ, WRITE};
static const int bits[] = {POLLIN | POLLRDHUP, POLLOUT};

int loops_pick(struct world *world, int below)
{
	return (int)(xt_random(&world->seed) % (uint32_t)below);
}

bool loops_holds(int revents, int filter)
{
	return revents & (bits[filter] | POLLHUP | POLLERR);
}

void loops_look(struct world *world)
{
	for (int i = 0; i < FILES; i++)
		world->seen[i] |= world->revents[i] =
			xt_poll(world->files[i].pair.r, bits[0] | bits[1]);
}

void loops_wrong(const struct world *world, int file, int filter, const char *what)
{
	const struct reg *reg = &world->files[file].regs[filter];

	xt_fail(__FILE__, __LINE__,
	        "step %d, file %d, %s, poll(2) says 0x%x, enabled %d, modes 0x%x, "
	        "activity %d %d, owed %d: %s",
	        world->steps, file, filter ? "WRITE" : "READ",
	        (unsigned)world->revents[file], reg->enabled, (unsigned)reg->modes, reg->must,
	        reg->may, reg->owed, what);
}

/* Registrations --------------------------------------------------------------- */

static int change(struct world *world, struct file *file, int filter, int flags)
{
	return xt_change(world->queue, (uint64_t)file->pair.r, filters[filter], flags, 0, 0,
	                 file);
}

static void wanted(struct reg *reg)
{
	reg->must = reg->may = true;
	reg->spare = 1;
	reg->at_once = reg->enabled;
	reg->owed = 0;
}

static void add(struct world *world, struct file *file, int filter, int disable)
{
	static const int modes[] = {0, 0, XPOLL_CLEAR, XPOLL_DISPATCH, XPOLL_ONESHOT,
	                            XPOLL_CLEAR | XPOLL_DISPATCH};
	struct reg *reg = &file->regs[filter];

	if (!reg->there)
		*reg = (struct reg){.there = true, .enabled = true,
		                    .modes = modes[loops_pick(world, 6)]};
	reg->was_enabled = reg->enabled;
	XT_OK(change(world, file, filter, XPOLL_ADD | reg->modes | disable));
	reg->enabled &= !disable;
	wanted(reg);
}

static void change_there(struct world *world, struct file *file, int filter, int flag)
{
	struct reg *reg = &file->regs[filter];
	bool was_enabled = reg->enabled;

	if (!reg->there)
		return;
	XT_OK(change(world, file, filter, flag));
	reg->enabled = flag == XPOLL_ENABLE;
	if (flag == XPOLL_ENABLE)
		wanted(reg);
	else if (flag == XPOLL_DELETE)
		*reg = (struct reg){0};
	reg->at_once &= reg->enabled;
	reg->was_enabled = was_enabled;
}

static void make_file(struct world *world, struct file *file)
{
	int kind = loops_pick(world, 5);
	struct xt_pair pair = kind < 2 ? xt_socketpair(SOCK_STREAM)
		: kind == 2 ? xt_socketpair(SOCK_DGRAM) : xt_pipe();

	*file = (struct file){.pair = pair, .socket = kind < 2};
	if (kind == 4)
		file->pair = (struct xt_pair){.r = pair.w, .w = pair.r};
	for (int i = 1 + loops_pick(world, 3); i > 0; i--)
		add(world, file, loops_pick(world, 2), 0);
}

static void remake_file(struct world *world, struct file *file)
{
	XT_EQ(xpoll_close_fd(file->pair.r), 0);
	xt_close(file->pair.w);
	make_file(world, file);
}

/* Input and output ---------------------------------------------------------------- */

static void act(struct file *file, enum what what)
{
	int fd = file->pair.r, peer = file->pair.w;
	char buffer[64] = "";

	switch (what) {
	case PEER_WRITES:
		if (write(peer, "ab", 2) > 0)
			file->regs[0].must = file->regs[0].may = true;
		break;
	case GET:
		(void)!read(fd, buffer, 1);
		break;
	case DRAIN:
		while (read(fd, buffer, sizeof buffer) > 0)
			;
		break;
	case FILL:
		for (int i = 0; i < 8192 && write(fd, buffer, sizeof buffer) > 0; i++)
			;
		break;
	case PEER_DRAINS:
		while (read(peer, buffer, sizeof buffer) > 0)
			;
		file->regs[1].may = true;
		break;
	default: /* PEER_ENDS */
		if (file->socket && shutdown(peer, SHUT_WR) == 0)
			file->regs[0].may = file->regs[1].may = true;
		break;
	}
}

static void io(struct world *world, struct file *file, enum what what)
{
	int before[FILES];

	loops_look(world);
	memcpy(before, world->revents, sizeof before);
	act(file, what);
	loops_look(world);
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++)
			if (loops_holds(world->revents[i], k) && !loops_holds(before[i], k))
				world->files[i].regs[k].must = world->files[i].regs[k].may = true;
}

/* Waits --------------------------------------------------------------------------- */

bool loops_due(const struct world *world, int file, int filter)
{
	const struct reg *reg = &world->files[file].regs[filter];

	return reg->enabled && loops_holds(world->revents[file], filter) &&
		(!(reg->modes & XPOLL_CLEAR) || reg->must);
}

/* An epoll entry may report all its edges when one filter has activity. */
static bool may_come(struct file *file, int filter)
{
	struct reg *reg = &file->regs[filter];

	if (!(reg->modes & XPOLL_CLEAR) || reg->may || xt_has_kqueue())
		return true;
	return !xt_is("poll") && !xt_is("select") &&
		(file->regs[!filter].may || reg->spare-- > 0);
}

void loops_came(struct world *world, int file, int filter)
{
	struct reg *reg = &world->files[file].regs[filter];

	if (world->came[file][filter])
		loops_wrong(world, file, filter, "came twice");
	world->came[file][filter] = true;
	reg->owed = 0;
	reg->at_once = false;
	if (reg->modes & XPOLL_ONESHOT)
		*reg = (struct reg){0};
	else if (reg->modes & XPOLL_DISPATCH)
		reg->enabled = false;
}

/* A wait that has no other event must find the ready filter; other waits may take WAITS of them. */
static void missed(struct world *world, int count, int file, int filter, bool room)
{
	struct reg *reg = &world->files[file].regs[filter];
	/* In these cases kqueue(2) is the library itself, which needs more waits. */
	bool exact = !xt_has_kqueue();

	if (naps_any(world))
		return; /* a thread that sleeps may have received the event */
	if (room && (count == 0 || (exact && (world->all_ready || reg->at_once))))
		loops_wrong(world, file, filter, "did not come");
	else if (++reg->owed > (exact ? WAITS : WAITS * WAITS))
		loops_wrong(world, file, filter, "is late");
}

static void waited(struct world *world, bool (*owed)[2], int count, bool room)
{
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++) {
			if (owed[i][k] && !world->came[i][k])
				missed(world, count, i, k, room);
			world->files[i].regs[k].at_once = false;
		}
}

static void take_events(struct world *world, bool (*owed)[2], int cap)
{
	struct xpoll_event events[ROOM];
	bool may[FILES][2];
	int count = xpoll_event(world->queue, NULL, 0, events, cap, 0);

	XT_CHECK(count >= 0);
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++)
			may[i][k] = xt_find(events, count, (uint64_t)world->files[i].pair.r,
			                    filters[k]) < 0 || may_come(&world->files[i], k);
	for (int i = 0; i < count; i++) {
		struct file *file = events[i].udata;
		int index = (int)(file - world->files);
		int filter = events[i].filter == WRITE;

		if (!file->regs[filter].enabled)
			loops_wrong(world, index, filter, "came disabled");
		if (!loops_holds(world->revents[index], filter))
			loops_wrong(world, index, filter, "came without its condition");
		if (!may[index][filter])
			loops_wrong(world, index, filter, "came again");
		file->regs[filter].must = file->regs[filter].may = false;
		loops_came(world, index, filter);
	}
	waited(world, owed, count, count < cap);
}

/*
 * The poll-like level reports bits; whether it reports edges beside the requested bits is not
 * defined.
 */
static void take_poll(struct world *world, bool (*owed)[2])
{
	struct xpoll_event records[ROOM];
	bool own = naps_any(world) || loops_pick(world, 2);
	int count = naps_poll(world->queue, records, ROOM, 0, own);

	XT_CHECK(count >= 0);
	for (int i = 0; i < count; i++) {
		struct file *file = records[i].udata;
		int revents = (int)records[i].fflags;
		int index = (int)(file - world->files);
		int wanted_bits = POLLHUP | POLLERR | (file->regs[0].enabled ? bits[0] : 0) |
			(file->regs[1].enabled ? bits[1] : 0);

		if (revents & ~(world->revents[index] & wanted_bits))
			loops_wrong(world, index, 0, "poll(2) does not say that");
		for (int k = 0; k < 2; k++) {
			if (!file->regs[k].enabled || !loops_holds(revents, k))
				continue;
			file->regs[k].must = file->regs[k].may = false;
			loops_came(world, index, k);
		}
	}
	waited(world, owed, count, true);
}

static void take(struct world *world, enum what what, int cap)
{
	bool owed[FILES][2];

	loops_look(world);
	memset(world->came, 0, sizeof world->came);
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++)
			owed[i][k] = loops_due(world, i, k);
	if (what == TAKE_POLL)
		take_poll(world, owed);
	else
		take_events(world, owed, what == TAKE ? ROOM : cap);
}

static void watch_from_outside(struct world *world)
{
	loops_look(world);
	for (int i = 0; i < FILES; i++)
		for (int k = 0; k < 2; k++)
			if (loops_due(world, i, k) && !xt_poll(xpoll_fd(world->queue), POLLIN))
				loops_wrong(world, i, k, "xpoll_fd is silent");
}

/* Programs ------------------------------------------------------------------------ */

static struct step make_step(struct world *world)
{
	static const enum what changes[] = {ADD, ADD, ADD_DISABLED, ENABLE, ENABLE, ENABLE,
	                                    DISABLE, DISABLE, DISABLE, DELETE};
	static const enum what waits[] = {TAKE, TAKE, TAKE, TAKE_POLL, TAKE_POLL, TAKE_FEW};
	struct step step = {.file = loops_pick(world, FILES), .filter = loops_pick(world, 2),
	                    .cap = 1 + loops_pick(world, 3)};
	int kind = loops_pick(world, 10);

	if (kind < 3)
		step.what = loops_pick(world, 40) ? (enum what)loops_pick(world, PEER_ENDS)
			: PEER_ENDS;
	else if (kind < 6)
		step.what = changes[loops_pick(world, 10)];
	else
		step.what = world->has_naps && loops_pick(world, 2) ? NAP
			: waits[loops_pick(world, 6)];
	return step;
}

static void take_step(struct world *world, const struct step *step)
{
	struct file *file = &world->files[step->file];

	world->steps++;
	/*
	 * Sometimes wait until the sleeping threads have handled a change before the next one is
	 * made.
	 */
	if ((step->what > PEER_ENDS && step->what < TAKE) || step->what == TAKE_POLL ||
	    loops_pick(world, 2))
		naps_settle(world);
	if (xt_failures())
		return;
	if (step->what == NAP)
		naps_begin(world);
	else if (step->what <= PEER_ENDS)
		io(world, file, step->what);
	else if (step->what <= ADD_DISABLED)
		add(world, file, step->filter, step->what == ADD ? 0 : XPOLL_DISABLE);
	else if (step->what == ENABLE)
		change_there(world, file, step->filter, XPOLL_ENABLE);
	else if (step->what == DISABLE)
		change_there(world, file, step->filter, XPOLL_DISABLE);
	else if (step->what == DELETE)
		change_there(world, file, step->filter, XPOLL_DELETE);
	else
		take(world, !naps_any(world) ? step->what : world->nap_poll ? TAKE_POLL : TAKE,
		     step->cap);
	if (step->what > PEER_ENDS && step->what < TAKE)
		naps_settle(world);
	if (world->exposed && !naps_any(world))
		watch_from_outside(world);
}

static void run_program(struct world *world)
{
	int len = 1 + loops_pick(world, loops_pick(world, 3) ? 5 : LENGTH);
	int turns = loops_pick(world, 3) ? 20 + loops_pick(world, TURNS)
		: 1 + loops_pick(world, 10);
	int only = loops_pick(world, 3) ? -1 : loops_pick(world, FILES);
	struct step program[LENGTH];

	for (int i = 0; i < len; i++) {
		program[i] = make_step(world);
		if (only >= 0)
			program[i].file = only;
	}
	program[loops_pick(world, len)].what = loops_pick(world, 3) ? TAKE : TAKE_POLL;
	for (; turns > 0 && !xt_failures(); turns--)
		for (int i = 0; i < len && !xt_failures(); i++)
			take_step(world, &program[i]);
	for (int i = 0; i < len && xt_failures(); i++)
		xt_note("program: what %d, file %d, filter %d, cap %d", (int)program[i].what,
		        program[i].file, program[i].filter, program[i].cap);
}

static void run(uint64_t seed, bool naps)
{
	struct world world = {.seed = seed, .has_naps = naps};

	world.all_ready = loops_pick(&world, 2);
	world.queue = xt_open_flags(world.all_ready ? XPOLL_ALL_READY : 0);
	world.exposed = loops_pick(&world, 4) == 0 && xpoll_fd(world.queue) >= 0;
	for (int i = 0; i < FILES; i++)
		make_file(&world, &world.files[i]);
	for (int n = 0; n < PROGRAMS && !xt_failures(); n++) {
		run_program(&world);
		naps_end(&world);
		for (int i = 0; i < FILES && !xt_failures(); i++)
			if (loops_pick(&world, 6) == 0)
				remake_file(&world, &world.files[i]);
		for (int i = 0; i < LENGTH && !xt_failures(); i++) {
			struct step step = make_step(&world);

			take_step(&world, &step);
		}
	}
	naps_end(&world);
	if (xt_failures())
		xt_note("this world's seed is %ju", (uintmax_t)seed);
	xt_destroy(world.queue);
	for (int i = 0; i < FILES; i++)
		xt_shut(world.files[i].pair);
}

static void run_some(bool naps)
{
	uint64_t worlds = xt_has_kqueue() ? WORLDS / 4 : WORLDS;

	for (uint64_t i = 0; i < worlds && !xt_failures(); i++)
		run(xt_seed() + i, naps);
}

XT_TEST(short_programs_repeated_for_long_agree_with_poll)
{
	run_some(false);
}

XT_TEST(a_thread_that_sleeps_meanwhile_comes_out_for_all_that_is_due)
{
	run_some(true);
}

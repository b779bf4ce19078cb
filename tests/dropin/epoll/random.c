/*
 * Goal: in any order of changes, activity, waits and closes, the drop-in returns what Linux's
 * epoll returns: the same errno of each change, and the same events.
 * Method: each step is made twice, on files of the same kinds: with the kernel's epoll, and with
 * the drop-in over another back end.  After a wait both sets are waited on until nothing new
 * comes: the bits of each entry are compared, and how often it came if it is an edge or a
 * one-shot.  Only closes differ: the kernel keeps the entry of a file that has a duplicate, so
 * there it is deleted first.  DIFFERENCES.md has the other differences; allowed() names them.
 * The seed is printed; XT_SEED repeats it, XPOLL_EPOLL_STEPS sets the length, and
 * XPOLL_EPOLL_PAIRS prints how often each operation met each kind of file in each mode.
 */
#include <sys/epoll.h>

#include "files.h"
#include "side.h"

static const char *const mode_names[MODES] = {"level", "edge", "once", "edge once", "exclusive"};
static const uint32_t mode_flags[MODES] = {
	0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT, EPOLLEXCLUSIVE,
};
enum op { ADD, MOD, DEL, PUT, GET, FILL, SHUT, CLOSE_PEER, CLOSE, DUP, WAIT, WAITERS, OPS };
static const char *const op_names[OPS] = {
	"ADD", "MOD", "DEL", "write", "read", "fill", "shutdown", "peer closed", "close", "dup",
	"wait", "waiters",
};
enum { STOP = SLOTS, ROUNDS_MOST = 200, QUIET_ROUNDS = 24 };

/* The events that one side has returned of each entry since the last comparison. */
struct seen {
	uint32_t events[SLOTS + 1];
	int count[SLOTS + 1];
};

static struct run {
	uint64_t random;
	const struct side *side[SIDES];
	int set[SIDES][SETS];
	int stop[SIDES][2]; /* a pipe */
	struct slot slots[SLOTS];
	long ran[OPS][KINDS][MODES];
	long delivered;
	long allowed; /* differences */
	bool has_waiters;
	int step;
} run;

static unsigned any(unsigned below)
{
	return xt_random(&run.random) % below;
}

/* Slot 0 is the set that may be in the other one, for ever. */
static void make(int index)
{
	struct slot *slot = &run.slots[index];

	memset(slot, 0, sizeof *slot);
	slot->kind = index == 0 ? NESTED : (enum kind)any(NESTED);
	slot->copies = 1 << index;
	for (int side = 0; side < SIDES; side++) {
		slot->fd[side] = run.set[side][1]; /* of a set */
		file_make(slot, side, run.side[side]);
	}
}

/* --- Comparing ----------------------------------------------------------------------- */

/* Edges may be reported again, and a terminal is ready a moment later than its peer has acted. */
static bool has_edges_or_terminals(int set)
{
	for (int i = 0; i < SLOTS; i++)
		if (run.slots[i].is_in[set] &&
		    (run.slots[i].events[set] & EPOLLET || run.slots[i].kind == PTY))
			return true;
	return false;
}

/* Returns true if the two sides may differ in this: each case is an item of DIFFERENCES.md. */
static bool allowed(const struct slot *slot, int set, uint32_t kernel, uint32_t dropin)
{
	uint32_t events = slot->events[set];

	/* kqueue(2) reports few ends without EPOLLIN, and refuses a pipe without a reader. */
	if (getenv("MODEL_KERNEL") && kernel & (EPOLLHUP | EPOLLERR | EPOLLRDHUP) &&
	    (!(events & EPOLLIN) || slot->kind == PIPE_END) && dropin == 0)
		return true;
	/* The kernel may wake only one of several exclusive entries of a file. */
	if (events & EPOLLEXCLUSIVE && (kernel & ~dropin) == 0)
		return true;
	/* The stop pipe, which sends threads home, is in the inner set as well. */
	if (slot->kind == NESTED && run.has_waiters)
		return true;
	/* A set that stays ready is no further edge. */
	if (slot->kind == NESTED)
		return events & EPOLLET || has_edges_or_terminals(1);
	/* Any signal, also the other side's, is an edge of each readable signalfd of the kernel. */
	if (slot->kind == SIGNALFD && events & EPOLLET && kernel == EPOLLIN && dropin == 0)
		return true;
	if (!(events & EPOLLET) || kernel & ~dropin & ~(uint32_t)EPOLLOUT)
		return false;
	/* kqueue(2) may report an edge again whenever another filter is changed. */
	if (xt_kqueue() && (kernel & ~dropin) == 0)
		return true;
	/* An edge of EPOLLOUT alone, without new room, which only these two lack at times. */
	if ((kernel | dropin) == EPOLLOUT && kernel != dropin)
		return events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI) ||
			(slot->kind != UNIX && slot->kind != PIPE_END);
	/* An edge that is reported again. */
	return (dropin & kernel) == kernel && (kernel != 0 || slot->kind == PTY);
}

/* After an allowed difference an entry is armed on one side only: arm it on both. */
static void arm_again(int index, int set)
{
	struct slot *slot = &run.slots[index];

	for (int side = 0; side < SIDES; side++)
		run.side[side]->ctl(run.set[side][set], EPOLL_CTL_MOD, slot->fd[side],
		                    slot->events[set], (uint64_t)index);
}

/* No wait returns an entry twice. */
static void check_twice(int side, const struct side_event *events, int count)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			if (events[i].data == events[j].data)
				xt_fail(__FILE__, __LINE__, "step %d: %s returns %ju twice",
				        run.step, run.side[side]->name, (uintmax_t)events[i].data);
}

static void note(struct seen *seen, const struct side_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		if (events[i].data > STOP) {
			xt_fail(__FILE__, __LINE__, "step %d: data %ju", run.step,
			        (uintmax_t)events[i].data);
			continue;
		}
		seen->events[events[i].data] |= events[i].events;
		seen->count[events[i].data]++;
	}
}

/* Wait until nothing new comes, `room` events at a time. */
static void drain(int side, int set, int room, struct seen *seen)
{
	int quiet = 0;

	for (int i = 0; i < ROUNDS_MOST && quiet < QUIET_ROUNDS; i++) {
		struct side_event events[SIDE_MOST];
		struct seen before = *seen;
		int count = run.side[side]->wait(run.set[side][set], events, room, 0);

		if (count <= 0)
			return;
		note(seen, events, count);
		check_twice(side, events, count);
		quiet++;
		if (memcmp(before.events, seen->events, sizeof before.events) != 0)
			quiet = 0;
	}
}

static void compare_one(int index, int set, const struct seen *kernel, const struct seen *dropin)
{
	struct slot *slot = &run.slots[index];
	bool counts = slot->events[set] & (EPOLLET | EPOLLONESHOT);
	/* An edge is not reported more often than there are directions, unless it is an end. */
	bool is_end = dropin->events[index] & (EPOLLHUP | EPOLLERR);
	int most = is_end || xt_kqueue() ? ROUNDS_MOST : 4 * (kernel->count[index] + 1);

	if (kernel->count[index] > 0) {
		run.delivered++;
		run.ran[WAIT][slot->kind][slot->mode[set]]++;
	}
	if (kernel->events[index] == dropin->events[index] &&
	    (!counts || kernel->count[index] == dropin->count[index]))
		return;
	if (allowed(slot, set, kernel->events[index], dropin->events[index]) &&
	    (!counts || slot->kind == NESTED || dropin->count[index] <= most)) {
		run.allowed++;
		arm_again(index, set);
		return;
	}
	xt_fail(__FILE__, __LINE__, "step %d: slot %d, a %s, %s, in set %d for 0x%x: the kernel "
	        "0x%x, %d times, the drop-in 0x%x, %d times", run.step, index,
	        kind_names[slot->kind], mode_names[slot->mode[set]], set, slot->events[set],
	        kernel->events[index], kernel->count[index], dropin->events[index],
	        dropin->count[index]);
}

static void compare(int set, const struct seen *kernel, const struct seen *dropin)
{
	for (int i = 0; i < SLOTS; i++)
		compare_one(i, set, kernel, dropin);
}

static void wait_for_both(int set)
{
	struct seen seen[SIDES];
	int room = 1 + (int)any(8);

	memset(seen, 0, sizeof seen);
	for (int side = 0; side < SIDES; side++)
		drain(side, set, room, &seen[side]);
	/* A terminal may be late on one side. */
	if (memcmp(seen[0].events, seen[1].events, sizeof seen[0].events) != 0)
		for (int side = 0; side < SIDES; side++)
			drain(side, set, room, &seen[side]);
	compare(set, &seen[0], &seen[1]);
}

/* --- Changes --------------------------------------------------------------------------- */

static uint32_t any_events(void)
{
	static const uint32_t bits[] = {EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLPRI};
	uint32_t events = 0;

	if (any(8) == 0)
		return 0;
	for (int i = 0; i < 4; i++)
		if (any(2) == 0)
			events |= bits[i];
	return events;
}

static void change(enum op op, int index, int set)
{
	static const int calls[] = {EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
	struct slot *slot = &run.slots[index];
	enum mode mode = op == DEL ? slot->mode[set] : (enum mode)any(MODES);
	uint32_t events = any_events() | mode_flags[mode];
	int status[SIDES];

	if (mode == EXCLUSIVE && any(4) > 0)
		events &= ~(uint32_t)(EPOLLRDHUP | EPOLLPRI);
	for (int side = 0; side < SIDES; side++)
		status[side] = run.side[side]->ctl(run.set[side][set], calls[op], slot->fd[side],
		                                   events, (uint64_t)index);
	run.ran[op][slot->kind][mode]++;
	if (status[0] != status[1])
		xt_fail(__FILE__, __LINE__, "step %d: %s of slot %d, a %s, 0x%x, set %d: "
		        "the kernel %s, the drop-in %s", run.step, op_names[op], index,
		        kind_names[slot->kind], events, set, xt_error_name(status[0]),
		        xt_error_name(status[1]));
	if (status[0] != 0)
		return;
	slot->is_in[set] = op != DEL;
	slot->mode[set] = mode;
	slot->events[set] = events;
}

/* --- Activity -------------------------------------------------------------------------- */

static void act(enum op op, int index)
{
	struct slot *slot = &run.slots[index];

	run.ran[op][slot->kind][slot->mode[0]]++;
	for (int side = 0; side < SIDES; side++) {
		if (op == PUT)
			file_put(slot, side);
		else if (op == GET)
			file_get(slot, side);
		else if (op == FILL)
			file_fill(slot, side);
		else if (op == SHUT)
			file_shut(slot, side);
		else
			file_close_peer(slot, side);
	}
	slot->is_shut |= op == SHUT && (slot->kind == TCP || slot->kind == UNIX);
	/* The peer belongs to all duplicates. */
	for (int i = 0; i < SLOTS; i++) {
		if (!(slot->copies & 1 << i))
			continue;
		run.slots[i].is_shut = slot->is_shut;
		for (int side = 0; side < SIDES; side++)
			run.slots[i].peer[side] = slot->peer[side];
	}
}

/* --- Closing --------------------------------------------------------------------------- */

static void close_slot(int index)
{
	struct slot *slot = &run.slots[index];

	run.ran[CLOSE][slot->kind][slot->mode[0]]++;
	for (int set = 0; set < SETS; set++)
		if (slot->is_in[set])
			run.side[0]->ctl(run.set[0][set], EPOLL_CTL_DEL, slot->fd[0], 0, 0);
	for (int side = 0; side < SIDES; side++) {
		close(slot->fd[side]);
		if (slot->copies == 1 << index && slot->peer[side] >= 0)
			close(slot->peer[side]);
	}
	for (int i = 0; i < SLOTS; i++)
		run.slots[i].copies &= ~(1 << index);
}

/* Another slot becomes a duplicate. */
static void duplicate(int from, int to)
{
	struct slot *slot = &run.slots[from], *copy = &run.slots[to];

	if (from == to || to == 0 || from == 0)
		return;
	run.ran[DUP][slot->kind][slot->mode[0]]++;
	close_slot(to);
	*copy = *slot;
	memset(copy->is_in, 0, sizeof copy->is_in);
	memset(copy->mode, 0, sizeof copy->mode);
	memset(copy->events, 0, sizeof copy->events);
	for (int side = 0; side < SIDES; side++)
		copy->fd[side] = dup(slot->fd[side]);
	copy->copies |= 1 << to;
	for (int i = 0; i < SLOTS; i++)
		if (copy->copies & 1 << i)
			run.slots[i].copies = copy->copies;
}

/* --- Several threads --------------------------------------------------------------------- */

struct waiter {
	int side, set;
	struct side_event events[SIDE_MOST];
	int count;
};

static void wait_once(void *opaque)
{
	struct waiter *waiter = opaque;

	waiter->count = run.side[waiter->side]->wait(run.set[waiter->side][waiter->set],
	                                             waiter->events, 8, 20000);
}

/* Threads wait while something happens to a slot, until all are sent home by the stop pipe. */
static void wait_by_threads(int side, int set, int threads, int index, struct seen *seen)
{
	struct waiter waiters[3];
	struct xt_thread *started[3];

	for (int i = 0; i < threads; i++) {
		waiters[i] = (struct waiter){.side = side, .set = set};
		started[i] = xt_start(wait_once, &waiters[i]);
	}
	file_put(&run.slots[index], side);
	xt_put(run.stop[side][1]);
	for (int i = 0; i < threads; i++) {
		xt_join(started[i]);
		note(seen, waiters[i].events, waiters[i].count);
	}
	xt_threads_reuse();
	(void)xt_get(run.stop[side][0]);
	drain(side, set, 8, seen);
}

static void wait_among_threads(int set, int index)
{
	struct seen seen[SIDES];
	int threads = 1 + (int)any(3);

	run.ran[WAITERS][run.slots[index].kind][run.slots[index].mode[set]]++;
	memset(seen, 0, sizeof seen);
	for (int side = 0; side < SIDES; side++) {
		drain(side, set, 8, &seen[side]);
		wait_by_threads(side, set, threads, index, &seen[side]);
	}
	run.has_waiters = true;
	compare(set, &seen[0], &seen[1]);
	run.has_waiters = false;
}

/* --- The run ------------------------------------------------------------------------------ */

static void step(void)
{
	/* Waits with threads are slow, and closes leave nothing to be reported. */
	enum op op = (enum op)any(any(8) == 0 ? OPS : WAITERS);
	int index = (int)any(SLOTS), set = (int)any(SETS);

	if ((op == CLOSE || op == CLOSE_PEER || op == DUP) && any(3) > 0)
		op = ADD;

	if (op <= DEL && (index != 0 || set == 0)) {
		change(op, index, set);
	} else if (op >= PUT && op <= CLOSE_PEER) {
		act(op, index);
	} else if (op == CLOSE && index != 0) {
		close_slot(index);
		make(index);
	} else if (op == DUP) {
		duplicate(index, (int)any(SLOTS));
	} else if (op == WAIT) {
		wait_for_both(set);
	} else if (op == WAITERS) {
		wait_among_threads(set, index);
	}
}

static void begin(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	run.side[0] = &side_kernel;
	run.side[1] = &side_dropin;
	run.random = xt_seed();
	for (int side = 0; side < SIDES; side++)
		sigaddset(&mask, SIGRTMIN + run.side[side]->number);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	for (int side = 0; side < SIDES; side++) {
		struct xt_pair stop = xt_pipe();

		run.stop[side][0] = stop.r;
		run.stop[side][1] = stop.w;
		for (int set = 0; set < SETS; set++) {
			run.set[side][set] = run.side[side]->create();
			run.side[side]->ctl(run.set[side][set], EPOLL_CTL_ADD, stop.r, EPOLLIN,
			                    STOP);
		}
	}
	for (int i = 0; i < SLOTS; i++)
		make(i);
}

static void end(void)
{
	for (int i = 1; i < SLOTS; i++)
		close_slot(i);
	for (int side = 0; side < SIDES; side++)
		for (int set = 0; set < SETS; set++)
			close(run.set[side][set]);
}

/* How often each operation met each kind of file in each mode; how many never did. */
static int print_ran(void)
{
	int none = 0;

	for (int op = 0; op < OPS; op++)
		for (int kind = 0; kind < KINDS; kind++)
			for (int mode = 0; mode < MODES; mode++) {
				bool exists = kind != NESTED || (op != CLOSE && op != DUP &&
				        mode != EXCLUSIVE && (op < PUT || op > CLOSE_PEER));

				if (exists && run.ran[op][kind][mode] == 0)
					none++;
				if (getenv("XPOLL_EPOLL_PAIRS"))
					printf("%-12s %-10s %-10s %ld\n", op_names[op],
					       kind_names[kind], mode_names[mode],
					       run.ran[op][kind][mode]);
			}
	return none;
}

XT_TEST(random_programs_return_what_linux_returns)
{
	const char *text = getenv("XPOLL_EPOLL_STEPS");
	int steps = text ? atoi(text) : 4000;
	int none;

	signal(SIGPIPE, SIG_IGN);
	begin();
	for (run.step = 0; run.step < steps && xt_failures() == 0; run.step++)
		step();
	end();
	none = print_ran();
	xt_note("%d steps, %ld events, %ld allowed differences, %d combinations never ran",
	        run.step, run.delivered, run.allowed, none);
	/* Fewer steps may leave some out. */
	XT_CHECK(none == 0 || steps < 100000);
}

/* Carries out the steps of a random program on this process's epoll(7): see program.h. */
#include <sys/epoll.h>

#include "program.h"

enum {
	ROOM_MOST = 64,
	ROUNDS_MOST = 200,   /* most waits of a drain */
	/* number of waits in a row without anything new after which a drain ends */
	QUIET_ROUNDS = 24,
};

#define ALL_MODES (EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE)
const uint32_t mode_flags[MODES] = {
	0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT, EPOLLEXCLUSIVE,
};

struct state state;

static struct {
	int stop[2]; /* a pipe, registered in both sets, that ends the waits of threads */
	bool nested_is_spent; /* the inner set is registered as a one-shot, which was reported */
	/*
	 * Result of the last step, if that was a wait for the outer set, for the comparison with
	 * the inner set.  1: the inner set was reported, 0: it was not; -1: no such step.
	 */
	int nested_ready;
} own;

/* --- Waiting -------------------------------------------------------------------------- */

/* Check that one wait returns no entry twice. */
static void check_twice(const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			if (events[i].data.u64 == events[j].data.u64)
				xt_fail(__FILE__, __LINE__, "step %d: slot %ju twice", state.step,
				        (uintmax_t)events[i].data.u64);
}

/* Add the events to `seen`.  Returns a bit for each slot that has an event. */
static unsigned note(struct seen *seen, const struct epoll_event *events, int count)
{
	unsigned slots = 0;

	for (int i = 0; i < count; i++) {
		uint64_t index = events[i].data.u64;

		if (index > STOP) {
			xt_fail(__FILE__, __LINE__, "step %d: data %ju", state.step,
			        (uintmax_t)index);
			continue;
		}
		seen->events[index] |= events[i].events;
		seen->count[index]++;
		slots |= 1u << index;
	}
	return slots;
}

/*
 * Returns a bit set of the slots with level-triggered entries whose files become ready without
 * delay.
 */
static unsigned prompt_levels(int set)
{
	unsigned slots = 0;

	for (int i = 0; i < SLOTS; i++) {
		const struct slot *slot = &state.slots[i];
		bool is_prompt = slot->kind == PIPE || slot->kind == FIFO || slot->kind == UNIX ||
			slot->kind == EVENTFD;

		if (is_prompt && slot->is_in[set] && slot->mode[set] == LEVEL)
			slots |= 1u << i;
	}
	return slots;
}

/*
 * Wait with room for `room` events until nothing new comes.  With much room, one wait returns all
 * ready entries: DIFFERENCES.md.
 */
static void drain(int set, int room, struct seen *seen)
{
	unsigned levels = prompt_levels(set), last = 0;
	bool had_room = false;

	for (int i = 0, quiet = 0; i < ROUNDS_MOST && quiet < QUIET_ROUNDS; i++) {
		struct epoll_event events[ROOM_MOST];
		struct seen before = *seen;
		int count = epoll_wait(state.set[set], events, room, 0);
		unsigned slots;

		if (count <= 0)
			return;
		slots = note(seen, events, count);
		check_twice(events, count);
		if (had_room && slots & levels & ~last)
			xt_fail(__FILE__, __LINE__, "step %d: set %d: a wait for %d returned only "
			        "0x%x, not 0x%x", state.step, set, room, last,
			        slots & levels & ~last);
		last = slots;
		had_room = 3 * count < room;
		quiet = memcmp(before.events, seen->events, sizeof before.events) ? 0 : quiet + 1;
	}
}

static bool has_terminal(int set)
{
	for (int i = 0; i < SLOTS; i++)
		if (state.slots[i].is_in[set] && state.slots[i].kind == PTY)
			return true;
	return false;
}

static void note_nested(int set, const struct seen *seen)
{
	own.nested_is_spent |= set == 0 && seen->count[0] > 0 &&
		state.slots[0].events[0] & EPOLLONESHOT;
}

/* The outer set must report the inner one exactly if a wait for the inner set returns an event. */
static void check_nested(int set, const struct seen *seen)
{
	const struct slot *nested = &state.slots[0];
	bool has_event = false;

	if (set == 0) {
		bool is_checked = nested->is_in[0] && !(nested->events[0] & EPOLLET) &&
			nested->events[0] & EPOLLIN && !own.nested_is_spent && !has_terminal(1);

		own.nested_ready = is_checked ? seen->count[0] > 0 : -1;
		note_nested(0, seen);
		return;
	}
	for (int i = 0; i <= STOP; i++)
		has_event |= seen->count[i] > 0;
	if (own.nested_ready >= 0 && own.nested_ready != has_event)
		xt_fail(__FILE__, __LINE__, "step %d: the outer set %s an inner set %s event",
		        state.step, own.nested_ready ? "reports" : "does not report",
		        has_event ? "with an" : "without");
	own.nested_ready = -1;
}

static void wait_in(int set, int room, struct answer *answer)
{
	drain(set, room, &answer->seen);
	/* A terminal's input is processed by a thread of the kernel: wait once more. */
	if (has_terminal(set)) {
		(void)poll(NULL, 0, 1);
		drain(set, room, &answer->seen);
	}
	check_nested(set, &answer->seen);
}

/* Write to the file.  A signal makes all signalfds readable, perhaps at different times. */
static void put(const struct slot *slot, uint32_t value)
{
	file_put(slot, value);
	for (int i = 0; i < SLOTS && slot->kind == SIGNALFD; i++)
		if (state.slots[i].kind == SIGNALFD)
			(void)xt_poll_until(state.slots[i].fd, POLLIN, POLLIN);
}

/* --- Several threads --------------------------------------------------------------------- */

struct waiter {
	int set;
	struct epoll_event events[8];
	int count;
};

static void wait_once(void *opaque)
{
	struct waiter *waiter = opaque;

	waiter->count = epoll_wait(state.set[waiter->set], waiter->events, 8, 20000);
}

/* Let threads wait while there is activity of a slot, and end their waits by the stop pipe. */
static void wait_by_threads(const struct step *step, struct seen *seen)
{
	struct waiter waiters[3];
	struct xt_thread *started[3];

	drain(step->set, 8, seen);
	for (unsigned i = 0; i < step->value; i++) {
		waiters[i] = (struct waiter){.set = step->set};
		started[i] = xt_start(wait_once, &waiters[i]);
	}
	put(&state.slots[step->index], 1);
	xt_put(own.stop[1]);
	for (unsigned i = 0; i < step->value; i++) {
		xt_join(started[i]);
		note(seen, waiters[i].events, waiters[i].count);
	}
	xt_threads_reuse();
	(void)xt_get(own.stop[0]);
	drain(step->set, 8, seen);
}

/* --- The other steps ---------------------------------------------------------------------- */

static int change(const struct step *step)
{
	static const int calls[] = {EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
	struct epoll_event event = {.events = step->value, .data.u64 = (uint64_t)step->index};

	return epoll_ctl(state.set[step->set], calls[step->op], state.slots[step->index].fd,
	                 &event) < 0 ? errno : 0;
}

static void make(int index, enum kind kind)
{
	struct slot *slot = &state.slots[index];

	memset(slot, 0, sizeof *slot);
	slot->kind = kind;
	slot->copies = 1 << index;
	slot->fd = state.set[1];
	file_make(slot);
}

/*
 * On Linux a registration exists as long as a duplicate of the file is open, so delete it before
 * the close.
 */
static void close_slot(int index)
{
	struct slot *slot = &state.slots[index];

	for (int set = 0; set < SETS; set++)
		if (slot->is_in[set] && slot->copies != 1 << index)
			(void)change(&(struct step){.op = DEL, .index = index, .set = set});
	close(slot->fd);
	if (slot->copies == 1 << index && slot->peer >= 0)
		close(slot->peer);
	for (int i = 0; i < SLOTS; i++)
		state.slots[i].copies &= ~(1 << index);
}

static void duplicate(int from, int to)
{
	struct slot *slot = &state.slots[from], *copy = &state.slots[to];

	close_slot(to);
	*copy = *slot;
	for (int set = 0; set < SETS; set++) {
		copy->is_in[set] = copy->is_unsure[set] = false;
		copy->mode[set] = LEVEL;
		copy->events[set] = 0;
	}
	copy->fd = dup(slot->fd);
	copy->copies |= 1 << to;
	for (int i = 0; i < SLOTS; i++)
		if (copy->copies & 1 << i)
			state.slots[i].copies = copy->copies;
}

/* Store the peer's descriptor in the slots of all duplicates. */
static void share_peer(const struct slot *slot)
{
	for (int i = 0; i < SLOTS; i++) {
		if (!(slot->copies & 1 << i))
			continue;
		state.slots[i].is_shut = slot->is_shut;
		state.slots[i].peer = slot->peer;
	}
}

void perform(const struct step *step, struct answer *answer)
{
	struct slot *slot = &state.slots[step->index];

	if (step->op != WAIT)
		own.nested_ready = -1;
	switch (step->op) {
	case ADD:
	case MOD:
	case DEL:
		snprintf(answer->error, sizeof answer->error, "%s",
		         xt_error_name(change(step)));
		break;
	case PUT:
		put(slot, step->value);
		break;
	case GET:
		answer->value = file_get(slot);
		break;
	case FILL:
		file_fill(slot);
		break;
	case SHUT:
		file_shut(slot);
		slot->is_shut |= slot->kind == TCP || slot->kind == UNIX;
		share_peer(slot);
		break;
	case CLOSE_PEER:
		file_close_peer(slot);
		share_peer(slot);
		break;
	case CLOSE:
		close_slot(step->index);
		break;
	case DUP:
		duplicate(step->index, (int)step->value);
		break;
	case WAIT:
		wait_in(step->set, (int)step->value, answer);
		break;
	case WAITERS:
		wait_by_threads(step, &answer->seen);
		note_nested(step->set, &answer->seen);
		break;
	default:
		make(step->index, (enum kind)step->value);
	}
}

void perform_again(const struct step *step, struct answer *answer)
{
	drain(step->set, 8, &answer->seen);
}

void program_note(const struct step *step, const struct answer *answer)
{
	struct slot *slot = &state.slots[step->index];

	if (step->op > DEL || strcmp(answer->error, "0") != 0)
		return;
	slot->is_in[step->set] = step->op != DEL;
	slot->is_unsure[step->set] = false;
	if (step->index == 0)
		own.nested_is_spent = false;
	if (step->op == DEL)
		return;
	slot->events[step->set] = step->value;
	for (int mode = 0; mode < MODES; mode++)
		if ((step->value & ALL_MODES) == mode_flags[mode])
			slot->mode[step->set] = (enum mode)mode;
}

/*
 * Block the signal of the signalfds, and consume one that an earlier program may have left pending.
 */
static void begin_signals(void)
{
	sigset_t mask, pending;
	int number;

	sigemptyset(&mask);
	sigaddset(&mask, FILE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	if (sigpending(&pending) == 0 && sigismember(&pending, FILE_SIGNAL))
		(void)sigwait(&mask, &number);
}

void perform_begin(void)
{
	struct xt_pair stop = xt_pipe();

	memset(&state, 0, sizeof state);
	begin_signals();
	signal(SIGPIPE, SIG_IGN);
	own.stop[0] = stop.r;
	own.stop[1] = stop.w;
	own.nested_ready = -1;
	own.nested_is_spent = false;
	for (int set = 0; set < SETS; set++) {
		struct epoll_event event = {.events = EPOLLIN, .data.u64 = STOP};

		state.set[set] = epoll_create1(EPOLL_CLOEXEC);
		if (epoll_ctl(state.set[set], EPOLL_CTL_ADD, stop.r, &event) < 0)
			xt_fail(__FILE__, __LINE__, "epoll_ctl: %s", xt_error_name(errno));
	}
}

void perform_end(void)
{
	for (int i = 1; i < SLOTS; i++)
		close_slot(i);
	for (int set = 0; set < SETS; set++)
		close(state.set[set]);
}

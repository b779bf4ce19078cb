/*
 * Goal: in any order of changes, activity and closes, kevent returns what FreeBSD's kernel returns:
 * each status, each event, and nothing else.
 * Method: random calls on two queues that watch the same ends of pipes and the same file, and have
 * user events.  Between two calls the pipes are written, read, closed and replaced.  A model keeps
 * for each registration the same state as the kernel (sys/kern/kern_event.c and sys/kern/sys_pipe.c
 * of 12.3), and predicts the statuses and the events.  The enum of differences names each rule that
 * the drop-in does not follow; test_manual.py looks up its item in DIFFERENCES.md.  On FreeBSD
 * there are none. The seed is printed; XT_SEED repeats it, XPOLL_KQUEUE_STEPS sets the length.
 */
#include "kit.h"
#include "rules.h"

enum {
	QUEUES = 2,
	PIPES = 3,
	FILE_IDENT = 2 * PIPES, /* below this are the read ends, then the write ends */
	USERS = 3,
	IDENTS = FILE_IDENT + 1 + USERS,
	FIRST_FD = 100, /* descriptor of ident 0 */
	CHANGES = 4,
	ROOM = 10,
	BYTES_MOST = 40, /* much less than a page, so there is always room */
};

struct pipe_state {
	int bytes;
	bool open[2]; /* the read end, and the write end */
};

static struct run {
	uint64_t random;
	int kq[QUEUES];
	struct model models[QUEUES][IDENTS];
	struct pipe_state pipes[PIPES];
	long delivered;
	long statuses; /* number of calls that returned statuses */
} run;

static unsigned any(unsigned below)
{
	return xt_random(&run.random) % below;
}

static int filter_of(int ident)
{
	return ident < PIPES ? EVFILT_READ : ident < FILE_IDENT ? EVFILT_WRITE
		: ident == FILE_IDENT ? EVFILT_VNODE : EVFILT_USER;
}

static int number_of(int ident)
{
	return ident <= FILE_IDENT ? FIRST_FD + ident : ident;
}

static int ident_of(const struct kevent *record)
{
	return (int)record->ident - (record->filter == EVFILT_USER ? 0 : FIRST_FD);
}

/* --- The kernel's filters ------------------------------------------------------------- */

/* f_event: returns true if the condition holds. */
static bool holds(struct model *model, int ident)
{
	const struct pipe_state *pipe = &run.pipes[ident % PIPES];

	switch (filter_of(ident)) {
	case EVFILT_READ:
		model->end = !pipe->open[1];
		return model->end || pipe->bytes > 0;
	case EVFILT_WRITE:
		model->end = !pipe->open[0];
		return true;
	case EVFILT_VNODE:
		return false; /* no activity of the file in this test */
	default:
		return model->triggered;
	}
}

/* knote(): activity of a file activates its registrations, also disabled ones. */
static void activate(int ident)
{
	for (int q = 0; q < QUEUES; q++) {
		struct model *model = &run.models[q][ident];

		if (model->there && holds(model, ident))
			model->active = true;
	}
}

/* An event at one end activates the registrations of both, because they share the buffer. */
static void activate_pipe(int index, bool here)
{
	if (here)
		activate(index);
	if (!OWN_CALLS_ARE_SILENT || !run.pipes[index].open[0])
		activate(PIPES + index);
}

static void forget(int ident)
{
	for (int q = 0; q < QUEUES; q++)
		run.models[q][ident].there = false;
}

/* --- The world ---------------------------------------------------------------------- */

static bool open_pipe(int index)
{
	int fds[2];

	if (pipe(fds) < 0)
		return false;
	for (int end = 0; end < 2; end++) {
		int ident = end * PIPES + index;

		/* dup2 closes the file that had this descriptor. */
		if (dup2(fds[end], FIRST_FD + ident) < 0)
			return false;
		close(fds[end]);
		forget(ident);
	}
	run.pipes[index] = (struct pipe_state){.open = {true, true}};
	return true;
}

static void close_end(int index, int end)
{
	int fd = FIRST_FD + end * PIPES + index;
	int copy = any(2) ? dup(fd) : -1;

	close(fd);
	if (copy >= 0)
		close(copy);
	forget(end * PIPES + index);
	run.pipes[index].open[end] = false;
	activate_pipe(index, true);
	/* The pipe has no writer left, so its registrations end with their next event. */
	for (int q = 0; q < QUEUES && end == 0; q++)
		run.models[q][PIPES + index].modes |= EV_ONESHOT;
}

static bool open_file(void)
{
	int fd = xt_make("file", "text");
	bool done = dup2(fd, FIRST_FD + FILE_IDENT) >= 0;

	xt_close(fd);
	forget(FILE_IDENT);
	return done;
}

static bool disturb_pipe(int index)
{
	struct pipe_state *pipe = &run.pipes[index];
	unsigned what = any(10);
	char byte = 'x';

	if (what == 0 || (!pipe->open[0] && !pipe->open[1]))
		return open_pipe(index);
	if (what <= 2 && pipe->open[what - 1] && any(2)) {
		close_end(index, (int)what - 1);
	} else if (pipe->open[0] && pipe->bytes > 0 &&
	           (what < 6 || !pipe->open[1] || pipe->bytes == BYTES_MOST)) {
		pipe->bytes--;
		if (read(FIRST_FD + index, &byte, 1) != 1)
			return false;
		activate_pipe(index, !OWN_CALLS_ARE_SILENT);
	} else if (pipe->open[0] && pipe->open[1]) {
		pipe->bytes++;
		if (write(FIRST_FD + PIPES + index, &byte, 1) != 1)
			return false;
		activate_pipe(index, true);
	}
	return true;
}

static bool disturb(void)
{
	return any(15) ? disturb_pipe((int)any(PIPES)) : open_file();
}

/* --- Changes -------------------------------------------------------------------------- */

static unsigned some_notes(int filter)
{
	static const unsigned controls[] = {NOTE_FFNOP, NOTE_FFAND, NOTE_FFOR,
	                                    NOTE_FFCOPY};

	if (filter == EVFILT_VNODE)
		return (any(2) ? NOTE_ATTRIB : 0) | (any(2) ? NOTE_WRITE : 0);
	if (filter != EVFILT_USER || any(2))
		return 0;
	return controls[any(4)] | any(8) | (any(2) ? NOTE_TRIGGER : 0);
}

static void make_change(struct kevent *change)
{
	static const unsigned actions[] = {
		EV_ADD, EV_ADD, EV_ADD | EV_ENABLE, EV_ADD | EV_DISABLE, EV_ENABLE,
		EV_DISABLE, EV_DELETE, 0, 0, EV_ADD | EV_DELETE,
		EV_ENABLE | EV_DISABLE, EV_DELETE | EV_ENABLE | EV_DISABLE,
	};
	static char places[64];
	int ident = (int)any(IDENTS), filter = filter_of(ident);
	unsigned flags = actions[any(12)];

	flags |= any(4) ? 0 : EV_CLEAR;
	flags |= any(5) ? 0 : EV_ONESHOT;
	flags |= any(5) ? 0 : EV_DISPATCH;
	flags |= any(3) ? 0 : EV_KEEPUDATA;
	flags |= any(4) ? 0 : EV_RECEIPT;
	EV_SET(change, number_of(ident), filter, flags, some_notes(filter),
	       filter == EVFILT_USER ? (int64_t)any(100) : 0, &places[any(64)]);
}

static unsigned combined(unsigned there, unsigned fflags)
{
	unsigned bits = fflags & NOTE_FFLAGSMASK;

	switch (fflags & NOTE_FFCTRLMASK) {
	case NOTE_FFAND:
		return there & bits;
	case NOTE_FFOR:
		return there | bits;
	case NOTE_FFCOPY:
		return bits;
	default:
		return there;
	}
}

/* filt_usertouch with EVENT_REGISTER. */
static void touch_user(struct model *model, struct kevent *change)
{
	bool clears = change->flags & EV_CLEAR, triggers = change->fflags & NOTE_TRIGGER;

	model->notes = combined(model->notes, change->fflags);
	model->data = change->data;
	change->fflags &= NOTE_FFLAGSMASK;
	if (triggers)
		model->triggered = true;
	if (clears)
		model->triggered = TRIGGER_ALWAYS && triggers;
}

static void alter(struct model *model, struct kevent *change)
{
	if (MODES_ARE_ADDED && change->flags & EV_ADD)
		model->modes |= change->flags & (EV_CLEAR | EV_ONESHOT | EV_DISPATCH);
	if (change->flags & EV_ENABLE)
		model->disabled = false;
	if (change->flags & EV_DISABLE)
		model->disabled = true;
	if (!(change->flags & EV_KEEPUDATA))
		model->udata = change->udata;
	if (change->filter == EVFILT_USER)
		touch_user(model, change);
}

static int add(struct model *model, int ident, struct kevent *change)
{
	unsigned modes = EV_CLEAR | EV_ONESHOT | EV_DISPATCH;

	if (change->filter == EVFILT_WRITE && !run.pipes[ident % PIPES].open[0])
		return EPIPE;
	*model = (struct model){
		.there = true,
		.disabled = change->flags & EV_DISABLE,
		.modes = change->flags & (NO_RECEIPT_FLAG ? modes : modes | EV_RECEIPT),
		.notes = change->fflags,
		.data = change->data,
		.udata = change->udata,
	};
	if (NO_CONTROL_BITS && change->filter == EVFILT_USER)
		model->notes &= NOTE_FFLAGSMASK;
	if (TRIGGER_ALWAYS && change->filter == EVFILT_USER)
		model->triggered = change->fflags & NOTE_TRIGGER;
	return 0;
}

/* kqueue_register.  Leaves the change as a receipt returns it. */
static int model_change(int q, struct kevent *change)
{
	int ident = ident_of(change);
	struct model *model = &run.models[q][ident];
	unsigned flags = change->flags;
	int error = 0;

	if ((flags & EV_ENABLE && flags & EV_DISABLE) ||
	    (flags & EV_ADD && flags & EV_KEEPUDATA))
		return EINVAL;
	if (ident < FILE_IDENT && !run.pipes[ident % PIPES].open[ident / PIPES])
		return EBADF;
	if (!model->there && !(flags & EV_ADD))
		return ENOENT;
	if (flags & EV_DELETE && model->there) {
		model->there = false;
		return 0;
	}
	if (model->there) {
		alter(model, change);
	} else {
		error = add(model, ident, change);
		change->fflags = 0;
		change->data = 0;
	}
	if (!error && !model->disabled && holds(model, ident))
		model->active = true;
	return error;
}

/* --- A call ---------------------------------------------------------------------------- */

/*
 * Predict the statuses.  Returns their number; -errno: the call fails.  *over: the call ends with
 * the statuses, without events.
 */
static int model_statuses(int q, const struct kevent *changes, int nchanges,
                          struct kevent *statuses, int room, bool *over)
{
	int count = 0;

	for (int i = 0; i < nchanges; i++) {
		struct kevent change = changes[i];
		int error = model_change(q, &change);

		if (!error && !(change.flags & EV_RECEIPT))
			continue;
		*over = true;
		if (count == room)
			return error ? -error : RECEIPTS_ARE_COUNTED ? count : 0;
		statuses[count] = change;
		statuses[count].flags = EV_ERROR;
		statuses[count++].data = error;
	}
	return count;
}

/* kqueue_scan: the condition of EV_ONESHOT is not checked again. */
static bool is_ready(struct model *model, int ident)
{
	if (!model->there || model->disabled || !model->active)
		return false;
	if (model->modes & EV_ONESHOT && !ONESHOT_LOOKS)
		return true;
	return holds(model, ident);
}

static bool is_event_of(const struct model *model, const struct kevent *event)
{
	int ident = ident_of(event);
	unsigned fflags = 0;
	int64_t data = 0;

	/*
	 * A registration with EV_ONESHOT is not updated before it ends, so it keeps the values of
	 * USER.
	 */
	if (event->filter == EVFILT_USER && !(model->modes & EV_ONESHOT)) {
		fflags = model->notes;
		data = model->data;
	} else if (event->filter == EVFILT_READ) {
		data = run.pipes[ident].bytes;
	} else if (event->filter == EVFILT_WRITE) {
		data = event->data; /* the room of a pipe is not a rule of kqueue(2) */
	}
	return event->flags == (model->modes | (model->end ? EV_EOF : 0)) &&
		event->udata == model->udata && event->fflags == fflags &&
		event->data == data;
}

static void model_deliver(struct model *model)
{
	if (model->modes & EV_CLEAR)
		model->triggered = false;
	if (model->modes & (EV_CLEAR | EV_DISPATCH))
		model->active = false;
	if (model->modes & EV_DISPATCH)
		model->disabled = true;
	if (model->modes & EV_ONESHOT)
		model->there = false;
}

static bool events_are_right(int q, const struct kevent *events, int count, int room)
{
	int must = 0, seen = 0;

	for (int ident = 0; ident < IDENTS; ident++)
		must += is_ready(&run.models[q][ident], ident);
	for (int i = 0; i < count; i++) {
		int ident = ident_of(&events[i]);
		struct model *model = &run.models[q][ident];

		if (ident < 0 || ident >= IDENTS || seen & 1 << ident ||
		    !is_ready(model, ident) || !is_event_of(model, &events[i])) {
			xt_note("event %d: ident %d, flags 0x%x, fflags 0x%x, data %jd",
			        i, ident, events[i].flags, events[i].fflags,
			        (intmax_t)events[i].data);
			return false;
		}
		seen |= 1 << ident;
		model_deliver(model);
	}
	run.delivered += count;
	if (count != (must < room ? must : room))
		xt_note("%d events, not %d (room for %d)", count, must, room);
	return count == (must < room ? must : room);
}

static bool statuses_are_right(const struct kevent *statuses,
                               const struct kevent *wanted, int count)
{
	for (int i = 0; i < count; i++)
		if (statuses[i].ident != wanted[i].ident ||
		    statuses[i].filter != wanted[i].filter ||
		    statuses[i].flags != EV_ERROR ||
		    statuses[i].fflags != wanted[i].fflags ||
		    statuses[i].data != wanted[i].data ||
		    statuses[i].udata != wanted[i].udata) {
			xt_note("status %d of ident %d: %jd, fflags 0x%x, not %jd, 0x%x",
			        i, ident_of(&wanted[i]), (intmax_t)statuses[i].data,
			        statuses[i].fflags, (intmax_t)wanted[i].data,
			        wanted[i].fflags);
			return false;
		}
	run.statuses += count > 0;
	return true;
}

static bool call_is_right(void)
{
	const struct timespec zero = {0, 0};
	struct kevent changes[CHANGES], wanted[CHANGES], events[ROOM];
	int q = (int)any(QUEUES), nchanges = (int)any(CHANGES + 1), room = (int)any(ROOM);
	bool over = room == 0;
	int count, want;

	for (int i = 0; i < nchanges; i++)
		make_change(&changes[i]);
	count = kevent(run.kq[q], changes, nchanges, events, room, &zero);
	count = count < 0 ? -errno : count;
	want = model_statuses(q, changes, nchanges, wanted, room, &over);
	if (!over)
		return count >= 0 && events_are_right(q, events, count, room);
	if (count != want)
		xt_note("the call returned %d, not %d", count, want);
	return count == want && statuses_are_right(events, wanted, want);
}

/* Print the state of the model, for debugging a failure. */
static void describe(void)
{
	for (int q = 0; q < QUEUES; q++)
		for (int ident = 0; ident < IDENTS; ident++) {
			struct model *model = &run.models[q][ident];

			if (model->there)
				xt_note("queue %d ident %d: modes 0x%x notes 0x%x "
				        "data %jd%s%s%s", q, ident, model->modes,
				        model->notes, (intmax_t)model->data,
				        model->disabled ? ", disabled" : "",
				        model->active ? ", active" : "",
				        holds(model, ident) ? ", holds" : "");
		}
}

XT_TEST(random_calls_return_what_the_rules_say)
{
	const char *steps = getenv("XPOLL_KQUEUE_STEPS");
	long count = steps ? atol(steps) : XT_SANITIZED ? 20000 : 100000;
	bool right = true;

	XT_FILES(FIRST_FD + FILE_IDENT + 50);
	run = (struct run){.random = xt_seed()};
	for (int q = 0; q < QUEUES; q++)
		run.kq[q] = kit_open();
	XT_CHECK(open_file());
	for (long i = 0; i < count && right; i++) {
		right = any(3) ? call_is_right() : disturb();
		if (!right)
			describe();
		if (!right)
			xt_fail(__FILE__, __LINE__, "step %ld is not as the rules say",
			        i);
	}
	for (int ident = 0; ident <= FILE_IDENT; ident++)
		close(FIRST_FD + ident);
	XT_CHECK(steps || (run.delivered > count / 10 && run.statuses > count / 10));
}

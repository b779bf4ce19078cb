/*
 * Goal: in any order of changes, activity and closing, kevent returns what
 * FreeBSD's rules say: each status, each event, and nothing else.
 * Method: random calls on two queues that watch the same few numbers and have
 * user events.  The numbers are pipes that are written, read, ended, closed and
 * replaced between any two calls.  A model of a registration predicts the
 * statuses, and which events must and which may come.
 * The seed is printed; XT_SEED repeats it, XPOLL_KQUEUE_STEPS sets the length.
 */
#include "kit.h"

enum {
	QUEUES = 2,
	FDS = 5,   /* idents 0 to 4: a number each */
	USERS = 3, /* idents 5 to 7 */
	IDENTS = FDS + USERS,
	FIRST_FD = 100,
	CHANGES = 4,
	ROOM = 10,
};

struct model {
	bool there;
	bool disabled;
	bool news; /* since it was delivered; USER: it was triggered */
	unsigned modes;
	unsigned fflags;
	int64_t data;
	void *udata;
};

struct pipe_end {
	int other; /* -1: closed */
	int bytes;
	bool open;
};

static struct run {
	uint64_t random;
	int kq[QUEUES];
	struct model models[QUEUES][IDENTS];
	struct pipe_end ends[FDS];
	long delivered;
	long statuses; /* calls that returned some */
} run;

static unsigned any(unsigned below)
{
	return xt_random(&run.random) % below;
}

static bool is_fd(int ident)
{
	return ident < FDS;
}

/* --- The world ---------------------------------------------------------------------- */

static void news_of(int ident)
{
	for (int q = 0; q < QUEUES; q++)
		run.models[q][ident].news = true;
}

static void forget(int ident)
{
	for (int q = 0; q < QUEUES; q++)
		run.models[q][ident].there = false;
}

static void end_writer(struct pipe_end *end)
{
	if (end->other >= 0)
		close(end->other);
	end->other = -1;
}

/* By dup2(2) in place of what the number was, if it was anything. */
static bool open_pipe(int ident)
{
	struct pipe_end *end = &run.ends[ident];
	int fds[2];

	end_writer(end);
	if (pipe(fds) < 0 || dup2(fds[0], FIRST_FD + ident) < 0)
		return false;
	close(fds[0]);
	*end = (struct pipe_end){.other = fds[1], .open = true};
	forget(ident);
	return true;
}

static void close_pipe(int ident)
{
	int copy = any(2) ? dup(FIRST_FD + ident) : -1;

	end_writer(&run.ends[ident]);
	close(FIRST_FD + ident);
	if (copy >= 0)
		close(copy);
	run.ends[ident].open = false;
	forget(ident);
}

static bool disturb(int ident)
{
	struct pipe_end *end = &run.ends[ident];
	unsigned what = any(9);
	char byte = 'x';

	if (!end->open || what == 0)
		return open_pipe(ident);
	if (what == 1) {
		close_pipe(ident);
	} else if (what == 2 && end->other >= 0) {
		end_writer(end);
		news_of(ident);
	} else if (what <= 5 && end->bytes > 0) {
		end->bytes--;
		return read(FIRST_FD + ident, &byte, 1) == 1;
	} else if (end->other >= 0) {
		end->bytes++;
		news_of(ident);
		return write(end->other, &byte, 1) == 1;
	}
	return true;
}

/* --- Changes -------------------------------------------------------------------------- */

static void make_change(struct kevent *change)
{
	static const unsigned actions[] = {
		EV_ADD, EV_ADD, EV_ADD | EV_ENABLE, EV_ADD | EV_DISABLE, EV_ENABLE,
		EV_DISABLE, EV_DELETE, 0, 0, EV_ADD | EV_DELETE,
		EV_ENABLE | EV_DISABLE, EV_DELETE | EV_ENABLE | EV_DISABLE,
	};
	static const unsigned controls[] = {NOTE_FFNOP, NOTE_FFAND, NOTE_FFOR,
	                                    NOTE_FFCOPY};
	static char places[64];
	int ident = (int)any(IDENTS);
	unsigned flags = actions[any(12)], fflags = 0;

	flags |= any(4) ? 0 : EV_CLEAR;
	flags |= any(5) ? 0 : EV_ONESHOT;
	flags |= any(5) ? 0 : EV_DISPATCH;
	flags |= any(3) ? 0 : EV_KEEPUDATA;
	flags |= any(4) ? 0 : EV_RECEIPT;
	if (!is_fd(ident) && any(2))
		fflags = controls[any(4)] | any(8) | (any(2) ? NOTE_TRIGGER : 0);
	EV_SET(change, is_fd(ident) ? FIRST_FD + ident : ident,
	       is_fd(ident) ? EVFILT_READ : EVFILT_USER, flags, fflags,
	       is_fd(ident) ? 0 : (int64_t)any(100), &places[any(64)]);
}

static int ident_of(const struct kevent *record)
{
	return (int)record->ident - (record->filter == EVFILT_READ ? FIRST_FD : 0);
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

/* What DIFFERENCES says: neither fflags nor EV_ADD, and nothing is altered. */
static void model_user(struct model *model, const struct kevent *change)
{
	if (change->flags & EV_CLEAR)
		model->news = false;
	if (!(change->flags & EV_ADD) && !change->fflags)
		return;
	model->fflags = combined(model->fflags, change->fflags);
	model->data = change->data;
	if (change->fflags & NOTE_TRIGGER)
		model->news = true;
}

static void model_alter(struct model *model, const struct kevent *change)
{
	unsigned modes = change->flags & (EV_CLEAR | EV_ONESHOT | EV_DISPATCH);

	if (!model->there)
		*model = (struct model){.there = true};
	if (change->flags & EV_ADD)
		model->modes |= modes;
	if (change->flags & EV_ENABLE)
		model->disabled = false;
	if (change->flags & EV_DISABLE)
		model->disabled = true;
	if (!(change->flags & EV_KEEPUDATA))
		model->udata = change->udata;
	if (change->filter == EVFILT_USER)
		model_user(model, change);
	else
		model->news = true;
}

static int model_change(int q, const struct kevent *change)
{
	int ident = ident_of(change);
	struct model *model = &run.models[q][ident];
	unsigned flags = change->flags;

	if ((flags & EV_ENABLE && flags & EV_DISABLE) ||
	    (flags & EV_ADD && flags & EV_KEEPUDATA))
		return EINVAL;
	if (is_fd(ident) && !run.ends[ident].open)
		return EBADF;
	if (!model->there && !(flags & EV_ADD))
		return ENOENT;
	if (flags & EV_DELETE && model->there)
		model->there = false;
	else
		model_alter(model, change);
	return 0;
}

/* --- A call ---------------------------------------------------------------------------- */

/* The statuses that must come; -errno: the call fails; over: it ends with them. */
static int model_statuses(int q, const struct kevent *changes, int nchanges,
                          struct kevent *statuses, int room, bool *over)
{
	int count = 0;

	for (int i = 0; i < nchanges; i++) {
		int error = model_change(q, &changes[i]);

		if (!error && !(changes[i].flags & EV_RECEIPT))
			continue;
		*over = true;
		if (count == room)
			return error ? -error : count;
		statuses[count] = changes[i];
		statuses[count].flags = EV_ERROR;
		statuses[count++].data = error;
	}
	return count;
}

static bool is_ready(const struct model *model, int ident)
{
	const struct pipe_end *end = &run.ends[ident % FDS];

	if (!model->there || model->disabled)
		return false;
	if (!is_fd(ident))
		return model->news;
	return (end->bytes > 0 || end->other < 0) &&
		(model->news || !(model->modes & EV_CLEAR));
}

static bool is_event_of(const struct model *model, const struct kevent *event)
{
	int ident = ident_of(event);
	const struct pipe_end *end = &run.ends[ident % FDS];
	unsigned flags = model->modes;

	if (is_fd(ident) && end->other < 0)
		flags |= EV_EOF;
	return event->flags == flags && event->udata == model->udata &&
		event->fflags == (is_fd(ident) ? 0 : model->fflags) &&
		event->data == (is_fd(ident) ? end->bytes : model->data);
}

static void model_deliver(struct model *model)
{
	if (model->modes & EV_CLEAR)
		model->news = false;
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
		    !is_ready(model, ident) || !is_event_of(model, &events[i]))
			return false;
		seen |= 1 << ident;
		model_deliver(model);
	}
	run.delivered += count;
	return count == (must < room ? must : room);
}

static bool statuses_are_right(const struct kevent *statuses,
                               const struct kevent *wanted, int count)
{
	for (int i = 0; i < count; i++)
		if (statuses[i].ident != wanted[i].ident ||
		    statuses[i].filter != wanted[i].filter ||
		    statuses[i].flags != EV_ERROR ||
		    statuses[i].data != wanted[i].data ||
		    statuses[i].udata != wanted[i].udata)
			return false;
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
	return count == want && statuses_are_right(events, wanted, want);
}

XT_TEST(random_calls_return_what_the_rules_say)
{
	const char *steps = getenv("XPOLL_KQUEUE_STEPS");
	long count = steps ? atol(steps) : XT_SANITIZED ? 20000 : 100000;

	XT_FILES(FIRST_FD + FDS + 50);
	run = (struct run){.random = xt_seed()};
	for (int q = 0; q < QUEUES; q++)
		run.kq[q] = kit_open();
	for (int i = 0; i < FDS; i++)
		run.ends[i].other = -1;
	for (long i = 0; i < count; i++) {
		if (any(3) ? call_is_right() : disturb((int)any(FDS)))
			continue;
		xt_fail(__FILE__, __LINE__, "step %ld is not as the rules say", i);
		break;
	}
	for (int i = 0; i < FDS; i++)
		if (run.ends[i].open)
			close_pipe(i);
	XT_CHECK(steps || (run.delivered > count / 10 && run.statuses > count / 10));
}

/* Runs one sequence of steps, and compares the results with the contract. */
#include "explore_model.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/time.h"
#include "explore_core.h"
#include "explore_kernel.h"

enum {
	ROOM = 8,
	SLEEPERS_MOST = 2,
	NAP_NS = 1000000,
	LOOKS_MOST = 20,
	REASONS_MOST = 3,
	/* a wait may return this often with no enabled filter ready, and then no more */
	SPURIOUS_MOST = 20,
};

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};
static const int16_t filters[] = {XPOLL_FILT_READ, XPOLL_FILT_WRITE};
static const uint32_t bits[] = {POLLIN, POLLOUT};

uint8_t sequence[LENGTH_MOST];
int length;
const char *fault;
uint64_t state_at_end;
static int next_step;
static bool applicable; /* each step so far could be made */
static bool ended;      /* the state after the last step was recorded */
static struct xpoll *queue;
static int file; /* an eventfd, for which poll(2) returns the real state */

/* The contract's state of each filter. */
static struct expected {
	bool registered, enabled;
	int mode;
	bool news;     /* CLEAR: activity not reported yet */
	unsigned reasons; /* allowed reports: of changes, of activity */
} expected[2];

/* The waits of several threads; each began while the earlier ones slept. */
static struct wait {
	bool asleep;
	bool took;             /* has taken reports, and not returned */
	bool found[2];         /* ready at the harvest, not enabled since */
	bool always[2];        /* a reason to return since it began */
	uint32_t sequence;     /* queue's sequence number before its sleep */
	int64_t deadline_ns;
	const struct xp_fired *fired;
	int count;
} waits[SLEEPERS_MOST + 1];
static int waiting;
static bool dozing; /* the sleepers are at the poll-like level */

/* The file changes: these bits are activity for each entry that watches for them. */
static void notify(uint32_t news)
{
	kernel_notify(file, news);
	for (int i = 0; i < 2; i++) {
		expected[i].reasons += expected[i].reasons < REASONS_MOST;
		expected[i].news |= (news & holds & bits[i]) != 0;
	}
}

static bool must(int i)
{
	const struct expected *filter = &expected[i];

	return filter->registered && filter->enabled && holds & bits[i] &&
		(!(filter->mode & XPOLL_CLEAR) || filter->news);
}

static bool may(const struct wait *self, int i)
{
	const struct expected *filter = &expected[i];

	return filter->registered && filter->enabled && (holds & bits[i] || self->found[i]) &&
		(!(filter->mode & XPOLL_CLEAR) || filter->reasons > 0);
}

static void fail(const char *what)
{
	if (!fault)
		fault = what;
}

/* The wait that has just ended reported filter i: check that it may, and update the model. */
static void got(int i)
{
	struct expected *filter = &expected[i];

	if (!may(&waits[waiting], i))
		fail(i ? "WRITE must not be reported" : "READ must not be reported");
	filter->news = false;
	filter->reasons -= filter->reasons > 0;
	if (filter->mode & XPOLL_ONESHOT)
		filter->registered = false;
	if (filter->mode & XPOLL_DISPATCH)
		filter->enabled = false;
}

/* Returns true if a wait holds a report of this filter's own entry. */
static bool report_is_taken(int i)
{
	for (int k = 0; k < waiting; k++)
		for (int n = 0; waits[k].took && n < waits[k].count; n++)
			if (waits[k].fired[n].events & XP_WATCH_SOLO(i))
				return true;
	return false;
}

static bool another_took(const struct wait *self)
{
	for (int i = 0; i < waiting; i++)
		if (waits[i].took && &waits[i] != self)
			return true;
	return false;
}

static void note_reasons(void)
{
	for (int i = 0; i < waiting; i++)
		for (int k = 0; k < 2; k++)
			waits[i].always[k] &= must(k);
}

/*
 * A wait begins.  One of several waits may get the event of another, so only a single wait must
 * find its event.
 */
static void wait_begin(void)
{
	for (int i = 0; i < waiting; i++)
		waits[i].always[0] = waits[i].always[1] = false;
	waits[waiting] = (struct wait){.always = {waiting == 0, waiting == 0}};
	waiting++;
	note_reasons();
}

static void wait_end(bool nothing)
{
	const struct wait *self = &waits[--waiting];

	for (int i = 0; i < 2; i++)
		if (nothing && self->always[i])
			fail(i ? "WRITE was ready, and nothing is returned"
			     : "READ was ready, and nothing is returned");
}

static enum step take_steps(void);

/* Run other threads' steps until this one continues.  Returns the step that is the reason. */
static enum step leave_to_others(const struct wait *self)
{
	enum step why = take_steps();

	if (why == EXPIRE)
		clock_ns = self->deadline_ns;
	return why;
}

int kernel_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                struct xp_fired *fired, int cap)
{
	struct wait *self = &waits[waiting - 1];

	(void)state, (void)mask, (void)cap;
	if (deadline_ns <= XP_NOW_UNLOCKED)
		return kernel_harvest(fired);
	self->asleep = true;
	self->sequence = core_sequence(queue);
	self->deadline_ns = deadline_ns;
	self->fired = fired;
	self->took = leave_to_others(self) == HARVEST;
	self->count = kernel_harvest(fired);
	if (self->took) {
		for (int i = 0; i < 2; i++)
			self->found[i] = holds & bits[i];
		(void)leave_to_others(self);
	}
	if (self->count == 0 && clock_ns < deadline_ns) {
		for (int i = 0; i < 2; i++)
			if (must(i) && !another_took(self))
				fail(i ? "it sleeps beside WRITE" : "it sleeps beside READ");
		XT_EXPECT_EQ(xpoll_wake(queue), 0);
		self->count = kernel_harvest(fired);
	}
	self->asleep = self->took = false;
	return self->count;
}

static int change(int i, int flags)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)file, filters[i], flags, 0, 0, NULL);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* Make the step's change of a filter.  Returns false if it cannot be made in this state. */
static bool registration_step(enum step step)
{
	int i = step < DELETE ? step >= ADD_WRITE : (step - DELETE) & 1;
	struct expected *filter = &expected[i];
	int rc;

	if (filter->registered != (step >= DELETE))
		return false;
	if (step < DELETE) {
		/* A report of the former registration is on its way, and may repeat an edge. */
		*filter = (struct expected){
			true, true, modes[step & 3], true, 1 + report_is_taken(i),
		};
		rc = change(i, XPOLL_ADD | filter->mode);
	} else if (step < ENABLE) {
		filter->registered = false;
		rc = change(i, XPOLL_DELETE);
	} else if (step < DISABLE) {
		filter->enabled = filter->news = true;
		filter->reasons += filter->reasons < REASONS_MOST;
		rc = change(i, XPOLL_ENABLE);
	} else {
		filter->enabled = false;
		rc = change(i, XPOLL_DISABLE);
	}
	if (rc < 0)
		fail("a change failed");
	for (int k = 0; k < waiting; k++)
		waits[k].found[i] &= step >= DISABLE;
	return true;
}

static bool file_step(enum step step)
{
	uint64_t value = step == FILL ? UINT64_MAX - 2 : 1;

	if (step == TAKE ? !(holds & POLLIN)
	    : !(holds & POLLOUT) || (step == FILL && holds & POLLIN))
		return false;
	if (step == TAKE) {
		XT_EXPECT_EQ(read(file, &value, sizeof value), (int)sizeof value);
		notify(POLLOUT);
		return true;
	}
	XT_EXPECT_EQ(write(file, &value, sizeof value), (int)sizeof value);
	value = 1; /* the last value that fits into an eventfd */
	if (step == FILL)
		XT_EXPECT_EQ(write(file, &value, sizeof value), (int)sizeof value);
	notify(POLLIN);
	return true;
}

/* Make one call of xpoll_event, and store which filters it reported in there[]. */
static int wait_once(int64_t timeout_ns, bool *there)
{
	struct xpoll_event events[ROOM];
	int count;

	wait_begin();
	count = xpoll_event(queue, NULL, 0, events, ROOM, timeout_ns);
	wait_end(count == 0);
	if (count < 0)
		fail("a wait failed");
	if (count > 1 && events[0].filter == events[1].filter)
		fail("a filter twice in one call");
	for (int k = 0; k < count; k++) {
		int i = events[k].filter == XPOLL_FILT_WRITE;

		got(i);
		there[i] = true;
	}
	return count;
}

/* The same at the poll-like level, where a thread of several sleeps in xpoll_pwait only. */
static void poll_once(bool sleeps, bool *there)
{
	struct xpoll_ready ready[ROOM];
	int revents, count;

	ready->events = 0;
	wait_begin();
	count = sleeps ? xpoll_pwait(queue, ready, ROOM, -1, NULL) : xpoll_wait(queue, 0);
	wait_end(count == 0);
	if (count < 0)
		fail("a wait failed");
	while ((revents = sleeps ? ready->events : xpoll_revents(queue, NULL)) != 0) {
		ready->events = 0;
		for (int i = 0; i < 2; i++)
			if (revents & (int)bits[i]) {
				got(i);
				there[i] = true;
			}
	}
}

/* A wait that finds a ready candidate need not call the kernel: one of the next waits does. */
static void wait_looks(enum step step)
{
	bool taken = another_took(NULL);
	bool wanted[2] = {must(0) && !taken, must(1) && !taken};
	bool there[2] = {false, false};

	for (int i = 0; i < LOOKS_MOST; i++) {
		if (step == PEEK)
			poll_once(false, there);
		else
			(void)wait_once(0, there);
		if (there[0] >= wanted[0] && there[1] >= wanted[1])
			return;
	}
	fail(there[0] < wanted[0] ? "READ is ready and not reported"
	     : "WRITE is ready and not reported");
}

static bool wait_step(enum step step)
{
	bool at_poll_level = step == PEEK || step == DOZE;
	bool there[2];

	if (waiting > 0 && at_poll_level != dozing) /* one level at a time */
		return false;
	if (step < SLEEP) {
		wait_looks(step);
		return true;
	}
	if (waiting == SLEEPERS_MOST)
		return false;
	dozing = at_poll_level;
	if (step == DOZE)
		poll_once(true, there);
	else
		(void)wait_once(step == NAP ? NAP_NS : -1, there);
	return true;
}

static uint64_t wait_state(const struct wait *self)
{
	uint64_t hash = (uint64_t)core_has_changed(queue, file, self->sequence) |
		(uint64_t)self->always[0] << 1 | (uint64_t)self->always[1] << 2 |
		(uint64_t)(self->deadline_ns == XP_NEVER) << 3 |
		(uint64_t)(self->deadline_ns <= clock_ns) << 4 | (uint64_t)self->took << 5 |
		(uint64_t)self->found[0] << 6 | (uint64_t)self->found[1] << 7;

	for (int i = 0; self->took && i < self->count; i++)
		hash = mixed(hash, (uint64_t)self->fired[i].events << 1 |
		             core_is_token(queue, file, self->fired[i].token));
	return hash;
}

/* Returns a hash of the state, without counters that only grow. */
static uint64_t state_now(void)
{
	uint64_t hash = (uint64_t)waiting << 33 | (uint64_t)(waiting > 0 && dozing) << 32 | holds;

	for (int i = 0; i < waiting; i++)
		hash = mixed(hash, wait_state(&waits[i]));
	hash = mixed_entries(mixed(core_state(hash, queue, file), woken));
	for (int i = 0; i < 2; i++)
		hash = mixed(hash, (uint64_t)expected[i].mode << 8 |
		             expected[i].registered << 1 | expected[i].enabled << 2 |
		             expected[i].news << 3 | expected[i].reasons << 4);
	return hash;
}

/* Returns true if the last thread that has gone to sleep may continue in this step. */
static bool resume_step(enum step step)
{
	const struct wait *self = &waits[waiting ? waiting - 1 : 0];

	if (waiting == 0)
		return false;
	if (step == EXPIRE)
		return self->deadline_ns > clock_ns && self->deadline_ns != XP_NEVER &&
			(self->took || !kernel_has_reports());
	return step == COME_OUT || (!self->took && kernel_has_reports());
}

/* Called after each step: if it was the last one, record the state. */
static void at_end(void)
{
	if (next_step == length && !ended)
		state_at_end = state_now();
	ended = next_step == length;
}

/* Take steps until a sleeping thread has to continue.  Returns the step that is the reason. */
static enum step take_steps(void)
{
	while (next_step < length && applicable && !fault) {
		enum step step = (enum step)sequence[next_step++];

		if (step >= COME_OUT) {
			applicable = resume_step(step);
			at_end();
			state_at_end = mixed(state_at_end, step);
			return applicable ? step : COME_OUT;
		}
		if (step < PUT)
			applicable = registration_step(step);
		else if (step < LOOK)
			applicable = file_step(step);
		else
			applicable = wait_step(step);
		note_reasons();
		if (applicable && !fault && !core_is_armed_so(queue, file))
			fail("what is armed is not what the kernel has");
		at_end();
	}
	at_end();
	return COME_OUT;
}

/* A descriptor without enabled filters may end a few waits in vain, and then no more. */
static void vain_reports_end(void)
{
	bool there[2];
	uint64_t value;

	for (int i = 0; i < 2; i++)
		if (expected[i].registered && expected[i].enabled)
			return;
	for (int i = 0; i < SPURIOUS_MOST && !fault; i++) {
		value = 1;
		if (holds & POLLOUT && !(holds & POLLIN)) {
			XT_EXPECT_EQ(write(file, &value, sizeof value), (int)sizeof value);
			notify(POLLIN);
		} else {
			XT_EXPECT_EQ(read(file, &value, sizeof value), (int)sizeof value);
			notify(POLLOUT);
		}
		(void)wait_once(0, there);
	}
	for (int i = 0; i < SPURIOUS_MOST && !fault; i++)
		(void)wait_once(0, there);
	if (reports > 0)
		fail("a state that nobody wants is reported without end");
	(void)!read(file, &value, sizeof value);
	notify(POLLOUT);
	if (!fault && wait_once(0, there) == 0 && reports > 0)
		fail("activity that nobody wants is reported without end");
}

bool run(void)
{
	uint64_t value;

	kernel_begin();
	memset(expected, 0, sizeof expected);
	fault = NULL;
	applicable = true;
	ended = false;
	next_step = waiting = 0;
	(void)!read(file, &value, sizeof value);
	notify(0);
	queue = xpoll_open(NULL);
	if (!XT_EXPECT(queue))
		return false;
	while (next_step < length && applicable && !fault)
		(void)take_steps();
	if (applicable && !fault)
		vain_reports_end();
	xpoll_destroy(queue);
	if (fault) {
		xt_fail(__FILE__, __LINE__, "the contract is not kept");
		xt_note("%s, after:", fault);
		for (int i = 0; i < next_step; i++)
			xt_note("  %s", step_names[sequence[i]]);
	}
	return applicable;
}

void explore_open(void)
{
	fault = NULL;
	file = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void explore_close(void)
{
	close(file);
}

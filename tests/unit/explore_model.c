/* One sequence of steps, run and judged. */
#include "explore_model.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "backend/backend.h"
#include "base/time.h"
#include "core/entry.h"
#include "core/queue.h"
#include "core/slot.h"
#include "os/system.h"

enum {
	ROOM = 8,
	SLEEPERS_MOST = 2,
	LOOKS_MOST = 20,
	REASONS_MOST = 3,
	VAIN_MOST = 20,         /* reports that nobody wants, until there are none */
};

static const int modes[] = {0, XPOLL_CLEAR, XPOLL_ONESHOT, XPOLL_DISPATCH};
static const int16_t filters[] = {XPOLL_FILT_READ, XPOLL_FILT_WRITE};
static const uint32_t bits[] = {POLLIN, POLLOUT};

/* The sequence, and how far it has been gone through. */
uint8_t sequence[LENGTH_MOST];
int length;
const char *fault;
uint64_t state_at_end;
static int next_step, sleepers;
static bool applicable; /* was each step one that could be made? */
static struct xpoll *queue;
static int file; /* an eventfd: poll(2) returns the truth about it */
static uint32_t holds;  /* what it returns */

/* The kernel: the main entry, and those of single filters. */
static struct entry {
	bool there, ready, fired;
	uint32_t watch;
	uint64_t token;
} entries[3];
static bool woken;
static int reports; /* of the file by the last harvest */
static uint32_t sequence_asleep[SLEEPERS_MOST];

/* What the contract says of each filter. */
static struct expected {
	bool registered, enabled;
	int mode;
	bool news;     /* CLEAR: activity that was not reported yet */
	unsigned reasons; /* why it may be reported: changes of its own, any activity */
} expected[2];

static struct entry *entry_of(uint32_t watch)
{
	unsigned solo = watch / XP_WATCH_SOLO(0) & 3u;

	return &entries[solo == 1 ? 1 : solo == 2 ? 2 : 0];
}

/* Added or changed: an entry that is ready is reported, as a whole. */
static int entry_arm(struct entry *entry, uint32_t watch, uint64_t token)
{
	*entry = (struct entry){
		.there = true,
		.watch = watch,
		.token = token,
		.ready = watch & holds,
	};
	return 0;
}

static int kernel_open(void *state, int size_hint, struct xp_counters *counters)
{
	(void)state, (void)size_hint, (void)counters;
	return 0;
}

static int kernel_attach(void *state, int fd, uint32_t watch, uint64_t token)
{
	struct entry *entry = entry_of(watch);

	(void)state, (void)fd;
	return entry->there ? -EEXIST : entry_arm(entry, watch, token);
}

static int kernel_change(void *state, int fd, uint32_t watch, uint64_t token)
{
	struct entry *entry = entry_of(watch);

	(void)state, (void)fd;
	if (!entry->there)
		return -ENOENT;
	if (watch & XP_WATCH_SOLO_ANY && !(watch & XP_WATCH_BITS)) {
		entry->there = false;
		return 0;
	}
	return entry_arm(entry, watch, token);
}

static int kernel_detach(void *state, int fd)
{
	(void)state, (void)fd;
	if (!entries[0].there)
		return -ENOENT;
	entries[0].there = false;
	return 0;
}

/* What is on the list of the ready, and still is. */
static int harvest(struct xp_fired *fired)
{
	int count = 0;

	reports = 0;
	for (unsigned i = 0; i < 3; i++) {
		struct entry *entry = &entries[i];
		uint32_t now = entry->watch & holds;

		if (!entry->there || !entry->ready || entry->fired)
			continue;
		entry->ready = false;
		if (!now)
			continue;
		fired[count++] = (struct xp_fired){
			.token = entry->token,
			.events = now | (i ? XP_FIRED_SOLO(i - 1) : 0),
		};
		entry->fired = entry->watch & XP_WATCH_ONESHOT;
		entry->ready = !(entry->watch & (XP_WATCH_EDGE | XP_WATCH_ONESHOT));
	}
	reports = count;
	if (woken)
		fired[count++] = (struct xp_fired){.token = XP_TOKEN_WAKE};
	woken = false;
	return count;
}

/* The file changes: these bits are news to whoever waits for them. */
static void notify(uint32_t news)
{
	struct pollfd look = {.fd = file, .events = POLLIN | POLLOUT};

	XT_EXPECT(poll(&look, 1, 0) >= 0);
	holds = (uint32_t)look.revents;
	for (unsigned i = 0; i < 3; i++)
		if (entries[i].there && entries[i].watch & news)
			entries[i].ready = true;
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

static bool may(int i)
{
	const struct expected *filter = &expected[i];

	return filter->registered && filter->enabled && holds & bits[i] &&
		(!(filter->mode & XPOLL_CLEAR) || filter->reasons > 0);
}

static void fail(const char *what)
{
	if (!fault)
		fault = what;
}

static void got(const struct xpoll_event *events, int count)
{
	for (int k = 0; k < count; k++) {
		int i = events[k].filter == XPOLL_FILT_WRITE;
		struct expected *filter = &expected[i];

		if (events[k].filter != filters[i] || !may(i))
			fail(i ? "WRITE must not be reported" : "READ must not be reported");
		if (k > 0 && events[k].filter == events[0].filter)
			fail("a filter twice in one call");
		filter->news = false;
		filter->reasons -= filter->reasons > 0;
		if (filter->mode & XPOLL_ONESHOT)
			filter->registered = false;
		if (filter->mode & XPOLL_DISPATCH)
			filter->enabled = false;
	}
}

static void take_steps(void);

/* A thread has gone to sleep: others run, until it is to come out. */
static int kernel_wait(void *state, int64_t deadline_ns, const sigset_t *mask,
                       struct xp_fired *fired, int cap)
{
	int count;

	(void)state, (void)mask, (void)cap;
	if (deadline_ns != XP_NOW && deadline_ns != XP_PAST) {
		sequence_asleep[sleepers++] = queue->sequence;
		take_steps();
		sleepers--;
	}
	count = harvest(fired);
	for (int i = 0; count == 0 && i < 2 && deadline_ns == XP_NEVER; i++)
		if (must(i))
			fail(i ? "it sleeps beside WRITE" : "it sleeps beside READ");
	if (count == 0 && deadline_ns == XP_NEVER) {
		XT_EXPECT_EQ(xpoll_wake(queue), 0);
		count = harvest(fired);
	}
	return count;
}

static void kernel_wake(void *state)
{
	(void)state;
	woken = true;
}

static void kernel_close(void *state)
{
	(void)state;
}

static struct xp_backend_ops kernel = {
	.name = "model",
	.caps = XP_CAP_CONCURRENT | XP_CAP_KNOWS_FILE,
	.state_size = 1,
	.open = kernel_open,
	.close = kernel_close,
	.attach = kernel_attach,
	.change = kernel_change,
	.detach = kernel_detach,
	.wait = kernel_wait,
	.wake = kernel_wake,
};
const struct xp_system xp_system = {.backends = {&kernel}};

static int change(int i, int flags)
{
	struct xpoll_event event;

	xpoll_set(&event, (uint64_t)file, filters[i], flags, 0, 0, NULL);
	return xpoll_event(queue, &event, 1, NULL, 0, 0);
}

/* The step's change of a filter; false: it cannot be made now. */
static bool registration_step(enum step step)
{
	int i = step < DELETE ? step >= ADD_WRITE : (step - DELETE) & 1;
	struct expected *filter = &expected[i];
	int rc;

	if (filter->registered != (step >= DELETE))
		return false;
	if (step < DELETE) {
		*filter = (struct expected){true, true, modes[step & 3], true, 1};
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
	value = 1; /* The last that fits. */
	if (step == FILL)
		XT_EXPECT_EQ(write(file, &value, sizeof value), (int)sizeof value);
	notify(POLLIN);
	return true;
}

/* One call, and which filters it reported. */
static int wait_once(int64_t timeout_ns, bool *there)
{
	struct xpoll_event events[ROOM];
	int count = xpoll_event(queue, NULL, 0, events, ROOM, timeout_ns);

	if (count < 0)
		fail("a wait failed");
	got(events, count);
	for (int k = 0; k < count; k++)
		there[events[k].filter == XPOLL_FILT_WRITE] = true;
	return count;
}

/*
 * Beside a candidate that is ready the kernel need not be asked by each wait: what
 * only it knows comes with one of the next.
 */
static void wait_looks(void)
{
	bool wanted[2] = {must(0), must(1)};
	bool there[2] = {false, false};

	for (int i = 0; i < LOOKS_MOST; i++) {
		(void)wait_once(0, there);
		if (there[0] >= wanted[0] && there[1] >= wanted[1])
			return;
	}
	fail(there[0] < wanted[0] ? "READ is ready and not reported"
	     : "WRITE is ready and not reported");
}

static bool wait_step(enum step step)
{
	bool there[2];

	if (step == LOOK)
		wait_looks();
	else if (sleepers < SLEEPERS_MOST)
		(void)wait_once(-1, there);
	else
		return false;
	return true;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* All that what follows depends on, numbers that only grow apart. */
static uint64_t state_now(void)
{
	const struct xp_slot *known = xp_slots_at(&queue->slots, file);
	struct xp_slot slot = known ? *known : (struct xp_slot){.check.next = XP_SLOT_UNQUEUED};
	const uint8_t *bytes = (const uint8_t *)&slot;
	uint64_t hash = (uint64_t)sleepers << 32 | holds;

	for (int i = 0; i < sleepers; i++)
		hash = mixed(hash, (int32_t)(slot.sequence - sequence_asleep[i]) > 0);
	hash = mixed(hash, ((slot.delivered.count - slot.delivered.since) & 31u) > 3 ? 4
	             : (slot.delivered.count - slot.delivered.since) & 31u);
	slot.delivered.count = slot.delivered.since = 0;
	slot.generation = slot.sequence = slot.delivered.epoch = 0;
	slot.delivered.filters = 0;
	slot.check.next = slot.check.next != XP_SLOT_UNQUEUED;
	for (size_t i = offsetof(struct xp_slot, generation); i < sizeof slot; i++)
		hash = mixed(hash, bytes[i]);
	hash = mixed(hash, (uint64_t)queue->turn.several << 8 | queue->ask.due << 9 |
	             (unsigned)(queue->candidates.len > 0) << 10 | queue->ask.skipped);
	hash = mixed(hash, (uint64_t)queue->recheck_wanted << 1 | woken);
	for (int i = 0; i < 3; i++)
		hash = mixed(hash, entries[i].there ? (uint64_t)entries[i].ready << 33 |
		             (uint64_t)entries[i].fired << 34 | entries[i].watch : 1);
	for (int i = 0; i < 2; i++)
		hash = mixed(hash, (uint64_t)expected[i].mode << 8 |
		             expected[i].registered << 1 | expected[i].enabled << 2 |
		             expected[i].news << 3 | expected[i].reasons << 4);
	return hash;
}

/*
 * An ENABLE of what is armed is not passed on, and a confirmation makes the entry anew
 * of what is armed, unless that holds edges.
 */
static void armed_is_what_the_kernel_has(void)
{
	const struct xp_slot *slot = xp_slots_at(&queue->slots, file);
	unsigned there, wrong;

	if (!slot || !slot->present)
		return;
	there = entries[0].there ? xp_entry_filters(entries[0].watch & XP_WATCH_BITS) : 0;
	wrong = slot->armed & ~there;
	if (!xp_slot_holds_edges(slot, false))
		wrong |= there & ~(unsigned)slot->armed;
	if (wrong & slot->present & ~(unsigned)slot->solo)
		fail("what is armed is not what the kernel has");
}

static void take_steps(void)
{
	while (next_step < length && applicable && !fault) {
		enum step step = (enum step)sequence[next_step++];

		if (step == COME_OUT) {
			applicable = sleepers > 0;
			state_at_end = mixed(state_now(), COME_OUT);
			return;
		}
		if (step < PUT)
			applicable = registration_step(step);
		else if (step < LOOK)
			applicable = file_step(step);
		else if (step == LOOK)
			applicable = wait_step(step);
		if (applicable && !fault)
			armed_is_what_the_kernel_has();
		if (next_step == length)
			state_at_end = state_now();
		if (step == SLEEP)
			applicable &= wait_step(step);
	}
}

/* Of a descriptor of which nothing is enabled some is reported, and then no more. */
static void vain_reports_end(void)
{
	bool there[2];
	uint64_t value;

	for (int i = 0; i < 2; i++)
		if (expected[i].registered && expected[i].enabled)
			return;
	for (int i = 0; i < VAIN_MOST && !fault; i++) {
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
	for (int i = 0; i < VAIN_MOST && !fault; i++)
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

	memset(entries, 0, sizeof entries);
	memset(expected, 0, sizeof expected);
	woken = false;
	fault = NULL;
	applicable = true;
	next_step = sleepers = 0;
	(void)!read(file, &value, sizeof value);
	notify(0);
	queue = xpoll_open(NULL);
	if (!XT_EXPECT(queue))
		return false;
	while (next_step < length && applicable && !fault)
		take_steps();
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

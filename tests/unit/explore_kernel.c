/*
 * A model of epoll as a back end of the library, and a clock that stands still.
 */
#include "explore_kernel.h"

#include <poll.h>
#include <string.h>

#include "sys/sys.h"
#include "sys/system.h"
#include "xt.h"

struct entry entries[3];
uint32_t holds;
bool woken;
int reports;
int64_t clock_ns;

/* --- In place of src/posix/sys_clock.c ------------------------------------------- */

int64_t xp_sys_now(void)
{
	return clock_ns;
}

int64_t xp_sys_now_coarse(void)
{
	return clock_ns;
}

int64_t xp_sys_realtime(void)
{
	return clock_ns;
}

/* --- The back end ------------------------------------------------------------------- */

static struct entry *entry_of(uint32_t watch)
{
	unsigned solo = watch / XP_WATCH_SOLO(0) & 3u;

	return &entries[solo == 1 ? 1 : solo == 2 ? 2 : 0];
}

/* An entry that is added or modified while it is ready is reported, with all its ready bits. */
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

bool kernel_has_reports(void)
{
	for (int i = 0; i < 3; i++)
		if (entries[i].there && entries[i].ready && !entries[i].fired &&
		    entries[i].watch & holds)
			return true;
	return woken;
}

int kernel_harvest(struct xp_fired *fired)
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
			.events = now | (i ? XP_WATCH_SOLO(i - 1) : 0),
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

void kernel_notify(int file, uint32_t news)
{
	struct pollfd look = {.fd = file, .events = POLLIN | POLLOUT};

	XT_EXPECT(poll(&look, 1, 0) >= 0);
	holds = (uint32_t)look.revents;
	for (int i = 0; i < 3; i++)
		if (entries[i].there && entries[i].watch & news)
			entries[i].ready = true;
}

void kernel_begin(void)
{
	memset(entries, 0, sizeof entries);
	woken = false;
	clock_ns = 1000 * XP_NS_PER_SEC;
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

uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t mixed_entries(uint64_t hash)
{
	for (int i = 0; i < 3; i++)
		hash = mixed(hash, entries[i].there ? (uint64_t)entries[i].ready << 33 |
		             (uint64_t)entries[i].fired << 34 | entries[i].watch : 1);
	return hash;
}

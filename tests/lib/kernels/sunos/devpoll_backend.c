/*
 * Goal: the /dev/poll back end beyond the contract: the number of its system calls, the final state
 * of the device, and the behaviour without a device.
 *
 * Method: a model of the device, which counts calls and shows its state.
 */
#include "xt.h"

#include <devpoll_model.h>
#include <dlfcn.h>
#include <sys/devpoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

static bool no_ports; /* the modelled kernel has no event ports */

/* Replaces port_create of the model of event ports. */
__attribute__((visibility("default"))) int port_create(void);

int port_create(void)
{
	int (*real)(void);
	void *found = dlsym(RTLD_NEXT, "port_create");

	if (no_ports || !found) {
		errno = ENOSYS;
		return -1;
	}
	memcpy(&real, &found, sizeof found);
	return real();
}

/* Returns the events that the newest device has for a descriptor; -1: it is not in the set. */
static int has(int fd)
{
	struct pollfd entry = {.fd = fd};

	return ioctl(devpoll_latest(), DP_ISPOLLED, &entry) == 1
		? (unsigned short)entry.revents : -1;
}

static void stand_by(void *argument)
{
	char byte;

	/* The read returns when the other end is closed. */
	(void)!read(*(int *)argument, &byte, 1);
}

static bool calls_are(struct devpoll_calls before, unsigned writes,
                      unsigned records, unsigned polls)
{
	struct devpoll_calls now = devpoll_calls();

	return XT_EXPECT_EQ(now.writes - before.writes, writes) &&
		XT_EXPECT_EQ(now.records - before.records, records) &&
		XT_EXPECT_EQ(now.polls - before.polls, polls);
}

static void count_calls(void)
{
	enum { PAIRS = 100 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pairs[PAIRS];
	struct xpoll_event changes[PAIRS];
	struct xpoll_event event;

	for (int i = 0; i < PAIRS; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		xpoll_set(&changes[i], (uint64_t)pairs[i].r, READ, XPOLL_ADD, 0, 0,
		          NULL);
	}
	xt_put(pairs[7].w);
	struct devpoll_calls before = devpoll_calls();
	XT_EQ(xpoll_event(queue, changes, PAIRS, &event, 1, -1), 1);
	XT_CHECK(calls_are(before, 1, PAIRS, 1));

	before = devpoll_calls();
	for (int i = 0; i < 10; i++)
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	XT_CHECK(calls_are(before, 0, 0, 10));

	/* Changes that cancel each other out are not written to the device. */
	before = devpoll_calls();
	for (int i = 0; i < 10; i++) {
		XT_OK(xt_flag(queue, (uint64_t)pairs[7].r, READ, XPOLL_DISABLE));
		XT_OK(xt_flag(queue, (uint64_t)pairs[7].r, READ, XPOLL_ENABLE));
		XT_EQ(xpoll_event(queue, NULL, 0, &event, 1, -1), 1);
	}
	XT_CHECK(calls_are(before, 0, 0, 10));

	/*
	 * All changes are one write.  An ADD is two records, which remove and add the descriptor;
	 * requesting less is two as well, and requesting more is one.
	 */
	before = devpoll_calls();
	for (int i = 0; i < 3; i++) {
		static const int ways[] = {XPOLL_ADD, XPOLL_DISABLE, XPOLL_ENABLE};

		for (int j = 0; j < PAIRS; j++)
			xpoll_set(&changes[j], (uint64_t)pairs[j].r, WRITE, ways[i],
			          0, 0, NULL);
		XT_EQ(xpoll_event(queue, changes, PAIRS, &event, 1, -1), 1);
	}
	XT_CHECK(calls_are(before, 3, (2 + 2 + 1) * PAIRS, 3));
}

XT_TEST(wait_is_one_call_and_one_write_if_anything_changed)
{
	count_calls();
}

XT_TEST(wait_is_one_call_beside_other_threads)
{
	struct xt_pair pipe = xt_pipe();
	struct xt_thread *thread;

	XT_EQ(fcntl(pipe.r, F_SETFL, 0), 0);
	thread = xt_start(stand_by, &pipe.r);
	count_calls();
	xt_close(pipe.w);
	xt_join(thread);
}

/* Returns the poll(2) bits of these filters that the queue requests. */
static int wanted(unsigned filters)
{
	int bits = (filters & 1 ? POLLIN | POLLRDHUP : 0) |
		(filters & 2 ? POLLOUT : 0);

	return bits ? bits : -1;
}

XT_TEST(device_has_what_is_enabled_and_nothing_else)
{
	enum { PAIRS = 8, STEPS = 2000 };
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair pairs[PAIRS];
	unsigned enabled[PAIRS] = {0};
	uint64_t seed = xt_seed();
	struct xpoll_event events[2 * PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		pairs[i] = xt_socketpair(SOCK_STREAM);
		XT_OK(xt_add(queue, pairs[i].r, READ, XPOLL_DISABLE));
		XT_OK(xt_add(queue, pairs[i].r, WRITE, XPOLL_DISABLE));
	}
	for (int i = 0; i < STEPS; i++) {
		unsigned at = xt_random(&seed) % PAIRS;
		unsigned filter = xt_random(&seed) % 2;
		uint64_t ident = (uint64_t)pairs[at].r;

		if (xt_random(&seed) % 8 == 0) {
			/* Close a descriptor, and reuse it at once. */
			XT_OK(xt_flag(queue, ident, READ, XPOLL_DELETE));
			XT_OK(xt_flag(queue, ident, WRITE, XPOLL_DELETE));
			xt_close(pairs[at].w);
			pairs[at] = xt_socketpair(SOCK_STREAM);
			xt_number(pairs[at].r, (int)ident);
			pairs[at].r = (int)ident;
			XT_OK(xt_add(queue, pairs[at].r, READ, XPOLL_DISABLE));
			XT_OK(xt_add(queue, pairs[at].r, WRITE, XPOLL_DISABLE));
			enabled[at] = 0;
		} else {
			enabled[at] ^= 1u << filter;
			XT_OK(xt_flag(queue, ident, filter ? WRITE : READ,
			              enabled[at] & 1u << filter
			              ? XPOLL_ENABLE : XPOLL_DISABLE));
		}
		if (xt_random(&seed) % 3)
			continue;
		XT_CHECK(xpoll_event(queue, NULL, 0, events, 2 * PAIRS, 0) >= 0);
		for (int j = 0; j < PAIRS; j++)
			XT_EQ(has(pairs[j].r), wanted(enabled[j]));
	}
}

/* The device keeps events that were written while the descriptor was closed. */
XT_TEST(bits_that_the_device_keeps_are_taken_away)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_socketpair(SOCK_STREAM);
	struct xt_pair new = xt_socketpair(SOCK_STREAM);
	int number = old.r;

	XT_OK(xt_add(queue, number, WRITE, 0));
	xt_close(number);
	XT_NONE(queue);
	XT_STATUS(xt_flag(queue, (uint64_t)number, WRITE, XPOLL_DELETE), EBADF);
	XT_NONE(queue);
	xt_number(new.r, number);
	XT_OK(xt_add(queue, number, READ, 0));
	XT_NONE(queue);
	XT_EXPECT_EQ(has(number), POLLIN | POLLRDHUP);
	struct devpoll_calls before = devpoll_calls();
	XT_NONE(queue);
	XT_EXPECT_EQ(devpoll_calls().writes, before.writes);
	xt_put(new.w);
	XT_GETS(queue, NULL, number, READ);
}

/* An ADD is written to the device even if the device has the descriptor with these events. */
XT_TEST(add_on_a_number_used_again_is_told_to_the_device)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair old = xt_pipe();
	struct xt_pair new = xt_pipe();

	XT_OK(xt_add(queue, old.r, READ, 0));
	XT_NONE(queue);
	xt_number(new.r, old.r);
	XT_OK(xt_add(queue, old.r, READ, 0));
	xt_put(new.w);
	XT_GETS(queue, NULL, old.r, READ);
}

/*
 * A wait with a signal mask polls all descriptors by poll(2), which also reports those about which
 * the device is silent.
 */
XT_TEST(masked_wait_drops_what_the_device_is_silent_about)
{
	struct xpoll *queue = xt_open_quiet();
	struct xt_pair gone = xt_pipe();
	struct xt_pair stays = xt_pipe();
	struct xpoll_event event;
	sigset_t mask;

	sigemptyset(&mask);
	XT_OK(xt_add(queue, gone.r, READ, 0));
	XT_OK(xt_add(queue, stays.r, READ, 0));
	XT_NONE(queue);
	xt_close(gone.r);
	XT_EQ(xpoll_event_mask(queue, NULL, 0, &event, 1, 1000, &mask), 0);
	XT_EXPECT_EQ(xt_stats(queue).registered, 1);
	xt_put(stays.w);
	XT_EQ(xpoll_event_mask(queue, NULL, 0, &event, 1, -1, &mask), 1);
	XT_EXPECT_EQ(event.ident, stays.r);
	XT_EXPECT_EQ(has(stays.r), POLLIN | POLLRDHUP);
}

static void all_are_told(void *argument)
{
	enum { LIMIT = 64, PIPES = 40 };
	struct rlimit limit;
	struct xpoll *queue;
	struct xpoll_event events[PIPES * 2];
	int ends[2];
	int sum = 0;

	(void)argument;
	XT_EQ(pipe(ends), 0);
	xt_put(ends[1]);
	queue = xpoll_create(1);
	XT_CHECK(queue);
	for (int i = 0; i < PIPES; i++)
		XT_OK(xt_add(queue, dup(ends[0]), READ, 0));
	XT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = LIMIT;
	XT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	struct devpoll_calls before = devpoll_calls();
	XT_EQ(xpoll_event(queue, NULL, 0, events, PIPES * 2, -1), PIPES);
	/* Each ADD writes two records: one removes the descriptor, one adds it. */
	for (int i = 0; i < PIPES; i++) {
		sum += (int)events[i].ident;
		XT_OK(xt_add(queue, (int)events[i].ident, READ, 0));
	}
	XT_EQ(xpoll_event(queue, NULL, 0, events, PIPES * 2, -1), PIPES);
	for (int i = 0; i < PIPES; i++)
		sum -= (int)events[i].ident;
	XT_EXPECT_EQ(sum, 0);
	XT_EXPECT(devpoll_calls().refused > before.refused);
	xpoll_destroy(queue);
}

XT_TEST(limit_of_descriptors_splits_calls_and_loses_nothing)
{
	XT_CHECK(xt_child(all_are_told, NULL));
}

/* The wait has consumed the edges before its call of the device fails, so it must report them. */
XT_TEST(edges_that_were_taken_come_though_the_device_fails)
{
	enum { EDGES = 600, ROOM = 1000 };
	struct xpoll *queue = xt_open_quiet();
	struct xpoll_event events[ROOM];
	int len;

	for (int i = 0; i < EDGES; i++) {
		struct xt_pair pair = xt_pipe();

		xt_put(pair.w);
		XT_OK(xt_add(queue, pair.r, READ, XPOLL_CLEAR));
	}
	/*
	 * There are more edges than one wait of the back end takes, and room for more; the second
	 * poll fails.
	 */
	devpoll_fail(1, ENOMEM);
	len = xpoll_event(queue, NULL, 0, events, ROOM, 0);
	for (int more = len; more > 0; len += more) {
		more = xpoll_event(queue, NULL, 0, events, ROOM, 0);
		XT_CHECK(more >= 0);
	}
	XT_EXPECT_EQ(len, EDGES);
}

/* --- Where there is no device ------------------------------------------------ */

static struct xpoll *open_named(const char *name)
{
	struct xpoll_options options = {.size = sizeof options, .backend = name};

	errno = 0;
	return xpoll_open(&options);
}

static bool listed(const char *name)
{
	const char *names[8];
	int count = xpoll_backends(names, 8);

	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool takes(const char *name)
{
	struct xpoll *queue = xpoll_create(1);
	bool same = XT_EXPECT(queue) &&
		XT_EXPECT(strcmp(xpoll_backend(queue), name) == 0);

	xpoll_destroy(queue);
	return same;
}

/* Without a device the queue uses poll(2), as the README says. */
static void falls_back(void)
{
	XT_EXPECT(takes("poll"));
	XT_EXPECT(!listed("devpoll"));
	XT_EXPECT(listed("poll"));
	XT_EXPECT(!open_named("devpoll"));
	XT_EXPECT_EQ(errno, ENOTSUP);
	setenv("XPOLL_BACKEND", "devpoll", 1);
	errno = 0;
	XT_EXPECT(!xpoll_create(1));
	XT_EXPECT_EQ(errno, ENOTSUP);
	unsetenv("XPOLL_BACKEND");
}

XT_TEST(without_ports_the_device_is_taken_and_without_that_poll)
{
	static const int errors[] = {ENOENT, EACCES, EPERM, ENXIO, ENODEV};

	unsetenv("XPOLL_BACKEND");
	XT_EXPECT(takes("port"));
	no_ports = true;
	XT_EXPECT(takes("devpoll"));
	XT_EXPECT(!listed("port"));
	XT_EXPECT(listed("devpoll"));
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		devpoll_refuse(errors[i]);
		falls_back();
		devpoll_refuse(0);
	}
	XT_EXPECT(takes("devpoll"));
	no_ports = false;
}

/* A file of this name that accepts all writes is not used as a device. */
XT_TEST(without_its_ioctl_the_device_is_not_taken)
{
	unsetenv("XPOLL_BACKEND");
	no_ports = true;
	devpoll_be_deaf(1);
	falls_back();
	devpoll_be_deaf(0);
	XT_EXPECT(takes("devpoll"));
	no_ports = false;
}

/* A lack of descriptors shows nothing about the kernel, so xpoll_create fails. */
XT_TEST(without_descriptors_nothing_else_is_taken)
{
	unsetenv("XPOLL_BACKEND");
	no_ports = true;
	devpoll_refuse(EMFILE);
	XT_EXPECT(!xpoll_create(1));
	XT_EXPECT_EQ(errno, EMFILE);
	devpoll_refuse(0);
	no_ports = false;
}

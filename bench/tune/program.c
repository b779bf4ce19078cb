/*
 * What the thresholds of the library are for, a scenario each: tune.py runs it on
 * libraries that differ in one of them.
 *
 *     program SCENARIO PARAMETER SECONDS
 *
 * prints for each step nanoseconds and system calls of the library; and, of
 * "hot", the waits until what only the kernel knew of was reported.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <xpoll.h>

enum {
	READS = XPOLL_FILT_READ, WRITES = XPOLL_FILT_WRITE, FEW = 8,
	MANY = 1000,
};

struct pair {
	int ours;
	int theirs;
};

static struct xpoll *queue;
static uint64_t asked; /* times the cold one of "hot" was ready */
static uint64_t reported;  /* times it was reported */
static uint64_t late;  /* waits until then */
static uint64_t spent_ns;
static uint64_t spent_calls;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "tune: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct pair pair_open(void)
{
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	return (struct pair){fds[0], fds[1]};
}

static void give(int fd)
{
	check(write(fd, "x", 1) == 1, "write");
}

static void take(int fd)
{
	char byte;

	check(read(fd, &byte, 1) == 1, "read");
}

static void change(int fd, int filter, unsigned flags)
{
	struct xpoll_event event = {
		.ident = (uint64_t)fd, .filter = (int16_t)filter, .flags = (uint16_t)flags,
	};

	check(xpoll_event(queue, &event, 1, NULL, 0, 0) >= 0, "change");
}

static void wait_for(int fd, int filter)
{
	struct xpoll_event event;

	check(xpoll_event(queue, NULL, 0, &event, 1, -1) == 1 &&
	      event.ident == (uint64_t)fd && event.filter == filter, "wait");
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t calls(void)
{
	struct xpoll_stats stats;

	check(xpoll_stats(queue, &stats, sizeof stats) == 0, "xpoll_stats");
	return stats.syscalls_wait + stats.syscalls_change + stats.syscalls_check;
}

/* What lies between these two is measured. */
static void begin(void)
{
	spent_calls -= calls();
	spent_ns -= now();
}

static void end(void)
{
	spent_ns += now();
	spent_calls += calls();
}

static void pass(struct pair *one)
{
	give(one->theirs);
	wait_for(one->ours, READS);
	take(one->ours);
}

/* Their data comes while nobody wants it, and is wanted then. */
static void pause_all(struct pair *pairs, unsigned m)
{
	struct xpoll_event event;

	for (unsigned i = 0; i < m; i++)
		change(pairs[i].ours, READS, XPOLL_DISABLE);
	for (unsigned i = 0; i < m; i++)
		give(pairs[i].theirs);
	check(xpoll_event(queue, NULL, 0, &event, 1, 0) == 0, "look");
	for (unsigned i = 0; i < m; i++)
		change(pairs[i].ours, READS, XPOLL_ENABLE);
}

/* Sockets that are read in turn; at every m-th byte one has to wait for another. */
static void pause_step(struct pair *pairs, uint64_t step, unsigned m)
{
	struct pair *one = &pairs[step % FEW];

	give(one->theirs);
	if (step / FEW % m == 0) {
		change(one->ours, READS, XPOLL_DISABLE);
		pass(&pairs[(step + 1) % FEW]);
		change(one->ours, READS, XPOLL_ENABLE);
	}
	wait_for(one->ours, READS);
	take(one->ours);
}

/* Requests and answers; at every m-th the program waits for room. */
static void room_step(struct pair *pairs, uint64_t step, unsigned m)
{
	struct pair *one = &pairs[step % FEW];

	pass(one);
	if (step / FEW % m == 0) {
		change(one->ours, WRITES, XPOLL_ENABLE);
		wait_for(one->ours, WRITES);
		change(one->ours, WRITES, XPOLL_DISABLE);
	}
	give(one->ours);
	take(one->theirs);
}

/* m descriptors are ready and wanted again all the time, another now and then. */
static void hot_step(struct pair *pairs, uint64_t step, unsigned m)
{
	struct xpoll_event event;

	if (step % 100 == 0 && asked == reported) {
		give(pairs[m].theirs);
		asked++;
	}
	late += asked > reported;
	check(xpoll_event(queue, NULL, 0, &event, 1, -1) == 1, "wait");
	if (event.ident == (uint64_t)pairs[m].ours) {
		take(pairs[m].ours);
		reported++;
	} else {
		change((int)event.ident, READS, XPOLL_DISABLE);
		change((int)event.ident, READS, XPOLL_ENABLE);
	}
}

/* All of many have to be looked at; one is ready. */
static void many_step(struct pair *pairs, uint64_t step, unsigned m)
{
	struct pair *one = &pairs[step * 7919 % m];

	pause_all(pairs, m);
	for (unsigned i = 0; i < m; i++)
		take(pairs[i].ours);
	give(one->theirs);
	begin();
	wait_for(one->ours, READS);
	end();
	take(one->ours);
}

struct scenario {
	const char *name;
	void (*step)(struct pair *pairs, uint64_t step, unsigned m);
	bool inside; /* a step says itself what is measured */
};

static const struct scenario scenarios[] = {
	{"pause", pause_step, false}, {"room", room_step, false},
	{"hot", hot_step, false}, {"many", many_step, true},
};

static void prepare(const struct scenario *scenario, struct pair *pairs,
                    unsigned m)
{
	unsigned count = FEW;

	if (scenario->step == many_step)
		count = m;
	if (scenario->step == hot_step)
		count = m + 1;
	for (unsigned i = 0; i < count; i++) {
		pairs[i] = pair_open();
		change(pairs[i].ours, READS, XPOLL_ADD);
		if (scenario->step == room_step)
			change(pairs[i].ours, WRITES, XPOLL_ADD | XPOLL_DISABLE);
	}
	if (scenario->step == hot_step)
		pause_all(pairs, m);
}

static void allow_files(void)
{
	struct rlimit files;

	check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
	files.rlim_cur = files.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &files) == 0, "setrlimit");
}

static void measure(const struct scenario *scenario, unsigned m, double seconds)
{
	static struct pair pairs[MANY + 1];
	const unsigned batch = scenario->inside ? 1 : 200;
	uint64_t step = 0, until, steps;

	allow_files();
	queue = xpoll_create(MANY);
	check(queue != NULL, "xpoll_create");
	prepare(scenario, pairs, m);
	until = now() + (uint64_t)(seconds * 1e8);
	while (now() < until)
		scenario->step(pairs, ++step, m);
	spent_ns = spent_calls = asked = reported = late = steps = 0;
	until = now() + (uint64_t)(seconds * 1e9);
	while (now() < until) {
		if (!scenario->inside)
			begin();
		for (unsigned i = 0; i < batch; i++)
			scenario->step(pairs, ++step, m);
		if (!scenario->inside)
			end();
		steps += batch;
	}
	printf("%.1f %.3f %.1f\n", (double)spent_ns / (double)steps,
	       (double)spent_calls / (double)steps,
	       reported ? (double)late / (double)reported : 0);
}

int main(int argc, char **argv)
{
	long m = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
	double seconds = argc == 4 ? strtod(argv[3], NULL) : 0;

	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		if (m < 1 || m > MANY || !(seconds > 0 && seconds <= 60) ||
		    strcmp(argv[1], scenarios[i].name) != 0)
			continue;
		measure(&scenarios[i], (unsigned)m, seconds);
		return 0;
	}
	fprintf(stderr, "usage: program pause|room|hot|many M SECONDS\n");
	return 2;
}

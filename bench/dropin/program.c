/*
 * A program written for poll(2), in one regime: table.py runs it with the drop-in
 * and without.
 *
 *     program KIND N READY CHURN WARM CALLS
 *
 * KIND     event: eventfds; unix: stream sockets; sleep: eventfds, and each call waits
 *          for another process
 * READY    how many of them are ready all the time
 * CHURN    how many are closed and opened again between two calls; -K: how many
 *          change what is asked of them
 * WARM     calls before those that are measured
 *
 * Prints nanoseconds of processor time per round of its loop, and per round of a loop
 * that does the same but poll.  Of sleep it is the time that passes.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *kind;
static int n;
static int ready;
static struct pollfd *fds;
static int *peers; /* of unix */
static int to_child = -1;

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(strcmp(kind, "sleep") == 0 ? CLOCK_MONOTONIC
	                                         : CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void open_one(int at)
{
	int ends[2];

	if (strcmp(kind, "unix") != 0) {
		fds[at].fd = eventfd(at < ready, EFD_NONBLOCK);
		check(fds[at].fd >= 0, "eventfd");
		return;
	}
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "socketpair");
	fds[at].fd = ends[0];
	peers[at] = ends[1];
	if (at < ready)
		check(write(ends[1], "x", 1) == 1, "write");
}

static void open_all(void)
{
	struct rlimit limit;

	check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
	fds = calloc((size_t)n, sizeof *fds);
	peers = calloc((size_t)n, sizeof *peers);
	check(fds && peers, "calloc");
	for (int i = 0; i < n; i++) {
		open_one(i);
		fds[i].events = POLLIN;
	}
}

/* Echoes each count by one into the last of them. */
static void start_child(void)
{
	int fd = eventfd(0, 0);

	check(fd >= 0, "eventfd");
	to_child = fd;
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t count;

		if (read(fd, &count, sizeof count) != sizeof count ||
		    write(fds[n - 1].fd, &count, sizeof count) != sizeof count)
			_exit(1);
	}
}

static void change(int churn, unsigned *at)
{
	for (int i = 0; i < churn; i++) {
		int one = (int)(*at)++ % n;

		close(fds[one].fd);
		if (strcmp(kind, "unix") == 0)
			close(peers[one]);
		open_one(one);
	}
	for (int i = 0; i < -churn; i++)
		fds[(int)(*at)++ % n].events ^= POLLPRI;
}

static int64_t run(int churn, int calls, bool polls)
{
	static unsigned at;
	uint64_t one = 1;
	int64_t start = now();

	for (int i = 0; i < calls; i++) {
		int rc;

		change(churn, &at);
		if (!polls)
			continue;
		if (to_child >= 0)
			check(write(to_child, &one, sizeof one) == sizeof one, "write");
		rc = poll(fds, (nfds_t)n, to_child >= 0 ? -1 : 0);
		check(rc == (to_child >= 0 ? ready + 1 : ready), "poll");
		if (to_child >= 0)
			check(read(fds[n - 1].fd, &one, sizeof one) == sizeof one, "read");
	}
	return now() - start;
}

int main(int argc, char **argv)
{
	int64_t without;
	int64_t with;
	int calls;
	int churn;

	if (argc != 7)
		return 2;
	kind = argv[1];
	n = atoi(argv[2]);
	ready = atoi(argv[3]);
	churn = atoi(argv[4]);
	calls = atoi(argv[6]);
	open_all();
	if (strcmp(kind, "sleep") == 0)
		start_child();
	(void)run(churn, atoi(argv[5]), true);
	with = run(churn, calls, true);
	without = churn != 0 ? run(churn, calls, false) : 0;
	printf("%.1f %.1f\n", (double)with / calls, (double)without / calls);
	return 0;
}

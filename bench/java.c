/*
 * What bench/java.py puts beside the Java binding and in front of its servers.
 *
 *   java client PORT CONNECTIONS WRITES
 *
 * The load for the Java demo's servers: the demo's Client in C, so that no second
 * Java has to warm up on the same processors.  Opens a control connection and sends
 * "bytes\nconnections\n"; opens the data connections; writes ten bytes at a time to
 * one that chance picks; waits for ten bytes on the control connection.
 *
 *   java costs
 *
 * The calls of the demo's CallCosts, from C: what they cost beside them is what Java
 * adds.  A second thread sleeps meanwhile, since the kernel's work on descriptors is
 * dearer in a process that has several, as Java's always has.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <xpoll.h>

#define PIECE 10

static int fail(const char *what)
{
	perror(what);
	return 1;
}

static int open_connection(int port)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int yes = 1;

	memset(&address, 0, sizeof address);
	address.sin_family = AF_INET;
	address.sin_port = htons((unsigned short)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) < 0)
		return -1;
	return fd;
}

static int announce(int control, int connections, long writes)
{
	char text[64];
	int len = snprintf(text, sizeof text, "%ld\n%d\n", writes * PIECE,
	                   connections);

	return write(control, text, (size_t)len) == len ? 0 : -1;
}

/* The same sequence in every run. */
static unsigned next_random(void)
{
	static unsigned long long state = 5321;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33);
}

static int send_all(const int *fds, int connections, long writes)
{
	static const char piece[PIECE];

	for (long i = 0; i < writes; i++) {
		int fd = fds[next_random() % (unsigned)connections];

		if (write(fd, piece, PIECE) != PIECE)
			return -1;
	}
	return 0;
}

static int wait_for_answer(int control)
{
	char answer[PIECE];
	size_t have = 0;

	while (have < sizeof answer) {
		ssize_t n = read(control, answer + have, sizeof answer - have);

		if (n <= 0)
			return -1;
		have += (size_t)n;
	}
	return 0;
}

static int client(int port, int connections, long writes)
{
	int *fds = calloc((size_t)connections, sizeof *fds);
	int control = open_connection(port);

	if (!fds || control < 0 || announce(control, connections, writes) < 0)
		return fail("control connection");
	for (int i = 0; i < connections; i++) {
		fds[i] = open_connection(port);
		if (fds[i] < 0)
			return fail("connection");
	}
	if (send_all(fds, connections, writes) < 0)
		return fail("write");
	if (wait_for_answer(control) < 0)
		return fail("answer");
	free(fds);
	return 0;
}

/* --- costs ------------------------------------------------------------------- */

#define CALLS 200000
#define ROUNDS 7

static int silent[2];
static int ready[2];

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void look(struct xpoll *queue, int timeout)
{
	void *data;
	int n = xpoll_wait(queue, timeout);

	while (n-- > 0)
		xpoll_revents(queue, &data);
}

static void call_look(struct xpoll *queue)
{
	look(queue, 0);
}

static void call_wait(struct xpoll *queue)
{
	look(queue, -1);
}

static void call_toggle(struct xpoll *queue)
{
	xpoll_ctl(queue, XPOLL_DISABLE, POLLIN, silent[0], NULL);
	xpoll_ctl(queue, XPOLL_ENABLE, POLLIN, silent[0], NULL);
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void measure(const char *name, struct xpoll *queue,
                    void (*call)(struct xpoll *))
{
	double ns[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double start = cpu_ns();

		for (int i = 0; i < CALLS; i++)
			call(queue);
		ns[round] = (cpu_ns() - start) / CALLS;
	}
	qsort(ns, ROUNDS, sizeof ns[0], compare);
	printf("call=%s ns=%.1f least=%.1f\n", name, ns[ROUNDS / 2], ns[0]);
}

static void *sleeper(void *unused)
{
	pause();
	return unused;
}

static int costs(void)
{
	struct xpoll *queue = xpoll_create(4);
	pthread_t thread;

	if (queue == NULL || pipe(silent) < 0 || pipe(ready) < 0 ||
	    write(ready[1], "", 1) != 1 ||
	    pthread_create(&thread, NULL, sleeper, NULL) != 0 ||
	    xpoll_ctl(queue, XPOLL_ADD, POLLIN, silent[0], NULL) < 0)
		return fail("costs");
	measure("look_nothing", queue, call_look);
	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, ready[0], NULL) < 0)
		return 1;
	measure("look_ready", queue, call_look);
	measure("wait_ready", queue, call_wait);
	measure("disable_enable", queue, call_toggle);
	xpoll_destroy(queue);
	return 0;
}

int main(int argc, char **argv)
{
	int port = argc == 5 ? atoi(argv[2]) : 0;
	int connections = argc == 5 ? atoi(argv[3]) : 0;
	long writes = argc == 5 ? atol(argv[4]) : 0;

	if (argc == 2 && strcmp(argv[1], "costs") == 0)
		return costs();
	if (port > 0 && connections > 0 && writes > 0 && strcmp(argv[1], "client") == 0)
		return client(port, connections, writes);
	fprintf(stderr, "usage: xpoll_java costs | client PORT CONNECTIONS WRITES\n");
	return 2;
}

/*
 * The calls of the Java demo's CallCosts, from C: what they cost beside them is
 * what Java adds.  A second thread sleeps meanwhile, since the kernel's work on
 * descriptors is dearer in a process that has several, as Java's always has.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <xpoll.h>

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

int main(void)
{
	struct xpoll *queue = xpoll_create(4);
	pthread_t thread;

	if (queue == NULL || pipe(silent) < 0 || pipe(ready) < 0 ||
	    write(ready[1], "", 1) != 1 ||
	    pthread_create(&thread, NULL, sleeper, NULL) != 0 ||
	    xpoll_ctl(queue, XPOLL_ADD, POLLIN, silent[0], NULL) < 0) {
		perror("java_costs");
		return 1;
	}
	measure("look_nothing", queue, call_look);
	if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, ready[0], NULL) < 0)
		return 1;
	measure("look_ready", queue, call_look);
	measure("wait_ready", queue, call_wait);
	measure("disable_enable", queue, call_toggle);
	xpoll_destroy(queue);
	return 0;
}

/*
 * looptest, the test program of the original xpoll, with the original five
 * calls: xpoll_create, xpoll_ctl, xpoll_wait, xpoll_revents, xpoll_destroy.
 *
 *     looptest-original [PIPES [SECONDS [READS]]]
 *
 * One byte goes round PIPES pipes (8) for SECONDS (10), or until it was read
 * READS times (0: no limit).  `xpoll bench looptest` measures the same beside
 * hand-written programs.  The original counted iterations, two for each read,
 * as reads; this counts reads.
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <xpoll.h>

struct channel {
	int read_fd;
	int write_fd;
};

static volatile sig_atomic_t time_is_up;

static void on_alarm(int number)
{
	(void)number;
	time_is_up = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct channel *open_channels(struct xpoll *queue, int n)
{
	struct channel *channels = calloc((size_t)n, sizeof *channels);
	int fds[2];

	if (channels == NULL)
		die("calloc");
	for (struct channel *it = channels; it < channels + n; it++) {
		if (pipe(fds) < 0)
			die("pipe");
		it->read_fd = fds[0];
		it->write_fd = fds[1];
		if (xpoll_ctl(queue, XPOLL_ADD, POLLIN, it->read_fd, it) < 0 ||
		    xpoll_ctl(queue, XPOLL_ADD, POLLOUT, it->write_fd, it) < 0 ||
		    xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, it->write_fd, it) < 0)
			die("xpoll_ctl");
	}
	return channels;
}

/*
 * Serve a pipe that is ready.  If it is readable, read the byte and wait until the next pipe is
 * writable; if it is writable, write the byte.
 */
static int serve(struct xpoll *queue, int revents, struct channel *it,
                 const struct channel *next)
{
	char byte = 'x';

	if (revents & POLLIN) {
		if (read(it->read_fd, &byte, 1) != 1 ||
		    xpoll_ctl(queue, XPOLL_ENABLE, POLLOUT, next->write_fd, NULL) < 0)
			die("read");
		return 1;
	}
	if (xpoll_ctl(queue, XPOLL_DISABLE, POLLOUT, it->write_fd, NULL) < 0 ||
	    write(it->write_fd, &byte, 1) != 1)
		die("write");
	return 0;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The loop whose time is measured.  Returns the number of reads. */
static long run(struct xpoll *queue, struct channel *channels, int n, long limit_reads,
                long *iterations)
{
	long reads = 0;

	if (write(channels[0].write_fd, "x", 1) != 1)
		die("write");
	while (!time_is_up && (limit_reads == 0 || reads < limit_reads)) {
		void *data;
		int revents;

		if (xpoll_wait(queue, -1) < 0 && !time_is_up)
			die("xpoll_wait");
		while ((revents = xpoll_revents(queue, &data)) != 0) {
			struct channel *it = data;
			long place = it - channels + 1;

			reads += serve(queue, revents, it, &channels[place < n ? place : 0]);
			++*iterations;
		}
	}
	return reads;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 8;
	int limit_seconds = argc > 2 ? atoi(argv[2]) : 10;
	long limit_reads = argc > 3 ? atol(argv[3]) : 0;
	struct sigaction action = { .sa_handler = on_alarm }; /* no SA_RESTART */
	struct channel *channels;
	struct xpoll *queue;
	long iterations = 0;
	long reads;
	double start, seconds;

	if (n < 1 || n > 1000000 || limit_seconds < 1 || limit_reads < 0) {
		fprintf(stderr, "usage: looptest-original [PIPES [SECONDS [READS]]]\n");
		return 2;
	}
	queue = xpoll_create(2 * n);
	if (queue == NULL)
		die("xpoll_create");
	channels = open_channels(queue, n);
	sigaction(SIGALRM, &action, NULL);
	alarm((unsigned)limit_seconds);
	start = seconds_now();
	reads = run(queue, channels, n, limit_reads, &iterations);
	seconds = seconds_now() - start;
	printf("%12s mechanism\n", xpoll_backend(queue));
	printf("%12d connections\n", n);
	printf("%12.3f total run time\n", seconds);
	printf("%12ld total iterations\n", iterations);
	printf("%12ld total read operations\n", reads);
	printf("%12.2f reads/sec\n", (double)reads / seconds);
	xpoll_destroy(queue);
	free(channels);
	return 0;
}

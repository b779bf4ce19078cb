/*
 * Pipes, or pairs of sockets, by the thousand.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench.h"

static int pairs_prepare_fd(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

/* On failure whatever was opened is in *pair, for bench_pairs_close. */
static int pairs_open_one(enum bench_pair_kind kind, struct bench_pair *pair)
{
	int fds[2];
	int rc = kind == BENCH_SOCKETS ? socketpair(AF_UNIX, SOCK_STREAM, 0, fds) : pipe(fds);

	if (rc < 0)
		return -errno;
	*pair = (struct bench_pair){ fds[0], fds[1] };
	rc = pairs_prepare_fd(fds[0]);
	return rc < 0 ? rc : pairs_prepare_fd(fds[1]);
}

int bench_pairs_open(const struct bench_workload *workload, enum bench_pair_kind kind,
                     int len, struct bench_pairs *pairs)
{
	int rc = 0;

	pairs->len = 0;
	pairs->at = calloc((size_t)len, sizeof *pairs->at);
	if (pairs->at == NULL) {
		bench_complain(workload, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	while (pairs->len < len && rc == 0) {
		struct bench_pair *pair = &pairs->at[pairs->len++];

		*pair = (struct bench_pair){ -1, -1 };
		rc = pairs_open_one(kind, pair);
	}
	if (rc < 0) {
		bench_complain(workload, "cannot open %d of %d %s: %s", pairs->len, len,
		               workload->items, strerror(-rc));
		bench_pairs_close(pairs);
	}
	return rc;
}

void bench_pairs_close(struct bench_pairs *pairs)
{
	for (int i = 0; i < pairs->len; i++) {
		if (pairs->at[i].read_fd < 0)
			continue;
		close(pairs->at[i].read_fd);
		close(pairs->at[i].write_fd);
	}
	free(pairs->at);
	pairs->at = NULL;
	pairs->len = 0;
}

void bench_pairs_drain(const struct bench_pairs *pairs)
{
	char rest[16];

	for (int i = 0; i < pairs->len; i++)
		while (read(pairs->at[i].read_fd, rest, sizeof rest) > 0)
			; /* left over from the variant before */
}

int64_t bench_pairs_descriptors(int n)
{
	return 2 * (int64_t)n;
}

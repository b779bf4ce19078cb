/*
 * Pairs are connections over loopback, of either kind: no call waits for pipes.
 */
#include <string.h>

#include "bench.h"

static int pairs_failed(void)
{
	return -bench_nt_error(WSAGetLastError());
}

/* -errno, or 0 and where it listens. */
static int pairs_listen(SOCKET *listener, struct sockaddr_in *address)
{
	int len = sizeof *address;

	memset(address, 0, sizeof *address);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*listener = socket(AF_INET, SOCK_STREAM, 0);
	if (*listener == INVALID_SOCKET)
		return pairs_failed();
	if (bind(*listener, (struct sockaddr *)address, len) != 0 ||
	    getsockname(*listener, (struct sockaddr *)address, &len) != 0 ||
	    listen(*listener, 1) != 0) {
		int rc = pairs_failed();

		closesocket(*listener);
		return rc;
	}
	return 0;
}

/*
 * Neither end blocks, bytes go at once, and a connection that is closed leaves
 * nothing behind: there are not many numbers of ports.
 */
static int pairs_prepare(SOCKET end)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	u_long nonblocking = 1;
	int on = 1;

	if (ioctlsocket(end, (long)FIONBIO, &nonblocking) != 0 ||
	    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, (char *)&on, sizeof on) != 0 ||
	    setsockopt(end, SOL_SOCKET, SO_LINGER, (char *)&linger, sizeof linger) != 0)
		return pairs_failed();
	return 0;
}

/* On failure whatever was opened is in *pair, for bench_pairs_close. */
static int pairs_connect(SOCKET listener, const struct sockaddr_in *address,
                         struct bench_pair *pair)
{
	SOCKET writer = socket(AF_INET, SOCK_STREAM, 0);
	SOCKET reader;
	int rc;

	if (writer == INVALID_SOCKET)
		return pairs_failed();
	pair->write_fd = (int)writer;
	if (connect(writer, (const struct sockaddr *)address, sizeof *address) != 0)
		return pairs_failed();
	reader = accept(listener, NULL, NULL);
	if (reader == INVALID_SOCKET)
		return pairs_failed();
	pair->read_fd = (int)reader;
	rc = pairs_prepare(reader);
	return rc < 0 ? rc : pairs_prepare(writer);
}

static int pairs_fill(struct bench_pairs *pairs, int len)
{
	struct sockaddr_in address;
	SOCKET listener;
	int rc = pairs_listen(&listener, &address);

	if (rc < 0)
		return rc;
	while (pairs->len < len && rc == 0) {
		struct bench_pair *pair = &pairs->at[pairs->len++];

		*pair = (struct bench_pair){ -1, -1 };
		rc = pairs_connect(listener, &address, pair);
	}
	closesocket(listener);
	return rc;
}

int bench_pairs_open(enum bench_pair_kind kind, int len, struct bench_pairs *pairs)
{
	WSADATA data;

	(void)kind;
	pairs->at = calloc((size_t)len, sizeof *pairs->at);
	if (pairs->at == NULL)
		return -ENOMEM;
	if (WSAStartup(MAKEWORD(2, 2), &data) != 0)
		return -ENOSYS;
	return pairs_fill(pairs, len);
}

static void pairs_close_end(int fd)
{
	if (fd >= 0)
		closesocket((SOCKET)fd);
}

void bench_pairs_close(struct bench_pairs *pairs)
{
	for (int i = 0; i < pairs->len; i++) {
		pairs_close_end(pairs->at[i].read_fd);
		pairs_close_end(pairs->at[i].write_fd);
	}
	free(pairs->at);
	pairs->at = NULL;
	pairs->len = 0;
	WSACleanup();
}

void bench_pairs_drain(const struct bench_pairs *pairs)
{
	char rest[16];

	for (int i = 0; i < pairs->len; i++)
		while (recv((SOCKET)pairs->at[i].read_fd, rest, sizeof rest, 0) > 0)
			; /* left over from the variant before */
}

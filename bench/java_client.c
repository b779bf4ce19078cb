/*
 * The load for the Java demo's servers: the demo's Client in C, so that no
 * second Java has to warm up on the same processors.
 *
 *   java_client PORT CONNECTIONS WRITES
 *
 * Opens a control connection and sends "bytes\nconnections\n"; opens the data
 * connections; writes ten bytes at a time to one that chance picks; waits for
 * ten bytes on the control connection.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	int port = argc == 4 ? atoi(argv[1]) : 0;
	int connections = argc == 4 ? atoi(argv[2]) : 0;
	long writes = argc == 4 ? atol(argv[3]) : 0;
	int control;
	int *fds;

	if (port < 1 || connections < 1 || writes < 1) {
		fprintf(stderr, "usage: java_client PORT CONNECTIONS WRITES\n");
		return 2;
	}
	fds = calloc((size_t)connections, sizeof *fds);
	control = open_connection(port);
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

/* Input as choices, and the world. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASIDE 20 /* duplicates: from FUZZ_FIRST + FUZZ_FDS on */

static int world_aside;

uint8_t fuzz_byte(struct fuzz_input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

uint32_t fuzz_word(struct fuzz_input *input)
{
	uint32_t word = 0;

	for (int i = 0; i < 4; i++)
		word = word << 8 | fuzz_byte(input);
	return word;
}

unsigned fuzz_below(struct fuzz_input *input, unsigned limit)
{
	return fuzz_byte(input) % limit;
}

bool fuzz_more(const struct fuzz_input *input)
{
	return input->at < input->end;
}

const char *fuzz_backend(struct fuzz_input *input)
{
	static const char *const backends[] = {"epoll", "poll", "select"};

	return backends[fuzz_below(input, sizeof backends / sizeof *backends)];
}

void fuzz_wrong(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	(void)fflush(stderr);
	__builtin_trap();
}

static void world_put(int fd, int number)
{
	FUZZ_HOLDS(fd >= 0);
	FUZZ_HOLDS(dup3(fd, number, O_CLOEXEC) == number);
	(void)close(fd);
	(void)fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
}

static void world_put_pair(const int ends[2], int number)
{
	world_put(ends[0], number);
	world_put(ends[1], number + 1);
}

static int world_file(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, "text", 4) == 4)
		(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

void fuzz_world_open(void)
{
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	world_aside = 0;
	for (int i = 0; i < 4; i += 2) {
		FUZZ_HOLDS(pipe(ends) == 0);
		world_put_pair(ends, FUZZ_FIRST + i);
	}
	for (int i = 4; i < 10; i += 2) {
		static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_STREAM};

		FUZZ_HOLDS(socketpair(AF_UNIX, types[i / 2 - 2], 0, ends) == 0);
		world_put_pair(ends, FUZZ_FIRST + i);
	}
	world_put(eventfd(0, 0), FUZZ_FIRST + 10);
	world_put(world_file(), FUZZ_FIRST + 11);
}

void fuzz_world_close(void)
{
	for (int i = 0; i < FUZZ_FDS + ASIDE; i++)
		(void)close(FUZZ_FIRST + i);
}

int fuzz_fd(struct fuzz_input *input)
{
	return FUZZ_FIRST + (int)fuzz_below(input, FUZZ_FDS);
}

static void world_fill(int fd)
{
	static const char bytes[4096];

	for (int i = 0; i < 256; i++)
		if (write(fd, bytes, sizeof bytes) <= 0)
			return;
}

static void world_drain(int fd)
{
	char bytes[4096];

	for (int i = 0; i < 256; i++)
		if (read(fd, bytes, sizeof bytes) <= 0)
			return;
}

void fuzz_world_move(struct fuzz_input *input)
{
	unsigned what = fuzz_below(input, 8);
	int fd = fuzz_fd(input);
	uint64_t one = 1;
	char byte;

	switch (what) {
	case 0:
		world_drain(fd);
		break;
	case 1:
		if (!fuzz_is_file(fd))
			world_fill(fd);
		break;
	case 2:
		(void)shutdown(fd, (int)fuzz_below(input, 3));
		break;
	case 3:
	case 4:
		if (read(fd, &byte, 1) < 0)
			break;
		break;
	default: /* Eight bytes: what an eventfd wants. */
		if (write(fd, &one, sizeof one) < 0)
			break;
	}
}

int fuzz_world_replace(struct fuzz_input *input)
{
	unsigned what = fuzz_byte(input);
	int number = fuzz_fd(input);
	int other = fuzz_fd(input);

	if (what & 1 && world_aside < ASIDE)
		(void)dup2(number, FUZZ_FIRST + FUZZ_FDS + world_aside++);
	if (what & 2)
		(void)close(number);
	if (what & 4 && other != number)
		(void)dup2(other, number);
	return number;
}

/* Past the C library, which may have the drop-in in front of it. */
short fuzz_poll(int fd, int events)
{
	struct pollfd look = {.fd = fd, .events = (short)events};
	struct timespec now = {0};

	long rc;

	/* The fuzzer's own timer may interrupt it. */
	do
		rc = syscall(SYS_ppoll, &look, 1L, &now, NULL, 8L);
	while (rc < 0 && errno == EINTR);
	FUZZ_HOLDS(rc >= 0);
	return look.revents;
}

bool fuzz_is_file(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

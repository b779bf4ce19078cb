/*
 * looptest on select(2), written by hand, also beyond FD_SETSIZE: the kernel
 * takes bit sets of any length, only the type fd_set is short.  So the sets
 * are arrays of words, as long as the highest descriptor asks for.  The wanted
 * sets are copied before each call, and results are found a word at a time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "looptest.h"

#define WORD_BITS (8 * (int)sizeof(unsigned long))

struct select_state {
	const struct looptest *test;
	uint64_t syscalls;
	int nfds;
	size_t words;
	unsigned long *wanted; /* to read, then to write */
	unsigned long *ready;  /* likewise */
	struct bench_pair **owners;
};

static void bits_set(unsigned long *bits, int fd)
{
	bits[fd / WORD_BITS] |= 1ul << (fd % WORD_BITS);
}

static void bits_clear(unsigned long *bits, int fd)
{
	bits[fd / WORD_BITS] &= ~(1ul << (fd % WORD_BITS));
}

static void select_close(void *opened)
{
	struct select_state *state = opened;

	free(state->wanted);
	free(state->ready);
	free(state->owners);
	free(state);
}

static int select_allocate(struct select_state *state)
{
	state->nfds = state->test->fd_max + 1;
	state->words = (size_t)(state->nfds + WORD_BITS - 1) / WORD_BITS;
	/* Never shorter than an fd_set, for C libraries that look at all of it. */
	if (state->words < sizeof(fd_set) / sizeof(unsigned long))
		state->words = sizeof(fd_set) / sizeof(unsigned long);
	state->wanted = calloc(2 * state->words, sizeof *state->wanted);
	state->ready = calloc(2 * state->words, sizeof *state->ready);
	state->owners = calloc((size_t)state->nfds, sizeof *state->owners);
	if (state->wanted == NULL || state->ready == NULL || state->owners == NULL)
		return -ENOMEM;
	return 0;
}

static int select_open(void *setup, const struct bench_way *way, void **opened)
{
	struct select_state *state = calloc(1, sizeof *state);
	struct looptest *test = setup;
	int rc;

	(void)way;
	if (state == NULL)
		return -ENOMEM;
	state->test = test;
	rc = select_allocate(state);
	for (int i = 0; rc == 0 && i < test->n; i++) {
		state->owners[test->pipes[i].read_fd] = &test->pipes[i];
		state->owners[test->pipes[i].write_fd] = &test->pipes[i];
		bits_set(state->wanted, test->pipes[i].read_fd);
	}
	if (rc == 0)
		rc = looptest_start(test);
	if (rc < 0)
		select_close(state);
	else
		*opened = state;
	return rc;
}

static int select_readable(struct select_state *state, struct bench_pair *pipe)
{
	struct bench_pair *next = looptest_next(state->test, pipe);

	state->syscalls++;
	bits_set(state->wanted + state->words, next->write_fd);
	return looptest_take(pipe);
}

static int select_writable(struct select_state *state, struct bench_pair *pipe)
{
	state->syscalls++;
	bits_clear(state->wanted + state->words, pipe->write_fd);
	return bench_give(pipe);
}

/* Serve the descriptors of one word; how many reads that were, or -errno. */
static int select_serve_word(struct select_state *state, size_t word, int *left)
{
	bool to_read = word < state->words;
	int base = (int)(to_read ? word : word - state->words) * WORD_BITS;
	unsigned long bits = state->ready[word];
	int reads = 0;

	for (int i = 0; bits != 0; i++, bits >>= 1) {
		int rc;

		if ((bits & 1) == 0)
			continue;
		--*left;
		rc = to_read ? select_readable(state, state->owners[base + i])
		             : select_writable(state, state->owners[base + i]);
		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

static int select_serve(struct select_state *state, int ready)
{
	int reads = 0;

	for (size_t word = 0; ready > 0 && word < 2 * state->words; word++) {
		int rc;

		if (state->ready[word] == 0)
			continue;
		rc = select_serve_word(state, word, &ready);
		if (rc < 0)
			return rc;
		reads += rc;
	}
	return reads;
}

static int select_run(void *opened, uint64_t count)
{
	struct select_state *state = opened;
	size_t size = 2 * state->words * sizeof *state->ready;
	uint64_t reads = 0;

	while (reads < count) {
		int ready;
		int rc;

		memcpy(state->ready, state->wanted, size);
		ready = select(state->nfds, (fd_set *)state->ready,
		               (fd_set *)(state->ready + state->words), NULL, NULL);
		state->syscalls++;
		if (ready < 0 && !bench_goes_on(errno))
			return -errno;
		rc = select_serve(state, ready);
		if (rc < 0)
			return rc;
		reads += (uint64_t)rc;
	}
	return 0;
}

static uint64_t select_syscalls(const void *opened)
{
	return ((const struct select_state *)opened)->syscalls;
}

const struct bench_ops looptest_select_ops = {
	.open = select_open,
	.run = select_run,
	.syscalls = select_syscalls,
	.close = select_close,
};

/*
 * A loop on select(2), written by hand, also beyond FD_SETSIZE: the kernel takes
 * bit sets of any length, only the type fd_set is short.  So the sets are arrays
 * of words that grow with the highest descriptor; the wanted ones are copied
 * before each call, and results are found a word at a time.
 */
#include "loop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#define WORD_BITS (8 * (int)sizeof(unsigned long))

enum { SELECT_READ, SELECT_WRITE, SELECT_SETS };

struct select_loop {
	const struct loop_target *targets;
	int nfds; /* the highest descriptor so far and one */
	int room; /* descriptors that fit */
	unsigned long *wanted[SELECT_SETS];
	unsigned long *ready[SELECT_SETS];
	int *ids; /* by descriptor */
};

static void select_close(void *opened)
{
	struct select_loop *loop = opened;

	for (int i = 0; i < SELECT_SETS; i++) {
		free(loop->wanted[i]);
		free(loop->ready[i]);
	}
	free(loop->ids);
}

static int select_grow_words(unsigned long **words, int old, int room)
{
	unsigned long *grown = realloc(*words, (size_t)room / 8);

	if (grown == NULL)
		return -ENOMEM;
	memset(grown + old / WORD_BITS, 0, (size_t)(room - old) / 8);
	*words = grown;
	return 0;
}

/* Never shorter than an fd_set, for C libraries that look at all of it. */
static int select_grow(struct select_loop *loop, int fd)
{
	int room = loop->room;
	int rc = 0;
	int *ids;

	while (room <= fd || room < FD_SETSIZE)
		room += FD_SETSIZE;
	for (int i = 0; i < SELECT_SETS && rc == 0; i++) {
		rc = select_grow_words(&loop->wanted[i], loop->room, room);
		if (rc == 0)
			rc = select_grow_words(&loop->ready[i], loop->room, room);
	}
	ids = rc < 0 ? NULL : realloc(loop->ids, (size_t)room * sizeof *ids);
	if (ids == NULL)
		return -ENOMEM;
	loop->ids = ids;
	loop->room = room;
	return 0;
}

static int select_open(void *opened, const struct bench_field *field,
                       const struct bench_way *way)
{
	struct select_loop *loop = opened;

	(void)way;
	loop->targets = field->targets;
	return select_grow(loop, 0);
}

static void select_want(struct select_loop *loop, int set, int fd, bool wanted)
{
	unsigned long bit = 1ul << (fd % WORD_BITS);

	if (wanted)
		loop->wanted[set][fd / WORD_BITS] |= bit;
	else
		loop->wanted[set][fd / WORD_BITS] &= ~bit;
}

static int select_change(void *opened, enum loop_change change, const int *ids, int len)
{
	struct select_loop *loop = opened;
	bool wanted = change == LOOP_ADD || change == LOOP_ENABLE;

	for (int i = 0; i < len; i++) {
		const struct loop_target *target = &loop->targets[ids[i]];
		int fd = target->fd;

		if (fd >= loop->room && select_grow(loop, fd) < 0)
			return -ENOMEM;
		if (fd >= loop->nfds)
			loop->nfds = fd + 1;
		loop->ids[fd] = ids[i];
		if (target->events & POLLIN)
			select_want(loop, SELECT_READ, fd, wanted);
		if (target->events & POLLOUT)
			select_want(loop, SELECT_WRITE, fd, wanted);
		if (change == LOOP_CLOSE) {
			close(fd);
			bench_calls++;
		}
	}
	return 0;
}

static int select_take(const struct select_loop *loop, struct loop_hand *hand, int left)
{
	hand->len = 0;
	for (int set = 0; set < SELECT_SETS; set++) {
		for (int base = 0; left > 0 && base < loop->nfds; base += WORD_BITS) {
			unsigned long bits = loop->ready[set][base / WORD_BITS];

			for (; bits != 0; bits &= bits - 1, left--)
				loop_report(hand, loop->ids[base + __builtin_ctzl(bits)],
				            set == SELECT_READ ? POLLIN : POLLOUT);
		}
	}
	return hand->len;
}

static int select_wait(void *opened, struct loop_hand *hand, const int *enable,
                       int enable_len, bool block)
{
	struct select_loop *loop = opened;
	struct timeval now = { 0, 0 };
	size_t size;
	int count = select_change(loop, LOOP_ENABLE, enable, enable_len);

	if (count < 0)
		return count;
	size = (size_t)(loop->nfds + WORD_BITS - 1) / WORD_BITS * sizeof(unsigned long);
	for (int i = 0; i < SELECT_SETS; i++)
		memcpy(loop->ready[i], loop->wanted[i], size);
	count = select(loop->nfds, (fd_set *)(void *)loop->ready[SELECT_READ],
	               (fd_set *)(void *)loop->ready[SELECT_WRITE], NULL,
	               block ? NULL : &now);
	bench_calls++;
	if (count < 0)
		return bench_goes_on(errno) ? 0 : -errno;
	return select_take(loop, hand, count);
}

const struct loop_ops loop_select = {
	.size = sizeof(struct select_loop),
	.open = select_open,
	.change = select_change,
	.wait = select_wait,
	.close = select_close,
};

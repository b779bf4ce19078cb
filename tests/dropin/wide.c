/*
 * Goal: select(2) with more than FD_SETSIZE descriptors is served when the count is
 * rounded up, and returns what it always returns.
 * Method: bit sets of the size that perl's 4-argument select makes: whole bytes, or
 * whole words, up to the highest descriptor.
 */
#include "dropin.h"

enum {
	FIRST = 1040,
	PIPES = 40,
	WORDS = 32, /* of 64 bits */
};

struct wide {
	int readers[PIPES], writers[PIPES];
	unsigned char bits[8 * WORDS];
};

static void wide_open(struct wide *wide)
{
	for (int i = 0; i < PIPES; i++) {
		struct xt_pair pipe = xt_pipe();

		wide->readers[i] = FIRST + i;
		wide->writers[i] = pipe.w;
		XT_EQ(dup2(pipe.r, FIRST + i), FIRST + i);
		xt_close(pipe.r);
	}
}

/* Always from this place. */
static int wide_select(struct wide *wide, int count)
{
	struct timeval none = {0, 0};

	memset(wide->bits, 0, sizeof wide->bits);
	for (int i = 0; i < PIPES; i++)
		wide->bits[wide->readers[i] / 8] |= (unsigned char)(1 << wide->readers[i] % 8);
	return select(count, (fd_set *)(void *)wide->bits, NULL, NULL, &none);
}

static void close_all(struct wide *wide)
{
	for (int i = 0; i < PIPES; i++)
		close(wide->readers[i]);
}

uint64_t xpoll_poll_syscalls(void); /* of the calls that did not pass through */

static void is_served(int count)
{
	struct wide wide;
	uint64_t before;

	XT_FILES(FIRST + PIPES + 100);
	XT_CALL(wide_open(&wide));
	xt_put(wide.writers[7]);
	before = xpoll_poll_syscalls();
	for (int i = 0; i < 20; i++) {
		XT_EQ(wide_select(&wide, count), 1);
		for (int k = 0; k < 8 * WORDS * 8; k++)
			XT_EQ(wide.bits[k / 8] >> k % 8 & 1, k == FIRST + 7);
	}
	XT_CHECK(XT_TSAN || xpoll_poll_syscalls() > before);
	close_all(&wide);
}

/* 1080 is the highest number plus 1. */
XT_TEST(count_of_the_highest_number_is_served)
{
	is_served(FIRST + PIPES);
}

XT_TEST(count_of_whole_words_is_served)
{
	is_served((FIRST + PIPES + 63) / 64 * 64);
}

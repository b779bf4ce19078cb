/*
 * The poll(2) drop-in: arrays that change in any way over descriptors that
 * change in any way; its answer has to be the kernel's.
 */
#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 24
#define ARRAYS 3

static struct list {
	struct pollfd fds[ENTRIES];
	unsigned len;
} lists[ARRAYS];

/* Before the drop-in reads its settings: every array is taken up at once. */
__attribute__((constructor(101))) static void eager(void)
{
	(void)setenv("XPOLL_POLL_MIN", "1", 1);
	(void)setenv("XPOLL_POLL_AFTER", "0", 1);
	(void)setenv("XPOLL_POLL_RECHECK", "0", 1);
}

static short events_for(struct fuzz_input *input)
{
	static const short usual[] = {POLLIN, POLLOUT, POLLIN | POLLOUT, 0,
	                              POLLIN | POLLRDHUP, POLLPRI};
	unsigned what = fuzz_byte(input);

	if (what >= 250)
		return (short)fuzz_word(input);
	return usual[what % 6];
}

static int number_for(struct fuzz_input *input)
{
	unsigned what = fuzz_byte(input);

	if (what >= 250)
		return (int)what - 253;
	return FUZZ_FIRST + (int)(what % (FUZZ_FDS + 2));
}

static void change(struct fuzz_input *input, struct list *list)
{
	unsigned what = fuzz_below(input, 8);
	struct pollfd *entry;

	if (list->len == 0 || (what < 3 && list->len < ENTRIES)) {
		list->fds[list->len].fd = number_for(input);
		list->fds[list->len++].events = events_for(input);
		return;
	}
	entry = &list->fds[fuzz_below(input, list->len)];
	switch (what) {
	case 3:
		*entry = list->fds[--list->len];
		break;
	case 4:
		entry->fd = number_for(input);
		break;
	case 5:
		entry->revents = (short)fuzz_byte(input);
		break;
	case 6:
		list->len = fuzz_below(input, list->len + 1);
		break;
	default:
		entry->events = events_for(input);
	}
}

static void compare(struct list *list)
{
	struct pollfd kernel[ENTRIES];
	struct pollfd ours[ENTRIES];
	struct timespec now = {0};
	size_t size = list->len * sizeof *ours;
	int wanted;
	int rc;

	memcpy(kernel, list->fds, size);
	memcpy(ours, list->fds, size);
	rc = poll(list->fds, list->len, 0);
	/* The fuzzer's own timer may interrupt either, and they differ in that. */
	while (rc < 0 && errno == EINTR)
		rc = poll(list->fds, list->len, 0);
	do
		wanted = (int)syscall(SYS_ppoll, kernel, (long)list->len, &now, NULL, 8L);
	while (wanted < 0 && errno == EINTR);
	for (unsigned i = 0; rc != wanted && i < list->len; i++)
		fprintf(stderr, "entry %u: descriptor %d for 0x%x: 0x%x, not 0x%x\n", i,
		        ours[i].fd, (unsigned)ours[i].events,
		        (unsigned)list->fds[i].revents, (unsigned)kernel[i].revents);
	FUZZ_HOLDS(rc == wanted);
	for (unsigned i = 0; i < list->len; i++) {
		FUZZ_HOLDS(list->fds[i].fd == ours[i].fd);
		FUZZ_HOLDS(list->fds[i].events == ours[i].events);
		FUZZ_HOLDS(list->fds[i].revents == kernel[i].revents);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, data + size};

	memset(lists, 0, sizeof lists);
	fuzz_world_open();
	for (int steps = 0; fuzz_more(&input) && steps < 400; steps++) {
		unsigned what = fuzz_byte(&input);
		struct list *list = &lists[what / 8 % ARRAYS];

		switch (what % 8) {
		case 0:
		case 1:
		case 2:
			change(&input, list);
			break;
		case 3:
			if (what & 128)
				(void)fuzz_world_replace(&input);
			else
				compare(list);
			break;
		case 4:
			compare(list);
			break;
		default:
			fuzz_world_move(&input);
		}
	}
	for (int i = 0; i < ARRAYS; i++)
		compare(&lists[i]);
	fuzz_world_close();
	return 0;
}

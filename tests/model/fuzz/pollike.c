/*
 * The poll-like level: any xpoll_ctl in any order, batches taken in part.
 *
 * Checked at the end: waits return each descriptor with the bits that poll(2) reports of the
 * enabled directions, and no other descriptor.
 */
#include "fuzz.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xpoll.h>

#define WAITS 40 /* more than may be served without the kernel */

static struct xpoll *queue;

#define NO_BITS 0x10000 /* of present: it was registered for no bits */

/* The effect of the calls that succeeded. */
static struct model {
	int present; /* directions */
	int enabled;
	bool plain;    /* no CLEAR, ONESHOT, DISPATCH */
	bool doubtful; /* closed since */
} models[FUZZ_FDS];

/* The wishes of READ live and die together. */
static int whole(int events)
{
	return events & (POLLIN | POLLRDHUP) ? events | POLLIN | POLLRDHUP : events;
}

static void follow(struct model *model, int op, int events)
{
	if (op & XPOLL_ADD) {
		if (!model->present)
			*model = (struct model){.plain = true};
		model->present |= events;
		model->enabled |= events;
		if (op & XPOLL_DISABLE)
			model->enabled &= ~whole(events);
		else if (whole(events) & POLLIN)
			model->enabled |= model->present & (POLLIN | POLLRDHUP);
		if (op & (XPOLL_CLEAR | XPOLL_ONESHOT | XPOLL_DISPATCH))
			model->plain = false;
	} else if (op & XPOLL_ENABLE) {
		model->enabled |= whole(events) & model->present;
	} else if (op & XPOLL_DISABLE) {
		model->enabled &= ~whole(events);
	}
}

static void control(struct fuzz_input *input)
{
	static const int ops[] = {
		XPOLL_ADD, XPOLL_ADD, XPOLL_ADD | XPOLL_DISABLE, XPOLL_DELETE,
		XPOLL_ENABLE, XPOLL_DISABLE, XPOLL_ADD | XPOLL_CLEAR,
		XPOLL_ADD | XPOLL_ONESHOT, XPOLL_ADD | XPOLL_DISPATCH,
	};
	static const int events_of[] = {
		POLLIN, POLLOUT, POLLIN | POLLOUT, POLLIN | POLLRDHUP,
		POLLPRI, POLLIN | POLLPRI, POLLIN | POLLOUT | POLLPRI, 0,
	};
	unsigned what = fuzz_byte(input);
	int op = what == 255 ? (int)fuzz_word(input)
	                     : ops[what % (sizeof ops / sizeof *ops)];
	int events = events_of[fuzz_below(input, 8)];
	int fd = fuzz_fd(input);
	struct model *model = &models[fd - FUZZ_FIRST];
	int rc = xpoll_ctl(queue, op, events, fd, (void *)(intptr_t)fd);

	if (rc < 0) {
		/* The kernel frees inotify instances late, and allows few. */
		FUZZ_HOLDS(errno == EINVAL || errno == EBADF || errno == ENOENT ||
		           errno == ENOTSUP || errno == EMFILE);
		/* The call may have detected that the file was closed. */
		if (errno != EINVAL)
			model->doubtful = model->present != 0 || model->doubtful;
		return;
	}
	if (!events) {
		/* Hang-ups alone: not modelled, whatever becomes of the descriptor. */
		model->doubtful = true;
		model->present |= NO_BITS;
	} else if (op == XPOLL_DELETE) {
		model->present &= ~events;
		model->enabled &= ~events;
		if (events & POLLIN && model->present & POLLRDHUP)
			model->doubtful = true; /* Half of READ: not modelled. */
	} else {
		follow(model, op, events);
	}
}

static void take(struct fuzz_input *input)
{
	int most = (int)fuzz_below(input, 16);
	int left = xpoll_wait(queue, 0);
	void *data;

	FUZZ_HOLDS(left >= 0 && left <= 256);
	while (most-- > 0) {
		int revents = xpoll_revents(queue, &data);

		if (!revents)
			break;
		FUZZ_HOLDS(left-- > 0);
		FUZZ_HOLDS((intptr_t)data >= FUZZ_FIRST &&
		           (intptr_t)data < FUZZ_FIRST + FUZZ_FDS);
	}
}

static void replace(struct fuzz_input *input)
{
	struct model *model = &models[fuzz_world_replace(input) - FUZZ_FIRST];

	model->doubtful = model->present != 0 || model->doubtful;
}

static void compare(void)
{
	int found[FUZZ_FDS] = {0};
	int revents;
	void *data;

	/* Take the rest of a batch, and edges and one-shot events, which come once. */
	for (int i = 0; i < 4; i++) {
		FUZZ_HOLDS(xpoll_wait(queue, 0) >= 0);
		while (xpoll_revents(queue, &data))
			continue;
	}
	/* While the queue has candidates, it calls the kernel only in some waits. */
	for (int i = 0; i < WAITS; i++) {
		FUZZ_HOLDS(xpoll_wait(queue, 0) >= 0);
		while ((revents = xpoll_revents(queue, &data)))
			found[(intptr_t)data - FUZZ_FIRST] |= revents;
	}
	for (int i = 0; i < FUZZ_FDS; i++) {
		const struct model *model = &models[i];
		int expected;

		if (model->doubtful || !model->plain)
			continue;
		expected = !model->enabled
		               ? 0
		               : fuzz_poll(FUZZ_FIRST + i, model->enabled);
		if (expected & POLLNVAL || found[i] == expected)
			continue;
		fprintf(stderr, "%s: descriptor %d, enabled 0x%x: 0x%x, not 0x%x\n",
		        xpoll_backend(queue), FUZZ_FIRST + i,
		        (unsigned)model->enabled, (unsigned)found[i],
		        (unsigned)expected);
		FUZZ_HOLDS(found[i] == expected);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, data + size};
	struct xpoll_options options = {.size = sizeof options};

	memset(models, 0, sizeof models);
	options.backend = fuzz_backend(&input);
	fuzz_world_open();
	queue = xpoll_open(&options);
	FUZZ_HOLDS(queue);
	for (int steps = 0; fuzz_more(&input) && steps < 200; steps++) {
		switch (fuzz_below(&input, 8)) {
		case 0:
		case 1:
		case 2:
			control(&input);
			break;
		case 3:
			take(&input);
			break;
		case 4:
			if (fuzz_below(&input, 4) == 0)
				replace(&input);
			break;
		default:
			fuzz_world_move(&input);
		}
	}
	compare();
	xpoll_destroy(queue);
	fuzz_world_close();
	return 0;
}

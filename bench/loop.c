/* Functions that all loops share: opening, closing, and counting system calls. */
#include "loop.h"

#include <stdlib.h>

#define BATCH 64

_Thread_local uint64_t bench_calls;

int loop_hand_open(struct loop_hand *hand, const struct loop_ops *ops, int cap)
{
	hand->cap = cap;
	hand->ready = calloc((size_t)cap, sizeof *hand->ready);
	hand->records = calloc((size_t)cap, ops->record_size > 0 ? ops->record_size : 1);
	return hand->ready != NULL && hand->records != NULL ? 0 : -ENOMEM;
}

void loop_hand_close(struct loop_hand *hand)
{
	free(hand->ready);
	free(hand->records);
	*hand = (struct loop_hand){ 0 };
}

int loop_open(struct loop *loop, const struct bench_way *way, const struct bench_field *field,
              int cap)
{
	int rc;

	loop->ops = way->loop;
	rc = loop_hand_open(&loop->hand, loop->ops, cap);
	if (rc < 0)
		return rc;
	loop->state = calloc(1, loop->ops->size);
	if (loop->state == NULL)
		return -ENOMEM;
	return loop->ops->open != NULL ? loop->ops->open(loop->state, field, way) : 0;
}

void loop_close(struct loop *loop)
{
	if (loop->state != NULL && loop->ops->close != NULL)
		loop->ops->close(loop->state);
	free(loop->state);
	loop_hand_close(&loop->hand);
	*loop = (struct loop){ 0 };
}

int loop_change_all(struct loop *loop, enum loop_change change, int len)
{
	int ids[BATCH];
	int rc = 0;

	for (int done = 0; done < len && rc >= 0;) {
		int count = 0;

		while (count < BATCH && done < len)
			ids[count++] = done++;
		rc = loop_change(loop, change, ids, count);
	}
	return rc < 0 ? rc : 0;
}

_Thread_local struct loop_called *loop_running;

void loop_called_init(struct loop_called *loop, const struct bench_field *field,
                      const struct bench_way *way)
{
	loop->ops = way->loop;
	loop->targets = field->targets;
	loop->dispatch = (way->workload->loops & LOOP_DISPATCH) != 0;
}

int loop_wait_called(void *opened, struct loop_hand *hand, bool block)
{
	struct loop_called *loop = opened;
	int rc;

	loop->hand = hand;
	hand->len = 0;
	loop_running = loop;
	rc = loop->ops->turn(opened, block);
	if (rc < 0)
		return rc;
	return hand->len > 0 || bench_goes_on(EINTR) ? hand->len : -EINTR;
}

uint64_t loop_syscalls(const struct loop *loop)
{
	uint64_t own = 0;

	if (loop->ops == NULL) /* the loop is not open */
		return bench_calls;
	if (loop->ops->uncounted)
		return BENCH_UNKNOWN;
	if (loop->ops->syscalls != NULL)
		own = loop->ops->syscalls(loop->state);
	return own == BENCH_UNKNOWN ? own : bench_calls + own;
}

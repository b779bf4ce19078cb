/*
 * What all loops share.
 */
#include "loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 64

_Thread_local uint64_t bench_calls;

int bench_take_given(const struct bench_pair *pair)
{
	int rc;

	do
		rc = bench_take(pair);
	while (rc == -EAGAIN && bench_interrupted() == 0 && !bench_stalled());
	return rc;
}

int loop_field_open(struct loop_field *field, const struct bench_workload *workload, int n)
{
	int rc = bench_pairs_open(workload->kind, n, &field->pairs);

	field->targets = calloc((size_t)n, sizeof *field->targets);
	if (rc == 0 && field->targets == NULL)
		rc = -ENOMEM;
	for (int i = 0; i < n && rc == 0; i++)
		field->targets[i] =
			(struct loop_target){ field->pairs.at[i].read_fd,
			                      POLLIN | workload->events };
	return rc;
}

void loop_field_close(void *opened)
{
	struct loop_field *field = opened;

	bench_pairs_close(&field->pairs);
	free(field->targets);
}

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
	hand->ready = NULL;
	hand->records = NULL;
}

int loop_open(struct loop *loop, const struct bench_way *way, struct loop_setup *setup,
              int cap)
{
	int rc;

	setup->backend = way->backend;
	setup->uses = way->workload->loops;
	loop->ops = way->loop;
	rc = loop_hand_open(&loop->hand, loop->ops, cap);
	if (rc < 0)
		return rc;
	loop->state = calloc(1, loop->ops->size);
	return loop->state == NULL ? -ENOMEM : loop->ops->open(loop->state, setup);
}

int loop_open_on(struct loop *loop, const struct bench_way *way,
                 const struct loop_field *field, int cap)
{
	struct loop_setup setup = {
		.targets = field->targets,
		.len = field->pairs.len,
		.mode = way->workload->loops & LOOP_MODES,
	};

	bench_pairs_drain(&field->pairs);
	return loop_open(loop, way, &setup, cap);
}

void loop_close(void *opened)
{
	struct loop *loop = opened;

	if (loop->state != NULL)
		loop->ops->close(loop->state);
	free(loop->state);
	loop_hand_close(&loop->hand);
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

void loop_called_init(struct loop_called *loop, const struct loop_ops *ops,
                      const struct loop_setup *setup)
{
	loop->ops = ops;
	loop->targets = setup->targets;
	loop->dispatch = setup->mode == LOOP_DISPATCH;
}

int loop_wait_called(void *opened, struct loop_hand *hand, const int *enable, int enable_len,
                     bool block)
{
	struct loop_called *loop = opened;
	int rc = loop->ops->change(opened, LOOP_ENABLE, enable, enable_len);

	loop->hand = hand;
	hand->len = 0;
	loop_running = loop;
	if (rc >= 0)
		rc = loop->ops->turn(opened, block);
	if (rc < 0)
		return rc;
	return hand->len > 0 || bench_goes_on(EINTR) ? hand->len : -EINTR;
}

uint64_t loop_syscalls(const void *opened)
{
	const struct loop *loop = opened;
	uint64_t own = 0;

	if (loop->ops == NULL) /* not open */
		return bench_calls;
	if (loop->ops->uncounted)
		return BENCH_UNKNOWN;
	if (loop->ops->syscalls != NULL && loop->state != NULL)
		own = loop->ops->syscalls(loop->state);
	return own == BENCH_UNKNOWN ? own : bench_calls + own;
}

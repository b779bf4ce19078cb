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

int loop_field_open(const struct bench_workload *workload, enum bench_pair_kind kind,
                    short events, int n, void **setup)
{
	struct loop_field *field = calloc(1, sizeof *field);
	int rc;

	if (field != NULL)
		field->targets = calloc((size_t)n, sizeof *field->targets);
	if (field == NULL || field->targets == NULL) {
		free(field);
		bench_complain(workload, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = bench_pairs_open(workload, kind, n, &field->pairs);
	if (rc < 0) {
		free(field->targets);
		free(field);
		return rc;
	}
	for (int i = 0; i < n; i++)
		field->targets[i] =
			(struct loop_target){ field->pairs.at[i].read_fd, events };
	*setup = field;
	return 0;
}

void loop_field_close(void *setup)
{
	struct loop_field *field = setup;

	bench_pairs_close(&field->pairs);
	free(field->targets);
	free(field);
}

int loop_hand_open(struct loop_hand *hand, const struct loop_ops *ops, int cap)
{
	hand->cap = cap;
	hand->ready = calloc((size_t)cap, sizeof *hand->ready);
	hand->records = calloc((size_t)cap, ops->record_size > 0 ? ops->record_size : 1);
	if (hand->ready != NULL && hand->records != NULL)
		return 0;
	loop_hand_close(hand);
	return -ENOMEM;
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
	loop->ops = way->loop;
	rc = loop_hand_open(&loop->hand, loop->ops, cap);
	if (rc < 0)
		return rc;
	rc = loop->ops->open(setup, &loop->state);
	if (rc < 0)
		loop_hand_close(&loop->hand);
	return rc;
}

int loop_open_on(struct loop *loop, const struct bench_way *way,
                 const struct loop_field *field, unsigned mode, int cap)
{
	struct loop_setup setup;

	memset(&setup, 0, sizeof setup);
	setup.targets = field->targets;
	setup.len = field->pairs.len;
	setup.mode = mode;
	bench_pairs_drain(&field->pairs);
	return loop_open(loop, way, &setup, cap);
}

void loop_close(struct loop *loop)
{
	loop->ops->close(loop->state);
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

uint64_t loop_syscalls(const struct loop *loop)
{
	uint64_t inside = loop->ops->syscalls == NULL ? 0 : loop->ops->syscalls(loop->state);

	return inside == BENCH_UNKNOWN ? BENCH_UNKNOWN : bench_calls + inside;
}

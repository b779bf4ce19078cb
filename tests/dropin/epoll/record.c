/*
 * Goal: record the results of Linux's epoll(7) for a random program, to be
 * compared by random.c.
 * Method: the program is linked with the C library alone.  It writes
 * XPOLL_EPOLL_STEPS steps, chosen from the seed XT_SEED, to the file
 * XPOLL_EPOLL_RECORD.  With XPOLL_EPOLL_EDGES=0 no step uses EPOLLET.
 */
#include "program.h"

static void record(FILE *file, const struct step *step)
{
	struct answer answer = {.error = "0"};

	if (step->op == MAKE)
		state.slots[step->index].kind = (enum kind)step->value;
	pairs_count(step, &answer);
	perform(step, &answer);
	program_note(step, &answer);
	recording_write(file, step, &answer);
	state.step++;
}

XT_TEST(linux_is_recorded)
{
	const char *path = getenv("XPOLL_EPOLL_RECORD"), *text = getenv("XPOLL_EPOLL_STEPS");
	int steps = text ? atoi(text) : 4000;
	uint64_t random = xt_seed();
	struct step step;
	FILE *file;

	if (!path)
		XT_SKIP("XPOLL_EPOLL_RECORD names no file");
	xt_watchdog(600);
	file = fopen(path, "w");
	XT_CHECK(file);
	perform_begin();
	for (int i = 0; i < SLOTS; i++) {
		draw_make(&step, i, &random);
		record(file, &step);
	}
	while (state.step < steps && !xt_failures()) {
		draw(&step, &random);
		record(file, &step);
		if (step.op != CLOSE)
			continue;
		draw_make(&step, step.index, &random);
		record(file, &step);
	}
	perform_end();
	XT_EQ(fclose(file), 0);
}

/*
 * The workloads that are the program of serve.h.
 */
#include "serve.h"

/* --- active ---------------------------------------------------------------- */

static const struct serve_plan active_plan = {
	BENCH_PIPES, POLLIN, LOOP_LEVEL, { 1, 16, 256 }
};

static const char *const active_phases[] = { "k=1", "k=16", "k=256", NULL };

static int active_open(const struct bench_options *options, void **setup)
{
	return serve_open_setup(&bench_active, &active_plan, options->n, setup);
}

const struct bench_workload bench_active = {
	.name = "active",
	.summary = "k of n descriptors are ready; nothing is ever changed",
	.help =
		"N pipes are registered for reading, and nothing is changed.  In a round k of\n"
		"them get a byte; the program waits and reads until it has read them all.\n"
		LOOP_HELP PROGRAM_HELP
		"limit        the writes and reads alone\n",
	.unit = "read",
	.items = "pipes",
	.n_default = 1000,
	.n_max = 10000000,
	.phases = active_phases,
	.references = LOOP_REFERENCES,
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = active_open,
	.close = serve_close_setup,
	.queue = &serve_ops,
	.programs = active_plan.active,
	.programs_len = 3,
	.loops = LOOP_LEVEL,
	.limit = &serve_limit,
};

/* --- idle ------------------------------------------------------------------ */

static const struct serve_plan idle_plan = {
	BENCH_PIPES, POLLIN, LOOP_LEVEL, { SERVE_IDLE_ACTIVE }
};

static int idle_open(const struct bench_options *options, void **setup)
{
	return serve_open_setup(&bench_idle, &idle_plan, options->n, setup);
}

const struct bench_workload bench_idle = {
	.name = "idle",
	.summary = "10 active descriptors among n that are idle",
	.help =
		"As active, with 10 active pipes among N: what do the idle ones cost?\n"
		LOOP_HELP PROGRAM_HELP
		"limit        the writes and reads alone\n",
	.unit = "read",
	.items = "pipes",
	.n_default = 9000,
	.n_max = 10000000,
	.references = LOOP_REFERENCES,
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = idle_open,
	.close = serve_close_setup,
	.queue = &serve_ops,
	.programs = idle_plan.active,
	.programs_len = 1,
	.loops = LOOP_LEVEL,
	.limit = &serve_limit,
};

/* --- edge ------------------------------------------------------------------ */

static const struct serve_plan edge_plan = {
	BENCH_SOCKETS, POLLIN | POLLOUT, LOOP_EDGE, { 1, 16, 256 }
};

static const char *const edge_phases[] = { "k=1", "k=16", "k=256", NULL };

static int edge_open(const struct bench_options *options, void **setup)
{
	return serve_open_setup(&bench_edge, &edge_plan, options->n, setup);
}

const struct bench_workload bench_edge = {
	.name = "edge",
	.summary = "edge-triggered in both directions; nothing is changed",
	.help =
		"As active, on socket pairs that are registered edge-triggered, for reading and\n"
		"writing.\n"
		LOOP_HELP
		"limit        the writes and reads alone\n",
	.unit = "read",
	.items = "sockets",
	.n_default = 1000,
	.n_max = 10000000,
	.phases = edge_phases,
	.references = { "raw-epoll", "limit" },
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = edge_open,
	.close = serve_close_setup,
	.queue = &serve_ops,
	.loops = LOOP_EDGE,
	.limit = &serve_limit,
};

/* --- dispatch -------------------------------------------------------------- */

static const struct serve_plan dispatch_plan = {
	BENCH_PIPES, POLLIN, LOOP_DISPATCH, { 1, 16, 256 }
};

static const char *const dispatch_phases[] = { "k=1", "k=16", "k=256", NULL };

static int dispatch_open(const struct bench_options *options, void **setup)
{
	return serve_open_setup(&bench_dispatch, &dispatch_plan, options->n, setup);
}

const struct bench_workload bench_dispatch = {
	.name = "dispatch",
	.summary = "an event disables itself, and is enabled when it is done",
	.help =
		"As active, but an event disables its descriptor (XPOLL_DISPATCH, EPOLLONESHOT),\n"
		"as with a pool of threads; those that were read are enabled with the next wait.\n"
		LOOP_HELP
		"limit        the writes and reads alone\n",
	.unit = "read",
	.items = "pipes",
	.n_default = 1000,
	.n_max = 10000000,
	.phases = dispatch_phases,
	.references = LOOP_REFERENCES,
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = dispatch_open,
	.close = serve_close_setup,
	.queue = &serve_ops,
	.loops = LOOP_DISPATCH,
	.limit = &serve_limit,
};

/*
 * drop-in: its setup is that of serve.h, with ten active pipes.
 */
#include "dropin.h"

static const struct serve_plan dropin_plan = {
	BENCH_PIPES, POLLIN, LOOP_LEVEL, { SERVE_IDLE_ACTIVE }
};

static int dropin_open(const struct bench_options *options, void **setup)
{
	int rc = -ENOENT;

	if (options->library == NULL)
		bench_complain(&bench_dropin, "cannot find libxpoll-poll.so");
	else
		rc = serve_open_setup(&bench_dropin, &dropin_plan, options->n, setup);
	if (rc == 0)
		((struct serve *)*setup)->library = options->library;
	return rc;
}

static const struct bench_variant dropin_peers[] = {
	{ "ideal", &dropin_ideal_ops, NULL, NULL },
	{ "raw-poll", &dropin_real_ops, NULL, NULL },
	{ "raw-epoll", &serve_ops, NULL, &loop_epoll },
	{ 0 },
};

static const char dropin_help[] =
	"In a round 10 of N pipes get a byte; a program waits and reads them.  It is\n"
	"written for poll(2) and goes through its whole array each time.\n"
	"\n"
	"drop-in     that program with libxpoll-poll.so in front of the C library\n"
	"ideal       that program with a drop-in that would cost nothing: it learns by\n"
	"            epoll(7), and goes through its array nonetheless\n"
	"raw-poll    that program as it is\n"
	"raw-epoll   the same work, written for epoll(7)\n"
	"limit       the writes and reads alone\n"
	"\n"
	"Below 32 pipes the drop-in passes every call through.\n";

const struct bench_workload bench_dropin = {
	.name = "drop-in",
	.summary = "poll(2) programs with 10 active descriptors among n",
	.help = dropin_help,
	.unit = "read",
	.items = "pipes",
	.n_default = 5000,
	.n_max = 500000,
	.references = { "raw-poll", "raw-epoll", "ideal", "limit" },
	.by_processor = true,
	.descriptors = bench_pairs_descriptors,
	.open = dropin_open,
	.close = serve_close_setup,
	.queue = &dropin_poll_ops,
	.queue_name = "drop-in",
	.peers = dropin_peers,
	.limit = &serve_limit,
};

/*
 * xpoll bench: options for the measurements in bench/.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "tool.h"

static int bench_list(const struct bench_workload *const *workloads)
{
	printf("usage: xpoll bench WORKLOAD [OPTION]...\n\n"
	       "Compare xpoll with programs written by hand on the kernel's own calls, and\n"
	       "with other libraries.  All of them take turns in one process.\n"
	       "'xpoll bench WORKLOAD --help' describes a workload and its options.\n\n"
	       "workloads:\n");
	for (; *workloads != NULL; workloads++)
		printf("  %-13s  %s\n", (*workloads)->name, (*workloads)->summary);
	return TOOL_OK;
}

/* Parse the options of a workload and store them in `options`.  Returns like tool_parse. */
static int bench_parse(const struct bench_workload *workload, int argc, char **argv,
                       struct bench_options *options)
{
	/* in the order of enum bench_peers */
	static const char *const peers[] = { "none", "raw", "all", NULL };
	int with_peers = BENCH_PEERS_ALL;
	char name[64];
	const struct tool_option table[] = {
		{ "-n", "N", workload->items, TOOL_COUNT, 1,
		  workload->n_max > 0 ? workload->n_max : BENCH_N_MAX, NULL, &options->n },
		{ "-t", "SECONDS", "time for each variant, over all rounds", TOOL_SECONDS,
		  0.001, 86400, NULL, &options->seconds },
		{ "--operations", "N", "in each round, in place of a time", TOOL_COUNT, 1,
		  BENCH_N_MAX, NULL, &options->operations },
		{ "--pin", "CPU", "run on this processor only (default: any)", TOOL_COUNT,
		  0, 1023, NULL, &options->cpu },
		{ "--rounds", "R", "rounds, of which the median is printed", TOOL_COUNT, 1,
		  BENCH_ROUNDS_MAX, NULL, &options->rounds },
		{ "--backend", "LIST", "back ends, separated by commas (default: all)",
		  TOOL_TEXT, 0, 0, NULL, &options->backends },
		{ "--peers", "WHICH", "none, raw (by hand) or all (with libraries)",
		  TOOL_CHOICE, 0, 0, peers, &with_peers },
		{ "--json", "FILE", "also write JSON to FILE; -: only JSON, to stdout",
		  TOOL_TEXT, 0, 0, NULL, &options->json },
		{ 0 },
	};
	struct tool_usage usage = {
		.name = name,
		.synopsis = "[OPTION]...",
		.text = workload->help,
		.options = table,
	};
	int result;

	snprintf(name, sizeof name, "xpoll bench %s", workload->name);
	result = tool_parse(&usage, argc, argv);
	options->peers = (enum bench_peers)with_peers;
	return result;
}

static int bench_start(const struct bench_workload *workload, int argc, char **argv)
{
	struct bench_options options = {
		.n = workload->n_default,
		.seconds = 5,
		.rounds = workload->rounds_default > 0 ? workload->rounds_default : 25,
		.cpu = -1,
		.library = tool_find_library("libxpoll-poll.so"),
	};
	int result = bench_parse(workload, argc, argv, &options);

	return result == TOOL_GO_ON ? bench_run(workload, &options) : result;
}

static int cmd_bench(int argc, char **argv)
{
	static const struct tool_usage usage = { .name = "xpoll bench" };
	const char *name = argc > 1 ? argv[1] : NULL;

	if (name == NULL)
		return tool_complain(&usage, "expected a workload");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return bench_list(bench_workloads);
	if (strcmp(name, "--version") == 0) {
		tool_print_version();
		return TOOL_OK;
	}
	for (int i = 0; bench_workloads[i] != NULL; i++)
		if (strcmp(bench_workloads[i]->name, name) == 0)
			return bench_start(bench_workloads[i], argc - 1, argv + 1);
	return tool_complain(&usage, "%s: no such %s", name,
	                     name[0] == '-' ? "option" : "workload");
}

const struct tool_command tool_bench = {
	.name = "bench",
	.summary = "compare the speed with the kernel's own calls",
	.run = cmd_bench,
};

/*
 * Rivals that are not looked for here: other libraries and programs.
 */
#include "bench.h"
#include "peer_process.h"

const struct bench_ops process_ops;

bool process_find(const char *name)
{
	(void)name;
	return false;
}

void process_end_all(void)
{
}

bool bench_library_load(struct bench_library *library)
{
	(void)library;
	return false;
}

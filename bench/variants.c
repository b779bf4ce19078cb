/*
 * Which variants to measure: xpoll on the back ends asked for, in that order,
 * then the peers, then the limit.
 */
#include <stdlib.h>
#include <string.h>

#include "loop.h"

#define BACKENDS_MAX 16

/* The back end that a program gets which does not name one; NULL: none. */
static const char *variants_default_backend(void)
{
	static char name[32];
	struct xpoll *queue = xpoll_open(NULL);

	if (queue == NULL)
		return NULL;
	snprintf(name, sizeof name, "%s", xpoll_backend(queue));
	xpoll_destroy(queue);
	return name;
}

/* A result for each phase. */
static void variants_add(struct bench_report *report, const char *prefix, const char *name,
                         const struct bench_ops *ops, struct bench_way way, bool is_default)
{
	const char *const *phases = report->workload->phases;

	if (report->results_len == BENCH_VARIANTS_MAX * report->phases_len)
		return;
	way.workload = report->workload;
	way.options = report->options;
	for (int i = 0; i < report->phases_len; i++) {
		struct bench_result *result = &report->results[report->results_len++];

		snprintf(result->variant, sizeof result->variant, "%s%s", prefix, name);
		result->phase = phases != NULL ? phases[i] : NULL;
		result->way = way;
		result->ops = ops != NULL ? ops : &report->workload->ops;
		result->is_default = is_default;
	}
}

static void variants_miss(struct bench_report *report, const char *variant,
                          const struct bench_library *library)
{
	report->missing[report->missing_len].variant = variant;
	report->missing[report->missing_len++].library = library;
}

static void variants_add_backend(struct bench_report *report, const char *backend,
                                 const char *chosen)
{
	struct bench_way way = { .backend = backend, .loop = &loop_queue };

	for (int i = 0; i < report->results_len; i++)
		if (strcmp(report->results[i].way.backend, backend) == 0)
			return; /* named twice: measured once */
	if (report->workload->loops & LOOP_NESTS && !queue_nests(backend))
		variants_miss(report, backend, NULL);
	else
		variants_add(report, "xpoll-", backend, NULL, way,
		             chosen != NULL && strcmp(chosen, backend) == 0);
}

/* The back end of this name of len bytes; NULL and a message if it is not usable here. */
static const char *variants_find_backend(const struct bench_report *report,
                                         const char *name, size_t len)
{
	const char *names[BACKENDS_MAX];
	char list[256] = "";
	size_t used = 0;
	int count = xpoll_backends(names, BACKENDS_MAX);

	for (int i = 0; i < count && i < BACKENDS_MAX; i++) {
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return names[i];
		if (used < sizeof list)
			used += (size_t)snprintf(list + used, sizeof list - used,
			                         "%s%s", i > 0 ? ", " : "", names[i]);
	}
	bench_complain(report->workload,
	               "--backend %s: no back end \"%.*s\"; usable here: %s",
	               report->options->backends, (int)len, name, list);
	return NULL;
}

/* Those that are asked for; an exit code. */
static int variants_add_backends(struct bench_report *report, const char *chosen)
{
	const char *at = report->options->backends;
	const char *names[BACKENDS_MAX];
	int count = at != NULL ? 0 : xpoll_backends(names, BACKENDS_MAX);

	for (int i = 0; i < count && i < BACKENDS_MAX; i++)
		variants_add_backend(report, names[i], chosen);
	while (at != NULL) {
		size_t len = strcspn(at, ",");
		const char *backend = variants_find_backend(report, at, len);

		if (backend == NULL)
			return 2;
		variants_add_backend(report, backend, chosen);
		at = at[len] == '\0' ? NULL : at + len + 1;
	}
	return 0;
}

static void variants_add_programs(struct bench_report *report)
{
	static const char *const programs[] = { "xpoll-rust", "mio", "polling", NULL };

	if (report->options->peers < BENCH_PEERS_ALL || !report->workload->programs)
		return;
	for (int i = 0; programs[i] != NULL; i++) {
		struct bench_way way = { .program = programs[i] };

		if (program_find(programs[i]))
			variants_add(report, "", programs[i], &program_ops, way, false);
		else
			variants_miss(report, programs[i], NULL);
	}
}

static void variants_add_peer(struct bench_report *report, const struct bench_variant *peer)
{
	enum bench_peers needed = peer == report->workload->limit ? BENCH_PEERS_NONE
	                          : peer->library != NULL         ? BENCH_PEERS_ALL
	                                                          : BENCH_PEERS_RAW;
	struct bench_way way = { .loop = peer->loop };

	if (report->options->peers < needed)
		return;
	if ((peer->library != NULL && !bench_library_load(peer->library)) ||
	    (peer->usable != NULL && !peer->usable()))
		variants_miss(report, peer->name, peer->library);
	else
		variants_add(report, "", peer->name, peer->ops, way, false);
}

/* All that are no back end of xpoll. */
static void variants_add_peers(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	const struct bench_variant *peer = workload->peers;

	for (const struct loop_kind *kind = loop_kinds; kind->variant.name != NULL; kind++)
		if (workload->loops != 0 && (workload->loops & ~kind->abilities) == 0)
			variants_add_peer(report, &kind->variant);
	for (; peer != NULL && peer->name != NULL; peer++)
		variants_add_peer(report, peer);
	variants_add_programs(report);
	if (workload->limit != NULL)
		variants_add_peer(report, workload->limit);
}

int bench_select_variants(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	const char *chosen = variants_default_backend();
	const char *from_environment = getenv("XPOLL_BACKEND");

	report->phases_len = 1;
	while (workload->phases != NULL && workload->phases[report->phases_len] != NULL)
		report->phases_len++;
	if (chosen == NULL && from_environment != NULL && errno == ENOTSUP) {
		bench_complain(workload, "XPOLL_BACKEND: no usable back end \"%s\"",
		               from_environment);
		return 2;
	}
	if (!workload->absent && variants_add_backends(report, chosen) != 0)
		return 2;
	variants_add_peers(report);
	return 0;
}

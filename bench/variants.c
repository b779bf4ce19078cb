/*
 * Lists the workloads, and selects the variants to measure: xpoll on the requested back ends, in
 * that order, then the rivals, then the limit.
 */
#include <stdlib.h>
#include <string.h>

#include "loop.h"

#define WORKLOADS(X) \
	X(looptest) X(beside) X(active) X(idle) X(edge) X(dispatch) X(nested) X(pause) \
	X(unread) X(proxy) X(costs) X(memory) X(wake) X(threads) X(pool) X(pool_both) X(echo) \
	X(reactor) X(handoff) X(changes) X(wake_all) X(listener) X(churn) X(http) X(dropin) \
	X(timers) X(user) X(aio) X(sources) X(burst) X(files) X(track)
#define DECLARED(name) extern const struct bench_workload bench_##name;
#define LISTED(name)   &bench_##name,

WORKLOADS(DECLARED)

const struct bench_workload *const bench_workloads[] = { WORKLOADS(LISTED) NULL };

/*
 * The loops of xpoll's rivals.  A workload on loops has those of them as variants that have the
 * required abilities.
 */
static const struct loop_ops *const rivals[] = {
	&loop_epoll, &loop_poll, &loop_kevent, &loop_libkqueue, &loop_libevent, &loop_libev,
	&loop_libuv, &loop_hand, &loop_timerfd, &loop_io_uring, &loop_posix_aio,
	&loop_connector, NULL,
};

#define BACKENDS_MAX 16

/* Returns the back end that a program gets if it names none; NULL: none works here. */
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

static void variants_add(struct bench_report *report, const char *prefix, const char *name,
                         const struct bench_ops *ops, struct bench_way way, bool is_default)
{
	struct bench_contender *contender;

	if (report->contenders_len == BENCH_VARIANTS_MAX)
		return;
	contender = &report->contenders[report->contenders_len++];
	snprintf(contender->name, sizeof contender->name, "%s%s", prefix, name);
	contender->way = way;
	contender->way.workload = report->workload;
	contender->way.options = report->options;
	contender->ops = ops != NULL ? ops : &report->workload->ops;
	contender->is_default = is_default;
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

	for (int i = 0; i < report->contenders_len; i++)
		if (strcmp(report->contenders[i].way.backend, backend) == 0)
			return; /* a back end that is named twice is measured once */
	if (report->workload->loops & LOOP_NESTS && !queue_nests(backend))
		variants_miss(report, backend, NULL);
	else
		variants_add(report, "xpoll-", backend, NULL, way,
		             chosen != NULL && strcmp(chosen, backend) == 0);
}

/* Report that `source`, an option or a variable, names this back end of len bytes. */
static void variants_complain(const struct bench_report *report, const char *source,
                              const char *name, size_t len)
{
	const char *names[BACKENDS_MAX];
	char list[256] = "";
	size_t used = 0;
	int count = xpoll_backends(names, BACKENDS_MAX);

	for (int i = 0; i < count && i < BACKENDS_MAX && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
		                         i > 0 ? ", " : "", names[i]);
	bench_complain(report->workload, "%s: no back end \"%.*s\"; usable here: %s", source,
	               (int)len, name, list);
}

/*
 * Returns the back end with this name of len bytes.  If it is not usable here, prints a message and
 * returns NULL.
 */
static const char *variants_find_backend(const struct bench_report *report,
                                         const char *name, size_t len)
{
	const char *names[BACKENDS_MAX];
	char option[256];
	int count = xpoll_backends(names, BACKENDS_MAX);

	for (int i = 0; i < count && i < BACKENDS_MAX; i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return names[i];
	(void)snprintf(option, sizeof option, "--backend %s", report->options->backends);
	variants_complain(report, option, name, len);
	return NULL;
}

/* Add the requested back ends as variants.  Returns an exit code. */
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

static void variants_add_peer(struct bench_report *report, const char *name,
                              const struct bench_ops *ops, const struct loop_ops *loop)
{
	struct bench_library *library = loop != NULL ? loop->library : NULL;
	bool usable = loop == NULL || loop->usable == NULL || loop->usable();
	struct bench_way way = { .loop = loop };

	if (library != NULL && report->options->peers < BENCH_PEERS_ALL)
		return;
	if (usable && (library == NULL || bench_library_load(library)))
		variants_add(report, "", name, ops, way, false);
	else
		variants_miss(report, name, library);
}

/* Add all rivals as variants: loops, the workload's own variants and programs. */
static void variants_add_peers(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	const struct bench_variant *peer = workload->peers;

	for (int i = 0; rivals[i] != NULL && workload->loops != 0; i++)
		if ((workload->loops & ~rivals[i]->can) == 0)
			variants_add_peer(report, rivals[i]->name, NULL, rivals[i]);
	for (; peer != NULL && peer->name != NULL; peer++)
		variants_add_peer(report, peer->name, peer->ops, peer->loop);
	variants_add_programs(report);
}

int bench_select_variants(struct bench_report *report)
{
	const struct bench_workload *workload = report->workload;
	const char *chosen = variants_default_backend();
	const char *from_environment = getenv("XPOLL_BACKEND");

	report->phases_len = 1;
	while (report->phases_len < BENCH_PHASES_MAX &&
	       workload->phases[report->phases_len].name != NULL)
		report->phases_len++;
	if (chosen == NULL && from_environment != NULL && errno == ENOTSUP) {
		variants_complain(report, "XPOLL_BACKEND", from_environment,
		                  strlen(from_environment));
		return 2;
	}
	if (!workload->absent && variants_add_backends(report, chosen) != 0)
		return 2;
	if (report->options->peers > BENCH_PEERS_NONE)
		variants_add_peers(report);
	if (workload->limit != NULL)
		variants_add_peer(report, workload->limit->name, workload->limit->ops,
		                  workload->limit->loop);
	return 0;
}

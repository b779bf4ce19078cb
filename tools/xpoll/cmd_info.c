/*
 * xpoll info: what the library can do on this system, and why not more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

#include "info.h"
#include "tool.h"

#define QUEUES_MAX 16

/* One queue on each back end that is usable here. */
struct info_queues {
	const char *names[QUEUES_MAX];
	struct xpoll *open[QUEUES_MAX];
	int len;
};

struct info_feature {
	const char *name;
	int filter;
	uint32_t fflags;
};

/* Filters, and below each the notes that not every back end knows. */
static const struct info_feature features[] = {
	{ "READ", XPOLL_FILT_READ, 0 },
	{ "  LOWAT", XPOLL_FILT_READ, XPOLL_NOTE_LOWAT },
	{ "  COUNT", XPOLL_FILT_READ, XPOLL_NOTE_COUNT },
	{ "  SOERR", XPOLL_FILT_READ, XPOLL_NOTE_SOERR },
	{ "  EXCLUSIVE", XPOLL_FILT_READ, XPOLL_NOTE_EXCLUSIVE },
	{ "WRITE", XPOLL_FILT_WRITE, 0 },
	{ "  LOWAT", XPOLL_FILT_WRITE, XPOLL_NOTE_LOWAT },
	{ "  COUNT", XPOLL_FILT_WRITE, XPOLL_NOTE_COUNT },
	{ "  SOERR", XPOLL_FILT_WRITE, XPOLL_NOTE_SOERR },
	{ "EXCEPT", XPOLL_FILT_EXCEPT, 0 },
	{ "EMPTY", XPOLL_FILT_EMPTY, 0 },
	{ "USER", XPOLL_FILT_USER, 0 },
	{ "TIMER", XPOLL_FILT_TIMER, 0 },
	{ "SIGNAL", XPOLL_FILT_SIGNAL, 0 },
	{ "PROC", XPOLL_FILT_PROC, XPOLL_NOTE_EXIT },
	{ "  TRACK", XPOLL_FILT_PROC, XPOLL_NOTE_FORK | XPOLL_NOTE_TRACK },
	{ "VNODE", XPOLL_FILT_VNODE, XPOLL_NOTE_WRITE },
	{ "AIO", XPOLL_FILT_AIO, 0 },
};

static struct xpoll *info_open(const char *backend)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.backend = backend;
	return xpoll_open(&options);
}

/* The name of the default back end goes to chosen; "" if there is none. */
static void info_find_default(char *chosen, size_t size)
{
	struct xpoll *queue = xpoll_open(NULL);

	if (queue == NULL) {
		const char *wanted = getenv("XPOLL_BACKEND");

		printf("\nNo queue can be opened%s%s: %s\n",
		       wanted != NULL ? " with XPOLL_BACKEND=" : "",
		       wanted != NULL ? wanted : "", strerror(errno));
	}
	snprintf(chosen, size, "%s", queue != NULL ? xpoll_backend(queue) : "");
	xpoll_destroy(queue);
}

/* Back ends that this version has somewhere, but not here. */
static void info_print_missing(const struct info_queues *queues)
{
	static const char *const known[] = { "epoll", "poll", "select" };

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		int at = 0;
		struct xpoll *queue;

		while (at < queues->len && strcmp(queues->names[at], known[i]) != 0)
			at++;
		if (at < queues->len)
			continue;
		errno = 0;
		queue = info_open(known[i]);
		printf("  %-8s no: %s\n", known[i],
		       errno == ENOTSUP ? "this system does not have it" : strerror(errno));
		xpoll_destroy(queue);
	}
}

static void info_print_backends(struct info_queues *queues)
{
	char chosen[32];

	info_find_default(chosen, sizeof chosen);
	printf("\nback ends, best first\n");
	queues->len = xpoll_backends(queues->names, QUEUES_MAX);
	if (queues->len > QUEUES_MAX)
		queues->len = QUEUES_MAX;
	for (int i = 0; i < queues->len; i++) {
		queues->open[i] = info_open(queues->names[i]);
		if (queues->open[i] == NULL)
			printf("  %-8s no: %s\n", queues->names[i], strerror(errno));
		else
			printf("  %-8s yes%s\n", queues->names[i],
			       strcmp(queues->names[i], chosen) == 0 ? ", the default" : "");
	}
	info_print_missing(queues);
}

/* Why no back end here has this filter. */
static const char *info_reason(int filter)
{
	switch (filter) {
	case XPOLL_FILT_READ:
	case XPOLL_FILT_WRITE:
		return "  not in this version";
	default:
		return "  see below";
	}
}

static void info_print_features(const struct info_queues *queues)
{
	printf("\nfilters     ");
	for (int i = 0; i < queues->len; i++)
		printf(" %7s", queues->names[i]);
	putchar('\n');
	for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
		const struct info_feature *feature = &features[i];
		int usable = 0;

		printf("  %-11s", feature->name);
		for (int k = 0; k < queues->len; k++) {
			int yes = queues->open[k] != NULL &&
			          xpoll_supports(queues->open[k], feature->filter,
			                         feature->fflags) == 1;

			printf(" %7s", yes ? "yes" : "no");
			usable += yes;
		}
		printf("%s\n", usable == 0 ? info_reason(feature->filter) : "");
	}
}

/* The variable that names the only way to do it. */
static void info_print_choice(int filter)
{
	const char *variable = filter == XPOLL_FILT_AIO ? "XPOLL_AIO"
		: filter == XPOLL_FILT_PROC ? "XPOLL_PROC" : NULL;
	const char *value = variable != NULL ? getenv(variable) : NULL;

	if (value != NULL)
		printf(" (%s is %s)", variable, *value != '\0' ? value : "empty");
}

static void info_print_failure(int filter, int error)
{
	printf("no: %s", error == ENOTSUP ? "not supported here" : strerror(error));
	info_print_met(filter, error);
	if (error == ENOTSUP)
		info_print_choice(filter);
	putchar('\n');
}

static void info_print_sources(void)
{
	static const struct info_feature sources[] = {
		{ "timers", XPOLL_FILT_TIMER, 0 },
		{ "signals", XPOLL_FILT_SIGNAL, 0 },
		{ "the end of processes", XPOLL_FILT_PROC, XPOLL_NOTE_EXIT },
		{ "forks and execs", XPOLL_FILT_PROC,
		  XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC | XPOLL_NOTE_TRACK },
		{ "files", XPOLL_FILT_VNODE, XPOLL_NOTE_WRITE },
		{ "asynchronous I/O", XPOLL_FILT_AIO, 0 },
	};

	printf("\nsources, and what one of them takes here\n");
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
		int error;

		printf("  %-21s ", sources[i].name);
		error = info_try(sources[i].filter, sources[i].fflags);
		if (error != 0)
			info_print_failure(sources[i].filter, error);
	}
}

static int cmd_info(int argc, char **argv)
{
	static const struct tool_usage usage = {
		.name = "xpoll info",
		.synopsis = "",
		.text = "Print the back ends that are usable here, which filters each of them can\n"
		        "register, what other sources take, and the limits that matter.\n",
	};
	struct info_queues queues;
	int result = tool_parse(&usage, argc, argv);

	if (result != TOOL_GO_ON)
		return result;
	memset(&queues, 0, sizeof queues);
	tool_print_version();
	info_print_system();
	info_print_backends(&queues);
	info_print_features(&queues);
	for (int i = 0; i < queues.len; i++)
		xpoll_destroy(queues.open[i]);
	if (queues.len > 0)
		info_print_sources();
	info_print_limits();
	return queues.len > 0 ? TOOL_OK : TOOL_FAILED;
}

const struct tool_command tool_info = {
	.name = "info",
	.summary = "what can be used here, and why something cannot",
	.run = cmd_info,
};

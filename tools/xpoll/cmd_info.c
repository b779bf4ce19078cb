/* xpoll info: prints what the library can do on this system, and why it cannot do more. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

#include "info.h"
#include "tool.h"

static struct xpoll *info_open(const char *backend)
{
	struct xpoll_options options;

	memset(&options, 0, sizeof options);
	options.size = sizeof options;
	options.backend = backend;
	return xpoll_open(&options);
}

/*
 * Open a queue on each back end.  Returns TOOL_GO_ON even if some fail; or an exit code after a
 * message if no default queue is supported, for example because of XPOLL_BACKEND.
 */
static int info_open_all(const struct tool_usage *usage, struct info_queues *queues)
{
	struct xpoll *queue = xpoll_open(NULL);

	if (queue == NULL && errno == ENOTSUP)
		return tool_complain_no_queue(usage);
	snprintf(queues->chosen, sizeof queues->chosen, "%s",
	         queue != NULL ? xpoll_backend(queue) : "");
	xpoll_destroy(queue);
	queues->len = xpoll_backends(queues->names, INFO_QUEUES);
	if (queues->len > INFO_QUEUES)
		queues->len = INFO_QUEUES;
	for (int i = 0; i < queues->len; i++) {
		queues->open[i] = info_open(queues->names[i]);
		queues->errors[i] = queues->open[i] == NULL ? errno : 0;
	}
	return TOOL_GO_ON;
}

/* Print the usual back ends that are not usable here, and why. */
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

static void info_print_backends(const struct info_queues *queues)
{
	printf("\nback ends, best first\n");
	for (int i = 0; i < queues->len; i++)
		if (queues->open[i] == NULL)
			printf("  %-8s no: %s\n", queues->names[i], strerror(queues->errors[i]));
		else
			printf("  %-8s yes%s\n", queues->names[i],
			       strcmp(queues->names[i], queues->chosen) == 0 ? ", the default"
			       : "");
	info_print_missing(queues);
}

/* Returns a remark about a filter that no back end here has. */
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
	printf("\nfilters      ");
	for (int i = 0; i < queues->len; i++)
		printf(" %7s", queues->names[i]);
	putchar('\n');
	for (const struct info_feature *it = info_features; it->name != NULL; it++) {
		int usable = 0;

		printf("  %-11s", it->name);
		for (int k = 0; k < queues->len; k++) {
			int yes = info_has(queues, k, it);

			printf(" %7s", yes ? "yes" : "no");
			usable += yes;
		}
		printf("%s\n", usable == 0 ? info_reason(it->filter) : "");
	}
}

static const char *limits_head = "\nlimits\n";

static void info_print_limit(const char *label, const char *name, const char *value)
{
	(void)name;
	fputs(limits_head, stdout);
	limits_head = "";
	printf("  %-49s %s\n", label, value);
}

static void info_print_text(struct info_queues *queues)
{
	struct info_text text = { .used = 0 };

	tool_print_version();
	info_system(&text);
	printf("on %s\n", text.text);
	info_print_backends(queues);
	info_print_features(queues);
	info_close(queues);
	printf("\nkernel objects that a source needs here\n");
	for (const struct info_feature *it = info_sources; it->name != NULL; it++) {
		int works = info_source(it, &text);

		printf("  %-21s %s%s\n", it->name, works ? "" : "no: ", text.text);
	}
	info_limits(info_print_limit);
}

static int cmd_info(int argc, char **argv)
{
	bool json = false;
	const struct tool_option options[] = {
		{ "--json", "", "print one JSON object, for programs", TOOL_FLAG, .value = &json },
		{ .name = NULL },
	};
	const struct tool_usage usage = {
		.name = "xpoll info",
		.synopsis = "[--json]",
		.text = "Print the back ends that are usable on this system, the filters of each,\n"
		        "the kernel objects that sources need, and the system's limits.\n",
		.options = options,
	};
	struct info_queues queues = { .len = 0 };
	int result = tool_parse(&usage, argc, argv);

	if (result == TOOL_GO_ON)
		result = info_open_all(&usage, &queues);
	if (result != TOOL_GO_ON)
		return result;
	(json ? info_print_json : info_print_text)(&queues);
	return queues.len > 0 ? TOOL_OK : TOOL_FAILED;
}

const struct tool_command tool_info = {
	.name = "info",
	.summary = "print what is usable here, and why the rest is not",
	.run = cmd_info,
};

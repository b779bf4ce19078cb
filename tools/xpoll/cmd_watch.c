/*
 * xpoll watch: its options, its loop, and how it ends.
 *
 * The loop takes one event at a time, so that handling it may free other items (watch.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch.h"

enum { TIMED_OUT = 3 }; /* exit code: --timeout came before --count events */

#define TIMEOUT_MAX (366 * 24 * 3600.0) /* seconds */

/*
 * A comparison of names that is due waits until the queue is empty, but at most this long.  The
 * next one follows after nine times as long as that one took, so comparisons take at most a tenth
 * of the time, however large the directory.
 */
#define SETTLE_LATEST_NS (WATCH_SECOND / 50)
#define SETTLE_REST      9

/* The options that only this file uses. */
struct watch_options {
	struct tool_list sources; /* all sources except --exec, in the order of the arguments */
	struct tool_list excluded;
	const char *events;
	char **command; /* the command of --exec; NULL: none */
	int64_t timeout_ns; /* 0: none */
};

/* --- The loop ------------------------------------------------------------- */

/* An event of standard output: if its reader has exited, end. */
static void output_ended(struct watch *w, struct watch_item *item,
                         const struct xpoll_event *event)
{
	(void)item;
	if ((event->flags & XPOLL_EOF) != 0)
		w->broken = true;
}

/* If standard output is a pipe or socket, watch it for the exit of its reader. */
static void watch_output(struct watch *w)
{
	static struct watch_item output = { .happened = output_ended };
	struct stat status;

	if (!w->quiet && fstat(STDOUT_FILENO, &status) == 0 &&
	    (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		(void)watch_register(w, STDOUT_FILENO, XPOLL_FILT_WRITE,
		                     XPOLL_ADD | XPOLL_CLEAR, 0, 0, &output);
}

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Compare names if that is due. */
static void watch_settle(struct watch *w, int64_t now_ns, bool queue_is_empty)
{
	if (now_ns < w->settle_ns ||
	    (!queue_is_empty && now_ns < w->settle_ns + SETTLE_LATEST_NS))
		return;
	w->settle_ns = INT64_MAX;
	watch_file_settle(w);
	w->rest_until_ns = watch_now_ns();
	w->rest_until_ns += SETTLE_REST * (w->rest_until_ns - now_ns);
}

/* Returns the longest timeout of the next wait in ns; -1: for ever. */
static int64_t watch_patience_ns(const struct watch *w, bool queue_is_empty,
                                 int64_t now_ns)
{
	int64_t until_ns = min_ns(w->deadline_ns, watch_run_due_ns(w));

	until_ns = min_ns(until_ns, w->settle_ns);
	if (!queue_is_empty && w->sources == 0)
		return 0;
	if (until_ns == INT64_MAX)
		return -1;
	return until_ns > now_ns ? until_ns - now_ns : 0;
}

/* Run until the end.  Returns 0, or an errno value of the queue. */
static int watch_loop(struct watch *w)
{
	struct xpoll_event event;
	bool queue_is_empty = false;

	for (;;) {
		int64_t now_ns = watch_now_ns();
		int count;

		if (watch_has_ended(w, queue_is_empty, now_ns))
			return 0;
		count = xpoll_event(w->queue, NULL, 0, &event, 1,
		                    watch_patience_ns(w, queue_is_empty, now_ns));
		if (count < 0 && errno != EINTR)
			return errno;
		if (count > 0) {
			struct watch_item *item = event.udata;

			item->happened(w, item, &event);
		}
		queue_is_empty = count == 0;
		now_ns = watch_now_ns();
		watch_settle(w, now_ns, queue_is_empty);
		watch_run_step(w, now_ns);
	}
}

/* --- Options -------------------------------------------------------------- */

static const struct {
	const char *option; /* NULL: a path without an option */
	int (*add)(struct watch *w, const struct tool_item *argument);
} kinds[] = {
	{ "--file", watch_add_file },     { "--dir", watch_add_tree },
	{ "--pid", watch_add_pid },       { "--signal", watch_add_signal },
	{ "--timer", watch_add_timer },   { "--fd", watch_add_fd },
	{ "--listen", watch_add_listen }, { NULL, watch_add_path },
};

static int watch_add_sources(struct watch *w, const struct tool_list *sources)
{
	int result = TOOL_GO_ON;

	for (int i = 0; i < sources->len && result == TOOL_GO_ON; i++) {
		const struct tool_item *it = &sources->items[i];
		size_t k = 0;

		while (kinds[k].option != NULL &&
		       (it->option == NULL || strcmp(kinds[k].option, it->option) != 0))
			k++;
		result = kinds[k].add(w, it);
	}
	return result;
}

static int watch_exit_code(const struct watch *w)
{
	if (w->broken || w->failed)
		return TOOL_FAILED;
	if (w->count > 0 && w->shown < w->count && watch_now_ns() >= w->deadline_ns)
		return TIMED_OUT;
	if (w->status != 0)
		return w->status;
	return w->incomplete ? TOOL_FAILED : TOOL_OK;
}

static int watch_run(struct watch *w, const struct watch_options *options)
{
	int result = watch_choose_events(w, options->events);
	int error;

	if (result == TOOL_GO_ON)
		result = watch_add_sources(w, &options->sources);
	if (result != TOOL_GO_ON)
		return result;
	if (options->timeout_ns > 0)
		w->deadline_ns = watch_now_ns() + options->timeout_ns;
	watch_output(w);
	if (options->command != NULL)
		result = watch_add_exec(w, options->command);
	if (result != TOOL_GO_ON)
		return result;
	if (!w->quiet)
		fprintf(stderr, "%s: ready\n", w->usage->name);
	error = watch_loop(w);
	if (error != 0) {
		tool_warn(w->usage, "cannot wait: %s", strerror(error));
		w->failed = true;
	}
	return watch_exit_code(w);
}

/* Returns true on a terminal with colours, unless the user has disabled them (no-color.org). */
static bool watch_in_colour(void)
{
	const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && (none == NULL || *none == '\0') && terminal != NULL &&
	       strcmp(terminal, "dumb") != 0;
}

static int watch_start(struct watch *w, const struct watch_options *options)
{
	int result, stopped;

	w->queue = xpoll_open(NULL);
	if (w->queue == NULL)
		return tool_complain_no_queue(w->usage);
	watch_signals_open(w);
	result = watch_run(w, options);
	/* End the commands of --exec and --run. */
	stopped = watch_stopped(w);
	if (w->child != 0)
		(void)kill(w->child, SIGTERM);
	if (w->runner != 0)
		(void)kill(w->runner, SIGTERM);
	while (w->items != NULL) {
		struct watch_item *item = w->items;

		w->items = item->next;
		item->close(w, item);
	}
	watch_signals_close(); /* before xpoll_destroy, because the handler wakes the queue */
	xpoll_destroy(w->queue);
	if (stopped != 0)
		(void)raise(stopped);
	return result;
}

static int watch_parse(struct watch *w, int argc, char **argv,
                       struct watch_options *options)
{
	struct tool_list *sources = &options->sources;
	const struct tool_option table[] = {
		{ "--file", "PATH", "a file, by its name", TOOL_LIST, .value = sources },
		{ "--dir", "PATH", "a directory and the files in it", TOOL_LIST,
		  .value = sources },
		{ "--pid", "N", "a process: forks, execs, its end", TOOL_LIST,
		  .value = sources },
		{ "--exec", "CMD...", "run a command and watch its processes; last",
		  TOOL_REST, .value = &options->command },
		{ "--signal", "NAME", "a signal that is sent to this command", TOOL_LIST,
		  .value = sources },
		{ "--timer", "TIME", "a timer with this period: 500ms, 2s, 1.5m", TOOL_LIST,
		  .value = sources },
		{ "--fd", "N", "an open descriptor that can be read", TOOL_LIST,
		  .value = sources },
		{ "--listen", "PORT", "connections to a port, or to ADDRESS:PORT",
		  TOOL_LIST, .value = sources },
		{ "-r", "", "include subdirectories, and child processes", TOOL_FLAG,
		  .value = &w->recursive },
		{ "--events", "LIST", "which events of files: create,delete,write,...", TOOL_TEXT,
		  .value = &options->events },
		{ "--exclude", "GLOB", "skip names that match, in each --dir", TOOL_LIST,
		  .value = &options->excluded },
		{ "--run", "CMD", "run a shell command after events", TOOL_TEXT,
		  .value = &w->run },
		{ "--count", "N", "end after this number of events", TOOL_COUNT, 1, 1e9, NULL,
		  &w->count },
		{ "--timeout", "TIME", "end after this time", TOOL_TIME, 0.001, TIMEOUT_MAX,
		  NULL, &options->timeout_ns },
		{ "--json", "", "print each event as a JSON object", TOOL_FLAG, .value = &w->json },
		{ "-q", "", "print errors and warnings only", TOOL_FLAG, .value = &w->quiet },
		{ 0 },
	};
	struct tool_usage usage = *w->usage;
	int result;

	usage.options = table;
	usage.operands = sources;
	result = tool_parse(&usage, argc, argv);
	if (result == TOOL_GO_ON && sources->len == 0 && options->command == NULL)
		return tool_complain(&usage, "expected something to watch: a path or an "
		                     "option such as --file or --timer");
	return result;
}

static int cmd_watch(int argc, char **argv)
{
	static const struct tool_usage usage = {
		.name = "xpoll watch",
		.synopsis = "[OPTION | PATH]... [--exec CMD...]",
		.text = "Print a line for each event of the named files, processes and other\n"
		        "sources.  A PATH without an option means --dir for a directory, else\n"
		        "--file.  The command ends on Ctrl-C, or when nothing is left to watch.\n",
	};
	struct watch_options options = { 0 };
	struct watch w = {
		.usage = &usage,
		.excluded = &options.excluded,
		.deadline_ns = INT64_MAX,
		.settle_ns = INT64_MAX,
		.colour = watch_in_colour(),
	};
	struct tool_item *items = calloc(2 * (size_t)argc, sizeof *items);
	int result;

	if (items == NULL) {
		tool_warn(&usage, "%s", strerror(ENOMEM));
		return TOOL_FAILED;
	}
	options.sources.items = items;
	options.excluded.items = items + argc;
	result = watch_parse(&w, argc, argv, &options);
	if (result == TOOL_GO_ON)
		result = watch_start(&w, &options);
	free(items);
	return result;
}

const struct tool_command tool_watch = {
	.name = "watch",
	.summary = "print what happens to files, processes, signals, ...",
	.run = cmd_watch,
};

/*
 * xpoll watch --run: runs a command after events.
 *
 * One save of an editor causes a dozen events, so the command starts after a short time without
 * events, or after a longer time if they do not pause.  Events while the command runs make it run
 * once more, but never twice at the same time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define SILENCE_NS  (WATCH_SECOND / 20) /* a time without events after which the command starts */
#define PATIENCE_NS (WATCH_SECOND / 2)  /* the longest delay of the command */

static watch_handler run_ended;

static struct {
	struct watch_item item;
	bool pending; /* the command has to run */
	int64_t first_ns, last_ns; /* times of the first and last event since it last started */
} run = { .item.happened = run_ended };

static int64_t min_ns(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void run_ended(struct watch *w, struct watch_item *item,
                      const struct xpoll_event *event)
{
	int status = watch_reap((pid_t)event->ident);

	(void)item;
	w->runner = 0;
	if (watch_stopped(w) != 0) /* the signal that ends xpoll watch has ended the command, too */
		return;
	if (status > 128)
		tool_warn(w->usage, "--run %s: ended by signal %d", w->run, status - 128);
	else if (status != 0)
		tool_warn(w->usage, "--run %s: exit status %d", w->run, status);
}

static void run_start(struct watch *w)
{
	char shell[] = "/bin/sh", option[] = "-c";
	char *command = strdup(w->run);
	char *argv[] = { shell, option, command, NULL };
	struct watch_spawned spawned;
	int error;

	if (command == NULL || watch_spawn(w, argv, &spawned) < 0) {
		error = errno;
	} else {
		error = watch_register(w, (uint64_t)spawned.pid, XPOLL_FILT_PROC,
		                       XPOLL_ADD, XPOLL_NOTE_EXIT, 0, &run.item);
		if (error != 0)
			watch_spawn_cancel(&spawned);
		else
			error = watch_spawn_go(&spawned);
		if (error == 0)
			w->runner = spawned.pid;
	}
	free(command);
	if (error != 0) {
		tool_warn(w->usage, "--run %s: %s", w->run, watch_reason(error));
		w->incomplete = true;
	}
}

void watch_run_note(struct watch *w)
{
	if (w->run == NULL)
		return;
	run.last_ns = watch_now_ns();
	if (!run.pending)
		run.first_ns = run.last_ns;
	run.pending = true;
}

int64_t watch_run_due_ns(const struct watch *w)
{
	if (!run.pending || w->runner != 0)
		return INT64_MAX;
	return min_ns(run.last_ns + SILENCE_NS, run.first_ns + PATIENCE_NS);
}

void watch_run_step(struct watch *w, int64_t now_ns)
{
	if (now_ns < watch_run_due_ns(w))
		return;
	run.pending = false;
	run_start(w);
}

bool watch_run_busy(const struct watch *w)
{
	return run.pending || w->runner != 0;
}

/* Returns true if no more events will be printed; --run may still have to run. */
static bool watch_is_done(const struct watch *w, bool queue_is_empty)
{
	if (w->count > 0 && w->shown >= w->count)
		return true;
	/* The queue must be empty: an event of a child reported late makes `sources` grow again. */
	return w->sources == 0 && queue_is_empty;
}

bool watch_has_ended(const struct watch *w, bool queue_is_empty, int64_t now_ns)
{
	if (w->broken || now_ns >= w->deadline_ns)
		return true;
	if (watch_stopped(w) != 0)
		return watch_stopped_twice() || (w->child == 0 && w->runner == 0);
	return watch_is_done(w, queue_is_empty) && !watch_run_busy(w);
}

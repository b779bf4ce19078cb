/* xpoll info: which filters and notes work. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"

/* Filters, and below each the notes that not every back end supports. */
const struct info_feature info_features[] = {
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
	{ NULL, 0, 0 },
};

const struct info_feature info_sources[] = {
	{ "timers", XPOLL_FILT_TIMER, 0 },
	{ "signals", XPOLL_FILT_SIGNAL, 0 },
	{ "the end of processes", XPOLL_FILT_PROC, XPOLL_NOTE_EXIT },
	{ "forks and execs", XPOLL_FILT_PROC,
	  XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC | XPOLL_NOTE_TRACK },
	{ "files", XPOLL_FILT_VNODE, XPOLL_NOTE_WRITE },
	{ "asynchronous I/O", XPOLL_FILT_AIO, 0 },
	{ NULL, 0, 0 },
};

int info_has(const struct info_queues *queues, int at, const struct info_feature *feature)
{
	return queues->open[at] != NULL &&
	       xpoll_supports(queues->open[at], feature->filter, feature->fflags) == 1;
}

void info_close(struct info_queues *queues)
{
	for (int i = 0; i < queues->len; i++) {
		xpoll_destroy(queues->open[i]);
		queues->open[i] = NULL;
	}
}

/* Store the environment variable that selects the provider of this filter, if it is set. */
static void info_choice(int filter, struct info_text *to)
{
	const char *variable = filter == XPOLL_FILT_AIO ? "XPOLL_AIO"
		: filter == XPOLL_FILT_PROC ? "XPOLL_PROC" : NULL;
	const char *value = variable != NULL ? getenv(variable) : NULL;

	if (value != NULL)
		info_say(to, " (%s is %s)", variable, *value != '\0' ? value : "empty");
}

int info_source(const struct info_feature *source, struct info_text *to)
{
	int error;

	to->used = 0;
	to->text[0] = '\0';
	error = info_try(source->filter, source->fflags, to);
	if (error == 0)
		return 1;
	info_say(to, "%s", error == ENOTSUP ? "not supported here" : strerror(error));
	info_met(source->filter, error, to);
	if (error == ENOTSUP)
		info_choice(source->filter, to);
	return 0;
}

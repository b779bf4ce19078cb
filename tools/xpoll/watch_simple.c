/*
 * xpoll watch: the sources that need one registration each: --timer, --signal, --fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

#define TIMER_MIN 0.001 /* seconds; more lines than one a millisecond would be of no use */
#define TIMER_MAX (366 * 24 * 3600.0)

/* A timer, signal or descriptor. */
struct simple {
	struct watch_item item;
	const char *text; /* the argument */
	uint64_t ident;
	bool counts;      /* a descriptor whose events have a number of bytes in `data` */
};

static void simple_close(struct watch *w, struct watch_item *item)
{
	(void)w;
	free(item);
}

/* Copy the filled struct and register it.  Returns the result of watch_add. */
static int simple_add(struct watch *w, const struct tool_item *argument,
                      const struct simple *filled, struct xpoll_event registration)
{
	struct simple *it = malloc(sizeof *it);
	int result;

	if (it == NULL)
		return watch_refuse(w, argument, ENOMEM);
	*it = *filled;
	it->item.close = simple_close;
	result = watch_add(w, argument, it->ident, registration.filter,
	                   XPOLL_ADD | registration.flags, registration.fflags,
	                   registration.data, &it->item);
	if (result != TOOL_GO_ON)
		free(it);
	return result;
}

static void timer_expired(struct watch *w, struct watch_item *item,
                          const struct xpoll_event *event)
{
	struct watch_record record = { .source = "timer" };

	watch_say_number(&record, "expire", "count", event->data);
	watch_about(&record, "", "timer", ((struct simple *)item)->text);
	watch_show(w, &record);
}

int watch_add_timer(struct watch *w, const struct tool_item *argument)
{
	struct simple timer = {
		.item.happened = timer_expired,
		.text = argument->text,
		.ident = (uint64_t)w->sources,
	};
	struct xpoll_event registration = {
		.filter = XPOLL_FILT_TIMER,
		.fflags = XPOLL_NOTE_NSECONDS,
	};

	if (!tool_read_time(argument->text, TIMER_MIN, TIMER_MAX, &registration.data))
		return tool_complain(w->usage, "%s %s: expected a time from 1ms to 8784h, "
		                     "such as 500ms, 2s or 1.5m",
		                     argument->option, argument->text);
	return simple_add(w, argument, &timer, registration);
}

static void signal_came(struct watch *w, struct watch_item *item,
                        const struct xpoll_event *event)
{
	struct watch_record record = { .source = "signal" };
	char name[16];

	(void)item;
	watch_say_number(&record, "deliver", "count", event->data);
	watch_about(&record, "", "signal",
	            tool_signal_name((int)event->ident, name, sizeof name));
	watch_show(w, &record);
}

int watch_add_signal(struct watch *w, const struct tool_item *argument)
{
	int number = tool_read_signal(argument->text);
	struct simple signal = {
		.item.happened = signal_came,
		.text = argument->text,
		.ident = (uint64_t)number,
	};
	struct xpoll_event registration = { .filter = XPOLL_FILT_SIGNAL };

	if (number <= 0)
		return tool_complain(w->usage, "%s %s: expected a signal such as HUP, "
		                     "SIGUSR1, RTMIN+1 or 12",
		                     argument->option, argument->text);
	if (number == SIGKILL || number == SIGSTOP)
		return tool_complain(w->usage, "%s %s: no process can "
		                     "catch this signal", argument->option, argument->text);
	/* The queue only observes a signal, so ignore it, or its default action would end us. */
	watch_signal_ignore(number);
	return simple_add(w, argument, &signal, registration);
}

static void fd_readable(struct watch *w, struct watch_item *item,
                        const struct xpoll_event *event)
{
	const struct simple *it = (struct simple *)item;
	struct watch_record record = { .source = "fd" };
	bool ended = (event->flags & XPOLL_EOF) != 0;

	if (it->counts && (event->data > 0 || !ended))
		watch_say_number(&record, "read", "bytes", event->data);
	else if (!ended)
		watch_say(&record, "read");
	if (ended)
		watch_say(&record, "eof");
	watch_about_number(&record, "", "fd", (int64_t)it->ident);
	if (ended) {
		(void)watch_register(w, it->ident, XPOLL_FILT_READ, XPOLL_DELETE, 0, 0,
		                     NULL);
		w->sources--;
	}
	watch_show(w, &record);
}

/* Registers with XPOLL_CLEAR: one event for new data is enough, because no data is read here. */
int watch_add_fd(struct watch *w, const struct tool_item *argument)
{
	size_t digits = strspn(argument->text, "0123456789");
	long number = strtol(argument->text, NULL, 10);
	struct simple fd = {
		.item.happened = fd_readable,
		.text = argument->text,
		.ident = (uint64_t)number,
		.counts = xpoll_supports(w->queue, XPOLL_FILT_READ, XPOLL_NOTE_COUNT) == 1,
	};
	struct xpoll_event registration = {
		.filter = XPOLL_FILT_READ,
		.flags = XPOLL_CLEAR,
		.fflags = fd.counts ? XPOLL_NOTE_COUNT : 0,
	};

	int flags;

	if (argument->text[digits] != '\0' || number > INT_MAX)
		return tool_complain(w->usage, "%s %s: expected the number of a descriptor",
		                     argument->option, argument->text);
	/* A descriptor that is close-on-exec was not inherited, but opened by this command. */
	flags = fcntl((int)number, F_GETFD);
	if (flags < 0 || (flags & FD_CLOEXEC) != 0)
		return watch_refuse(w, argument, EBADF);
	if (watch_has(w, fd.ident, XPOLL_FILT_READ))
		return TOOL_GO_ON;
	return simple_add(w, argument, &fd, registration);
}

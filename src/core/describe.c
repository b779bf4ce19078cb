/* Events in words, for logs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <xpoll.h>

#include "base/assert.h"
#include "core/result.h"

struct text {
	char *buf;
	size_t size;
	size_t len; /* of the whole text, whether it fits or not */
};

struct name {
	uint32_t bit;
	const char *name;
};

__attribute__((format(printf, 2, 3)))
static void text_add(struct text *text, const char *format, ...)
{
	size_t left = text->len < text->size ? text->size - text->len : 0;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(left ? text->buf + text->len : NULL, left, format,
	                   arguments);
	va_end(arguments);
	if (length > 0)
		text->len += (size_t)length;
}

/* The names of the bits, and the rest as a number. */
static void text_bits(struct text *text, uint32_t bits,
                      const struct name *names)
{
	for (; names && names->name; names++) {
		if (!(bits & names->bit))
			continue;
		text_add(text, " %s", names->name);
		bits &= ~names->bit;
	}
	if (bits)
		text_add(text, " 0x%x", (unsigned)bits);
}

static const struct name flag_names[] = {
	{XPOLL_ADD, "ADD"}, {XPOLL_DELETE, "DELETE"}, {XPOLL_ENABLE, "ENABLE"},
	{XPOLL_DISABLE, "DISABLE"}, {XPOLL_ONESHOT, "ONESHOT"},
	{XPOLL_CLEAR, "CLEAR"}, {XPOLL_RECEIPT, "RECEIPT"},
	{XPOLL_DISPATCH, "DISPATCH"}, {XPOLL_KEEPUDATA, "KEEPUDATA"},
	{XPOLL_SETUDATA, "SETUDATA"},
	{XPOLL_EOF, "EOF"}, {0, NULL},
};

static const struct name rw_names[] = {
	{XPOLL_NOTE_LOWAT, "LOWAT"}, {XPOLL_NOTE_COUNT, "COUNT"},
	{XPOLL_NOTE_SOERR, "SOERR"}, {XPOLL_NOTE_EXCLUSIVE, "EXCLUSIVE"},
	{0, NULL},
};

static const struct name except_names[] = {
	{XPOLL_NOTE_OOB, "OOB"}, {0, NULL},
};

static const struct name user_names[] = {
	{XPOLL_NOTE_TRIGGER, "TRIGGER"}, {0, NULL},
};

static const struct name timer_names[] = {
	{XPOLL_NOTE_SECONDS, "SECONDS"}, {XPOLL_NOTE_MSECONDS, "MSECONDS"},
	{XPOLL_NOTE_USECONDS, "USECONDS"}, {XPOLL_NOTE_NSECONDS, "NSECONDS"},
	{XPOLL_NOTE_ABSTIME, "ABSTIME"}, {XPOLL_NOTE_MONOTONIC, "MONOTONIC"},
	{0, NULL},
};

static const struct name proc_names[] = {
	{XPOLL_NOTE_EXIT, "EXIT"}, {XPOLL_NOTE_FORK, "FORK"},
	{XPOLL_NOTE_EXEC, "EXEC"}, {XPOLL_NOTE_TRACK, "TRACK"},
	{XPOLL_NOTE_TRACKERR, "TRACKERR"}, {XPOLL_NOTE_CHILD, "CHILD"},
	{XPOLL_NOTE_STATUS_UNKNOWN, "STATUS_UNKNOWN"}, {0, NULL},
};

static const struct name vnode_names[] = {
	{XPOLL_NOTE_DELETE, "DELETE"}, {XPOLL_NOTE_WRITE, "WRITE"},
	{XPOLL_NOTE_EXTEND, "EXTEND"}, {XPOLL_NOTE_ATTRIB, "ATTRIB"},
	{XPOLL_NOTE_LINK, "LINK"}, {XPOLL_NOTE_RENAME, "RENAME"},
	{XPOLL_NOTE_REVOKE, "REVOKE"}, {XPOLL_NOTE_OPEN, "OPEN"},
	{XPOLL_NOTE_CLOSE, "CLOSE"}, {XPOLL_NOTE_CLOSE_WRITE, "CLOSE_WRITE"},
	{XPOLL_NOTE_READ, "READ"}, {XPOLL_NOTE_TRUNCATE, "TRUNCATE"},
	{0, NULL},
};

static const struct filter_name {
	int filter;
	const char *name;
	const struct name *notes;
} filter_names[] = {
	{XPOLL_FILT_READ, "READ", rw_names},
	{XPOLL_FILT_WRITE, "WRITE", rw_names},
	{XPOLL_FILT_AIO, "AIO", NULL},
	{XPOLL_FILT_VNODE, "VNODE", vnode_names},
	{XPOLL_FILT_PROC, "PROC", proc_names},
	{XPOLL_FILT_SIGNAL, "SIGNAL", NULL},
	{XPOLL_FILT_TIMER, "TIMER", timer_names},
	{XPOLL_FILT_USER, "USER", user_names},
	{XPOLL_FILT_EMPTY, "EMPTY", NULL},
	{XPOLL_FILT_EXCEPT, "EXCEPT", except_names},
};

static const struct name *text_filter(struct text *text, int filter)
{
	for (size_t i = 0; i < sizeof filter_names / sizeof *filter_names; i++) {
		if (filter_names[i].filter == filter) {
			text_add(text, "%s", filter_names[i].name);
			return filter_names[i].notes;
		}
	}
	text_add(text, "FILTER(%d)", filter);
	return NULL;
}

int xpoll_describe(const struct xpoll_event *event, char *buf, size_t size)
{
	struct text text = {.buf = buf, .size = size};
	const struct name *notes;

	if (!event || (size > 0 && !buf))
		return xp_result(-EINVAL);
	notes = text_filter(&text, event->filter);
	text_add(&text, " ident=%llu", (unsigned long long)event->ident);
	if (event->flags & XPOLL_ERROR)
		text_add(&text, " ERROR=%lld", (long long)event->data);
	else
		text_add(&text, " data=%lld", (long long)event->data);
	text_bits(&text, event->flags & ~(uint32_t)XPOLL_ERROR, flag_names);
	/* With EOF, READ and WRITE have a socket error there. */
	if (notes == rw_names && event->flags & XPOLL_EOF && event->fflags)
		text_add(&text, " error=%u", (unsigned)event->fflags);
	else
		text_bits(&text, event->fflags, notes);
	return (int)text.len;
}

/* xpoll_describe: events as text, for logs. */
#include <stdarg.h>
#include <stdio.h>

#include "base/result.h"
#include "core/slot.h"

struct text {
	char *buf;
	size_t size;
	size_t len; /* length of the whole text, with the part for which `buf` has no room */
};

__attribute__((format(printf, 2, 3)))
static void text_add(struct text *text, const char *format, ...)
{
	size_t left = text->len < text->size ? text->size - text->len : 0;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(left ? text->buf + text->len : NULL, left, format, arguments);
	va_end(arguments);
	if (length > 0)
		text->len += (size_t)length;
}

/* Append the names of the bits, and the unknown bits as a number. */
static void text_bits(struct text *text, uint32_t bits, const struct xp_note_name *names)
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

static const struct xp_note_name flag_names[] = {
	{XPOLL_ADD, "ADD"}, {XPOLL_DELETE, "DELETE"}, {XPOLL_ENABLE, "ENABLE"},
	{XPOLL_DISABLE, "DISABLE"}, {XPOLL_ONESHOT, "ONESHOT"},
	{XPOLL_CLEAR, "CLEAR"}, {XPOLL_RECEIPT, "RECEIPT"},
	{XPOLL_DISPATCH, "DISPATCH"}, {XPOLL_KEEPUDATA, "KEEPUDATA"},
	{XPOLL_SETUDATA, "SETUDATA"},
	{XPOLL_EOF, "EOF"}, {0, NULL},
};

static const struct xp_note_name rw_names[] = {
	{XPOLL_NOTE_LOWAT, "LOWAT"}, {XPOLL_NOTE_COUNT, "COUNT"},
	{XPOLL_NOTE_SOERR, "SOERR"}, {XPOLL_NOTE_EXCLUSIVE, "EXCLUSIVE"},
	{0, NULL},
};

static const struct xp_note_name except_names[] = {
	{XPOLL_NOTE_OOB, "OOB"}, {0, NULL},
};

/* Append the name of a filter.  Returns the names of the filter's notes, or NULL. */
static const struct xp_note_name *text_filter(struct text *text, int filter)
{
	static const struct {
		const char *name;
		const struct xp_note_name *notes;
	} of_descriptors[] = {
		[XP_READ] = {"READ", rw_names},
		[XP_WRITE] = {"WRITE", rw_names},
		[XP_EXCEPT] = {"EXCEPT", except_names},
	};
	const struct xp_source_ops *source = xp_source_find(filter);
	int index = xp_filter_index(filter);

	if (index >= 0) {
		text_add(text, "%s", of_descriptors[index].name);
		return of_descriptors[index].notes;
	}
	if (source)
		text_add(text, "%s", source->name);
	else
		text_add(text, "FILTER(%d)", filter);
	return source ? source->notes : NULL;
}

int xpoll_describe(const struct xpoll_event *event, char *buf, size_t size)
{
	struct text text = {.buf = buf, .size = size};
	const struct xp_note_name *notes;

	if (!event || (size > 0 && !buf))
		return xp_public_result(-EINVAL);
	notes = text_filter(&text, event->filter);
	text_add(&text, " ident=%llu", (unsigned long long)event->ident);
	if (event->flags & XPOLL_ERROR)
		text_add(&text, " ERROR=%lld", (long long)event->data);
	else
		text_add(&text, " data=%lld", (long long)event->data);
	text_bits(&text, event->flags & ~(uint32_t)XPOLL_ERROR, flag_names);
	/* In a READ or WRITE event with EOF, fflags is a socket error. */
	if (notes == rw_names && event->flags & XPOLL_EOF && event->fflags)
		text_add(&text, " error=%u", (unsigned)event->fflags);
	else
		text_bits(&text, event->fflags, notes);
	return (int)text.len;
}

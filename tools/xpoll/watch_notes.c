/*
 * xpoll watch: the events of files, and how files are opened to be watched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch.h"

/* A word of --events. */
struct event_word {
	const char *word;
	uint32_t note; /* XPOLL_NOTE_... of a change of the file; 0: none */
	uint32_t name; /* WATCH_... of a change of its name; 0: none */
};

static const struct event_word event_words[] = {
	{ "create", 0, WATCH_CREATE },
	{ "delete", XPOLL_NOTE_DELETE, WATCH_DELETE },
	{ "rename", XPOLL_NOTE_RENAME, WATCH_RENAME },
	{ "write", XPOLL_NOTE_WRITE, 0 },
	{ "extend", XPOLL_NOTE_EXTEND, 0 },
	{ "truncate", XPOLL_NOTE_TRUNCATE, 0 },
	{ "attrib", XPOLL_NOTE_ATTRIB, 0 },
	{ "link", XPOLL_NOTE_LINK, 0 },
	{ "revoke", XPOLL_NOTE_REVOKE, 0 },
	{ "open", XPOLL_NOTE_OPEN, 0 },
	{ "read", XPOLL_NOTE_READ, 0 },
	{ "close", XPOLL_NOTE_CLOSE, 0 },
	{ "close-write", XPOLL_NOTE_CLOSE_WRITE, 0 },
};

#define EVENT_WORDS (sizeof event_words / sizeof event_words[0])
#define DEFAULT_NOTES \
	(XPOLL_NOTE_DELETE | XPOLL_NOTE_RENAME | XPOLL_NOTE_WRITE | \
	 XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE | XPOLL_NOTE_ATTRIB | \
	 XPOLL_NOTE_LINK | XPOLL_NOTE_REVOKE)

static int choose_one(struct watch *w, const char *word, size_t len)
{
	char all[160] = "";
	size_t used = 0;

	for (size_t i = 0; i < EVENT_WORDS; i++) {
		if (strlen(event_words[i].word) != len ||
		    strncmp(event_words[i].word, word, len) != 0)
			continue;
		w->notes |= event_words[i].note;
		w->names |= event_words[i].name;
		return TOOL_GO_ON;
	}
	for (size_t i = 0; i < EVENT_WORDS && used < sizeof all; i++)
		used += (size_t)snprintf(all + used, sizeof all - used, " %s",
		                         event_words[i].word);
	return tool_complain(w->usage, "--events: '%.*s' is not an event; known are%s",
	                     (int)len, word, all);
}

int watch_choose_events(struct watch *w, const char *list)
{
	w->notes = list == NULL ? DEFAULT_NOTES : 0;
	w->names = list == NULL ? WATCH_CREATE | WATCH_DELETE | WATCH_RENAME : 0;
	while (list != NULL) {
		size_t len = strcspn(list, ",");
		int result = choose_one(w, list, len);

		if (result != TOOL_GO_ON)
			return result;
		list = list[len] == ',' ? list + len + 1 : NULL;
	}
	return TOOL_GO_ON;
}

void watch_say_notes(const struct watch *w, struct watch_record *record,
                     uint32_t fflags)
{
	for (size_t i = 0; i < EVENT_WORDS; i++)
		if ((event_words[i].note & fflags & w->notes) != 0)
			watch_say(record, event_words[i].word);
}

void watch_show_name(struct watch *w, const char *source, uint32_t what,
                     const char *path, const char *to)
{
	struct watch_record record = { .source = source };

	for (size_t i = 0; i < EVENT_WORDS; i++)
		if ((event_words[i].name & what & w->names) != 0)
			watch_say(&record, event_words[i].word);
	watch_about(&record, "", "path", path);
	watch_about(&record, " -> ", "to", to);
	watch_show(w, &record);
}

/*
 * With O_PATH, opening a file has no effect on a device, needs no permission to read, and is no
 * event itself.  On systems without O_PATH only regular files and directories can be opened without
 * side effects, so all others are refused.
 */
int watch_open(const char *name, int flags)
{
#ifdef O_PATH
	return open(name, O_PATH | O_CLOEXEC | flags);
#else
	struct stat now;

	if (stat(name, &now) < 0)
		return -1;
	if (!S_ISREG(now.st_mode) && !S_ISDIR(now.st_mode)) {
		errno = ENOTSUP;
		return -1;
	}
	return open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
#endif
}

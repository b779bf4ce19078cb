/*
 * xpoll watch: prints an event as a line of text or an object of JSON.
 *
 * Names of files and commands may hold any bytes.  In text, control characters
 * and bytes that are not UTF-8 are written as \xNN, so that they cannot disturb
 * a terminal.  JSON is pure ASCII; a byte that is not UTF-8 becomes \udcNN, as
 * Python reads and writes it, so nothing is lost.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "watch.h"

void watch_say_number(struct watch_record *record, const char *word, const char *key,
                      int64_t number)
{
	struct watch_word *it = &record->words[record->words_len];

	if (record->words_len == WATCH_WORDS)
		return;
	it->word = word;
	it->key = key;
	it->number = number;
	record->words_len++;
}

void watch_say(struct watch_record *record, const char *word)
{
	watch_say_number(record, word, NULL, 0);
}

static void add_part(struct watch_record *record, struct watch_part part)
{
	if (record->parts_len < WATCH_PARTS)
		record->parts[record->parts_len++] = part;
}

void watch_about_brief(struct watch_record *record, const char *before,
                       const char *key, const char *text, int brief)
{
	struct watch_part part = {
		.before = before, .key = key, .text = text, .brief = brief,
	};

	if (text != NULL)
		add_part(record, part);
}

void watch_about(struct watch_record *record, const char *before, const char *key,
                 const char *text)
{
	watch_about_brief(record, before, key, text, 0);
}

void watch_about_number(struct watch_record *record, const char *before,
                        const char *key, int64_t number)
{
	struct watch_part part = { .before = before, .key = key, .number = number };

	add_part(record, part);
}

static void print_text(const char *text, int brief)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + (brief > 0 ? (size_t)brief : strlen(text));

	while (at < end) {
		unsigned code;
		int len = tool_decode(at, &code);

		if (len == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
			printf("\\x%02x", *at++);
			continue;
		}
		printf("%.*s", len, (const char *)at);
		at += len;
	}
}

/* If w->colour, the time is dim and the words are bold, by escape sequences (SGR of ECMA-48). */
static void show_text(const struct watch *w, const struct watch_record *record,
                      const struct timespec *now)
{
	char words[128] = "";
	size_t used = 0;
	struct tm local;

	for (int i = 0; i < record->words_len && used < sizeof words; i++) {
		const struct watch_word *it = &record->words[i];

		used += (size_t)snprintf(words + used, sizeof words - used, "%s%s",
		                         i > 0 ? " " : "", it->word);
		if (it->key != NULL && used < sizeof words)
			used += (size_t)snprintf(words + used, sizeof words - used,
			                         " %lld", (long long)it->number);
	}
	localtime_r(&now->tv_sec, &local);
	printf("%s%02d:%02d:%02d.%03ld%s  %-7s  %s%-14s%s  ", w->colour ? "\033[2m" : "",
	       local.tm_hour, local.tm_min, local.tm_sec, now->tv_nsec / 1000000,
	       w->colour ? "\033[0m" : "", record->source, w->colour ? "\033[1m" : "", words,
	       w->colour ? "\033[0m" : "");
	for (int i = 0; i < record->parts_len; i++) {
		const struct watch_part *part = &record->parts[i];

		fputs(part->before, stdout);
		if (part->text != NULL)
			print_text(part->text, part->brief);
		else
			printf("%lld", (long long)part->number);
	}
	putchar('\n');
}

static void show_json(const struct watch_record *record, const struct timespec *now)
{
	printf("{\"time\":%lld.%06ld,\"source\":\"%s\",\"events\":[",
	       (long long)now->tv_sec, now->tv_nsec / 1000, record->source);
	for (int i = 0; i < record->words_len; i++)
		printf("%s\"%s\"", i > 0 ? "," : "", record->words[i].word);
	putchar(']');
	for (int i = 0; i < record->words_len; i++)
		if (record->words[i].key != NULL)
			printf(",\"%s\":%lld", record->words[i].key,
			       (long long)record->words[i].number);
	for (int i = 0; i < record->parts_len; i++) {
		const struct watch_part *part = &record->parts[i];

		printf(",\"%s\":", part->key);
		if (part->text != NULL)
			tool_print_json(part->text);
		else
			printf("%lld", (long long)part->number);
	}
	puts("}");
}

void watch_show(struct watch *w, const struct watch_record *record)
{
	struct timespec now;

	/* One event may cause several lines: print none beyond the number of --count. */
	if (record->words_len == 0 || (w->count > 0 && w->shown >= w->count))
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!w->quiet && w->json)
		show_json(record, &now);
	else if (!w->quiet)
		show_text(w, record, &now);
	w->shown++;
	watch_run_note(w);
	w->broken = !tool_flush();
}

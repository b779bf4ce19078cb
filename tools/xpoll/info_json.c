/* xpoll info --json: everything as one JSON object. */
#include <stdio.h>
#include <string.h>

#include "info.h"
#include "tool.h"

static void print_pair(const char *before, const char *name, const char *value)
{
	fputs(before, stdout);
	tool_print_json(name);
	putchar(':');
	tool_print_json(value);
}

/* Print filters as "READ", and their notes as "READ.LOWAT". */
static void print_filters(const struct info_queues *queues, int at)
{
	const char *filter = "", *comma = "";

	for (const struct info_feature *it = info_features; it->name != NULL; it++) {
		int note = it->name[0] == ' ';

		if (!note)
			filter = it->name;
		if (!info_has(queues, at, it))
			continue;
		printf("%s\"%s%s%s\"", comma, filter, note ? "." : "", note ? it->name + 2 : "");
		comma = ",";
	}
}

static void print_backend(const struct info_queues *queues, int at)
{
	print_pair(at > 0 ? ",\n  {" : "\n  {", "name", queues->names[at]);
	printf(",\"usable\":%s", queues->open[at] != NULL ? "true" : "false");
	if (queues->open[at] == NULL)
		print_pair(",", "reason", strerror(queues->errors[at]));
	printf(",\"filters\":[");
	print_filters(queues, at);
	printf("]}");
}

static const char *limit_comma = "";

/* Print a limit as a member of an object: its value as a number if it is one, else as a string. */
static void print_limit(const char *label, const char *name, const char *value)
{
	(void)label;
	printf("%s\n  ", limit_comma);
	limit_comma = ",";
	tool_print_json(name);
	putchar(':');
	if (value[0] != '\0' && value[strspn(value, "-0123456789")] == '\0')
		fputs(value, stdout);
	else
		tool_print_json(value);
}

void info_print_json(struct info_queues *queues)
{
	struct info_text text = { .used = 0 };
	const char *comma = "";
	unsigned version = xpoll_version();

	printf("{\"version\":\"%u.%u.%u\"", version >> 16, version >> 8 & 0xff,
	       version & 0xff);
	info_system(&text);
	print_pair(",\n ", "system", text.text);
	print_pair(",\n ", "default", queues->chosen);
	printf(",\n \"backends\":[");
	for (int i = 0; i < queues->len; i++)
		print_backend(queues, i);
	info_close(queues);
	printf("],\n \"sources\":{");
	for (const struct info_feature *it = info_sources; it->name != NULL; it++) {
		int works = info_source(it, &text);

		printf("%s\n  ", comma);
		tool_print_json(it->name);
		printf(":{\"usable\":%s", works ? "true" : "false");
		print_pair(",", works ? "takes" : "reason", text.text);
		putchar('}');
		comma = ",";
	}
	printf("},\n \"limits\":{");
	info_limits(print_limit);
	printf("}}\n");
}

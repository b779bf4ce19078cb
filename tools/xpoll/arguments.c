/*
 * Options: parsing, messages, --help, all from one table.
 *
 * Accepts "-n 8", "-n8", "--rounds 5" and "--rounds=5".  The last of repeated
 * options counts.  A message names the argument, what was given and what was
 * expected.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xpoll.h>

#include "tool.h"

int tool_complain(const struct tool_usage *usage, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", usage->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry '%s --help'.\n", usage->name);
	return TOOL_USAGE;
}

void tool_print_version(void)
{
	unsigned version = xpoll_version();

	printf("xpoll %u.%u.%u\n", version >> 16, version >> 8 & 0xff, version & 0xff);
}

static void print_option_help(const struct tool_option *option)
{
	char left[40];

	snprintf(left, sizeof left, "%s %s", option->name, option->value_name);
	printf("  %-18s  %s", left, option->help);
	if (option->kind == TOOL_COUNT)
		printf(" (default %d)", *(const int *)option->value);
	else if (option->kind == TOOL_SECONDS)
		printf(" (default %g)", *(const double *)option->value);
	else if (option->kind == TOOL_CHOICE)
		printf(" (default %s)", option->choices[*(const int *)option->value]);
	putchar('\n');
}

void tool_print_help(const struct tool_usage *usage)
{
	const struct tool_option *option = usage->options;

	printf("usage: %s %s\n\n%s\noptions:\n", usage->name, usage->synopsis,
	       usage->text);
	for (; option != NULL && option->name != NULL; option++)
		print_option_help(option);
	printf("  %-18s  %s\n", "-h, --help", "print this and exit");
	printf("  %-18s  %s\n", "--version", "print the version and exit");
}

static int wrong_value(const struct tool_usage *usage, const struct tool_option *option,
                       const char *value)
{
	char list[128] = "";
	size_t used = 0;

	switch (option->kind) {
	case TOOL_COUNT:
		return tool_complain(usage, "%s %s: expected a whole number from %.0f to %.0f",
		                     option->name, value, option->min, option->max);
	case TOOL_SECONDS:
		return tool_complain(usage, "%s %s: expected a number from %g to %g",
		                     option->name, value, option->min, option->max);
	case TOOL_CHOICE:
		for (int i = 0; option->choices[i] != NULL && used < sizeof list; i++)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
			                         i > 0 ? " or " : "", option->choices[i]);
		return tool_complain(usage, "%s %s: expected %s", option->name, value, list);
	case TOOL_TEXT:
		break;
	}
	return tool_complain(usage, "%s: expected %s, not nothing", option->name,
	                     option->value_name);
}

static bool read_count(const struct tool_option *option, const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (text[strspn(text, "0123456789")] != '\0' || end == text || errno != 0)
		return false;
	if ((double)number < option->min || (double)number > option->max)
		return false;
	*(int *)option->value = (int)number;
	return true;
}

static bool read_seconds(const struct tool_option *option, const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (text[strspn(text, "0123456789.")] != '\0' || end == text || *end != '\0')
		return false;
	if (!(number >= option->min && number <= option->max))
		return false;
	*(double *)option->value = number;
	return true;
}

static bool read_choice(const struct tool_option *option, const char *text)
{
	for (int i = 0; option->choices[i] != NULL; i++) {
		if (strcmp(option->choices[i], text) == 0) {
			*(int *)option->value = i;
			return true;
		}
	}
	return false;
}

static bool read_value(const struct tool_option *option, const char *text)
{
	switch (option->kind) {
	case TOOL_COUNT:
		return read_count(option, text);
	case TOOL_SECONDS:
		return read_seconds(option, text);
	case TOOL_CHOICE:
		return read_choice(option, text);
	case TOOL_TEXT:
		*(const char **)option->value = text;
		return text[0] != '\0';
	}
	return false;
}

/* How many characters of argument are this option's name; 0: not this one. */
static size_t match_name(const struct tool_option *option, const char *argument)
{
	size_t len = strlen(option->name);

	if (strncmp(argument, option->name, len) != 0)
		return 0;
	if (argument[1] != '-') /* "-n", perhaps with its value right behind */
		return len;
	return argument[len] == '\0' || argument[len] == '=' ? len : 0;
}

static const struct tool_option *find_option(const struct tool_usage *usage,
                                             const char *argument, size_t *len)
{
	const struct tool_option *option = usage->options;

	for (; option != NULL && option->name != NULL; option++) {
		*len = match_name(option, argument);
		if (*len > 0)
			return option;
	}
	return NULL;
}

/* One argument, and perhaps its value; how many were used, or 0: wrong. */
static int take_option(const struct tool_usage *usage, int left, char **argv)
{
	size_t len = 0;
	const struct tool_option *option = find_option(usage, argv[0], &len);
	const char *value;

	if (option == NULL) {
		(void)tool_complain(usage, argv[0][0] == '-' ? "%s: no such option"
		                                             : "%s: not expected here",
		                    argv[0]);
		return 0;
	}
	value = argv[0] + len;
	if (*value == '=' && argv[0][1] == '-')
		value++;
	else if (*value == '\0')
		value = left > 1 ? argv[1] : NULL;
	if (value == NULL) {
		(void)tool_complain(usage, "%s: expected %s behind it", option->name,
		                    option->value_name);
		return 0;
	}
	if (!read_value(option, value)) {
		(void)wrong_value(usage, option, value);
		return 0;
	}
	return left > 1 && value == argv[1] ? 2 : 1;
}

int tool_parse(const struct tool_usage *usage, int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		int used;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			tool_print_help(usage);
			return TOOL_OK;
		}
		if (strcmp(argv[i], "--version") == 0) {
			tool_print_version();
			return TOOL_OK;
		}
		used = take_option(usage, argc - i, argv + i);
		if (used == 0)
			return TOOL_USAGE;
		i += used;
	}
	return TOOL_GO_ON;
}

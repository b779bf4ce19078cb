/*
 * Parses options, and prints messages about them and --help, all from one table (struct
 * tool_option).
 *
 * Accepts "-n 8", "-n8", "--rounds 5", "--rounds=5" and "-qr" for "-q -r"; behind "--" no argument
 * is an option.  If an option is repeated, the last value counts, unless the option makes a list.
 * A message names the option, the value that was given and the values that are expected.
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

__attribute__((format(printf, 2, 0)))
static void say(const struct tool_usage *usage, const char *format, va_list arguments)
{
	fprintf(stderr, "%s: ", usage->name);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

int tool_complain(const struct tool_usage *usage, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(usage, format, arguments);
	va_end(arguments);
	fprintf(stderr, "Try '%s --help'.\n", usage->name);
	return TOOL_USAGE;
}

void tool_warn(const struct tool_usage *usage, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(usage, format, arguments);
	va_end(arguments);
}

int tool_complain_no_queue(const struct tool_usage *usage)
{
	const char *wanted = getenv("XPOLL_BACKEND");
	const char *names[16] = { NULL };
	char list[256] = "";
	size_t used = 0;
	int error = errno;
	int len = xpoll_backends(names, 16);

	if (error != ENOTSUP || wanted == NULL) {
		tool_warn(usage, "no queue can be opened: %s", strerror(error));
		return TOOL_FAILED;
	}
	for (int i = 0; i < len && i < 16 && used < sizeof list; i++)
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
		                         i > 0 ? ", " : "", names[i]);
	tool_warn(usage, "XPOLL_BACKEND: no back end \"%s\"; usable here: %s", wanted, list);
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
	if (option->kind == TOOL_COUNT && *(const int *)option->value >= option->min)
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

/* Print a message about a wrong value of an option.  Returns TOOL_USAGE. */
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
	case TOOL_TIME:
		return tool_complain(usage, "%s %s: expected a time such as 500ms, 2s or 1.5m",
		                     option->name, value);
	case TOOL_CHOICE:
		for (int i = 0; option->choices[i] != NULL && used < sizeof list; i++)
			used += (size_t)snprintf(
				list + used, sizeof list - used, "%s%s",
				i == 0 ? "" : option->choices[i + 1] ? ", " : " or ",
				option->choices[i]);
		return tool_complain(usage, "%s %s: expected %s", option->name, value, list);
	case TOOL_TEXT:
	case TOOL_LIST:
	case TOOL_FLAG:
	case TOOL_REST:
		break;
	}
	return tool_complain(usage, "%s needs a value: %s", option->name,
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

bool tool_read_time(const char *text, double min, double max, int64_t *ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "", 1 }, { "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 },
		{ "s", 1 }, { "m", 60 }, { "h", 3600 },
	};
	size_t digits = strspn(text, "0123456789.");
	char *end;
	double number = strtod(text, &end);

	if (digits == 0 || end != text + digits) /* refuse "", "1.2.3", "inf" and "0x1p3" */
		return false;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		number *= units[i].seconds;
		if (!(number >= min && number <= max))
			return false;
		*ns = (int64_t)(number * 1e9 + 0.5);
		return true;
	}
	return false;
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

static void list_append(struct tool_list *list, const char *option, const char *text)
{
	list->items[list->len].option = option;
	list->items[list->len].text = text;
	list->len++;
}

static bool read_value(const struct tool_option *option, const char *text)
{
	switch (option->kind) {
	case TOOL_COUNT:
		return read_count(option, text);
	case TOOL_SECONDS:
		return read_seconds(option, text);
	case TOOL_TIME:
		return tool_read_time(text, option->min, option->max, option->value);
	case TOOL_CHOICE:
		return read_choice(option, text);
	case TOOL_TEXT:
		*(const char **)option->value = text;
		return text[0] != '\0';
	case TOOL_LIST:
		list_append(option->value, option->name, text);
		return text[0] != '\0';
	case TOOL_FLAG:
	case TOOL_REST: /* take_flag has handled both, which take no value */
		break;
	}
	return false;
}

/*
 * Returns how many characters at the beginning of the argument are this option's name; 0: the
 * argument is another option.
 */
static size_t match_name(const struct tool_option *option, const char *argument)
{
	size_t len = strlen(option->name);

	if (strncmp(argument, option->name, len) != 0)
		return 0;
	if (argument[1] != '-') /* "-n", perhaps followed by its value */
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

/* Handle an argument such as "-qr", a letter for each flag.  Returns like take_option. */
static int take_flags(const struct tool_usage *usage, const char *argument)
{
	for (const char *at = argument + 1; *at != '\0'; at++) {
		const char name[] = { '-', *at, '\0' };
		size_t len;
		const struct tool_option *option = find_option(usage, name, &len);

		if (option == NULL || option->kind != TOOL_FLAG) {
			(void)tool_complain(usage, option == NULL ? "%s: no such option %s"
			                    : "%s: %s needs a value of its own",
			                    argument, name);
			return 0;
		}
		*(bool *)option->value = true;
	}
	return 1;
}

/*
 * Handle argv[0] if it is a flag, or an option that takes all arguments after it (TOOL_REST); left:
 * number of arguments.  Returns like take_option.
 */
static int take_flag(const struct tool_usage *usage, const struct tool_option *option,
                     int left, char **argv)
{
	if (option->kind == TOOL_FLAG && argv[0][1] != '-')
		return take_flags(usage, argv[0]);
	if (strcmp(argv[0], option->name) != 0) {
		(void)tool_complain(usage, "%s: %s takes no value", argv[0],
		                    option->name);
		return 0;
	}
	if (option->kind == TOOL_FLAG) {
		*(bool *)option->value = true;
		return 1;
	}
	if (left == 1) {
		(void)tool_complain(usage, "%s needs a value: %s", option->name,
		                    option->value_name);
		return 0;
	}
	*(char ***)option->value = argv + 1;
	return left;
}

/*
 * Handle the option argv[0], and its value, which may be argv[1]; left: number of arguments.
 * Returns how many arguments were used; 0: a message was printed about an error.
 */
static int take_option(const struct tool_usage *usage, int left, char **argv)
{
	size_t len = 0;
	const struct tool_option *option = find_option(usage, argv[0], &len);
	const char *value;

	if (option == NULL) {
		(void)tool_complain(usage, "%s: no such option", argv[0]);
		return 0;
	}
	if (option->kind == TOOL_FLAG || option->kind == TOOL_REST)
		return take_flag(usage, option, left, argv);
	value = argv[0] + len;
	if (*value == '=' && argv[0][1] == '-')
		value++;
	else if (*value == '\0')
		value = left > 1 ? argv[1] : NULL;
	if (value == NULL) {
		(void)tool_complain(usage, "%s needs a value: %s", option->name,
		                    option->value_name);
		return 0;
	}
	if (!read_value(option, value)) {
		(void)wrong_value(usage, option, value);
		return 0;
	}
	return left > 1 && value == argv[1] ? 2 : 1;
}

static int take_operand(const struct tool_usage *usage, const char *text)
{
	if (usage->operands == NULL || text[0] == '\0') {
		(void)tool_complain(usage, "unexpected argument '%s'", text);
		return 0;
	}
	list_append(usage->operands, NULL, text);
	return 1;
}

int tool_parse(const struct tool_usage *usage, int argc, char **argv)
{
	bool only_operands = false;

	for (int i = 1; i < argc;) {
		int used;

		if (only_operands || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (take_operand(usage, argv[i]) == 0)
				return TOOL_USAGE;
			i++;
			continue;
		}
		if (strcmp(argv[i], "--") == 0) {
			only_operands = true;
			i++;
			continue;
		}
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

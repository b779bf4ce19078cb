/*
 * The xpoll command: what its subcommands share.
 *
 * A subcommand is a file with a struct tool_command, listed in xpoll.c.  It
 * declares its options in a table, from which both the parser and --help are
 * made, so they cannot disagree.
 *
 * Exit codes: 0 done; 1 it failed; 2 the arguments are wrong.
 */
#ifndef XPOLL_TOOL_H
#define XPOLL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = 2,
	TOOL_GO_ON = -1, /* from tool_parse: the arguments are fine */
};

enum tool_kind {
	TOOL_COUNT,   /* a whole number from min to max, into an int */
	TOOL_SECONDS, /* a number from min to max, into a double */
	TOOL_TIME,    /* "500ms", from min to max seconds; stored in ns in an int64_t */
	TOOL_CHOICE,  /* one of the choices; its index is stored in an int */
	TOOL_TEXT,    /* a text that is not empty, into a const char * */
	TOOL_LIST,    /* a text; each is appended to a struct tool_list */
	TOOL_FLAG,    /* no value; stores true in a bool */
	TOOL_REST,    /* all arguments after it, into a char ** */
};

/* An argument; option is NULL for an operand. */
struct tool_item {
	const char *option; /* "--file" */
	const char *text;
};

struct tool_list {
	struct tool_item *items; /* the caller's array, with room for argc elements */
	int len;
};

struct tool_option {
	const char *name;           /* "-n" or "--rounds"; NULL ends the table */
	const char *value_name;     /* "PIPES" */
	const char *help;
	enum tool_kind kind;
	double min;
	double max;
	const char *const *choices; /* ended by NULL */
	void *value; /* where to store the value; holds the default; below min: none */
};

/* The description of a (sub)command for tool_parse and --help. */
struct tool_usage {
	const char *name;     /* "xpoll bench looptest" */
	const char *synopsis; /* what follows the name: "[OPTION]..." */
	const char *text;     /* paragraphs for --help */
	const struct tool_option *options; /* NULL: none */
	struct tool_list *operands; /* where to store operands; NULL: operands are an error */
};

struct tool_command {
	const char *name;
	const char *summary;
	/* argv[0] is the name of the subcommand; returns an exit code. */
	int (*run)(int argc, char **argv);
};

/* The subcommands on this system; ends with NULL. */
extern const struct tool_command *const tool_commands[];

extern const struct tool_command tool_info;
extern const struct tool_command tool_bench;
extern const struct tool_command tool_run;
extern const struct tool_command tool_selftest;
extern const struct tool_command tool_watch;

/*
 * Parse all arguments, among them --help and --version.  Returns TOOL_GO_ON; or the exit code to
 * end with, after all messages.
 */
int tool_parse(const struct tool_usage *usage, int argc, char **argv);

/* Call first: prepares the standard descriptors and signals that the process was started with. */
void tool_begin(void);

/*
 * Restore the signal dispositions that this command was started with, for a program that replaces
 * it.
 */
void tool_restore_signals(void);

/* Print a message about wrong arguments.  Returns TOOL_USAGE. */
int tool_complain(const struct tool_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns the path of a library that was built or installed with this command; NULL: not found.
 * Valid until the next call.
 */
const char *tool_find_library(const char *name);

/* Print a message about a failure. */
void tool_warn(const struct tool_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Print why xpoll_open(NULL) has failed, with the values of XPOLL_BACKEND that would work.  Returns
 * the exit code.
 */
int tool_complain_no_queue(const struct tool_usage *usage);

/* Print text as a JSON string in ASCII; a byte that is not UTF-8 becomes \udcNN. */
void tool_print_json(const char *text);

/*
 * Returns the length of the UTF-8 sequence at text, and stores its code point; 0: it is none.
 * Overlong forms and surrogates are none.
 */
int tool_decode(const unsigned char *text, unsigned *code);

/*
 * Parse a time such as "500ms", "2s", "1.5m" or "3" into nanoseconds.  Returns false if it is none,
 * or not from min to max seconds.
 */
bool tool_read_time(const char *text, double min, double max, int64_t *ns);

/*
 * Returns the number of a signal by its name, "HUP", "SIGHUP", "RTMIN+1", or by its number; 0:
 * there is none.  The inverse function stores the text in buffer and returns it.
 */
int tool_read_signal(const char *text);
const char *tool_signal_name(int number, char *buffer, size_t size);

/*
 * Flush standard output.  Returns false if that fails, after a message, unless only its reader has
 * exited.
 */
bool tool_flush(void);

void tool_print_help(const struct tool_usage *usage);
void tool_print_version(void);

#endif

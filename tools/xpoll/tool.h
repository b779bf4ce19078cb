/*
 * Declarations that the subcommands of the xpoll command share.
 *
 * A subcommand is a file with a struct tool_command, listed in commands.c.  The file declares its
 * options in a table, which both the parser and --help use, so they cannot disagree.
 *
 * Exit codes: 0 done; 1 the command failed; 2 the arguments are wrong.
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
	TOOL_GO_ON = -1, /* returned in place of an exit code: continue */
};

/* The kind of an option's value, and the type of the variable it is stored in. */
enum tool_kind {
	TOOL_COUNT,   /* a whole number from min to max, into an int */
	TOOL_SECONDS, /* a number from min to max, into a double */
	TOOL_TIME,    /* "500ms", from min to max seconds; stored in ns in an int64_t */
	TOOL_CHOICE,  /* one of the choices; its index is stored in an int */
	TOOL_TEXT,    /* a text that is not empty, into a const char * */
	TOOL_LIST,    /* a text; one for each use of the option is appended to a struct tool_list */
	TOOL_FLAG,    /* no value; stores true in a bool */
	TOOL_REST,    /* all arguments after the option, into a char ** */
};

/* The value of an option of kind TOOL_LIST, or an operand. */
struct tool_item {
	const char *option; /* "--file"; NULL: an operand */
	const char *text;
};

struct tool_list {
	struct tool_item *items; /* the caller's array, with room for argc elements */
	int len;
};

struct tool_option {
	const char *name;           /* "-n" or "--rounds"; NULL ends the table */
	const char *value_name;     /* "PIPES", for --help */
	const char *help;
	enum tool_kind kind;
	double min; /* bounds of the value; the kind says which use them, and the unit */
	double max;
	const char *const *choices; /* ended by NULL */
	void *value; /* the variable; holds the default at first (a count below min: no default) */
};

/* A description of a (sub)command for tool_parse, --help and messages. */
struct tool_usage {
	const char *name;     /* "xpoll bench looptest" */
	const char *synopsis; /* text after the name: "[OPTION]..." */
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
 * end with, if help, the version or a message about wrong arguments was printed.
 */
int tool_parse(const struct tool_usage *usage, int argc, char **argv);

/* Open closed standard descriptors and ignore SIGPIPE; to be called first in main. */
void tool_begin(void);

/* Restore the disposition of SIGPIPE that tool_begin has changed, before a program is executed. */
void tool_restore_signals(void);

/* Print a message about wrong arguments.  Returns TOOL_USAGE. */
int tool_complain(const struct tool_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns the path of a library that was built or installed with this command; NULL: not found.
 * Valid until the next call.
 */
const char *tool_find_library(const char *name);

/* Print a message about a failure to stderr. */
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
 * Returns the length of the UTF-8 sequence at text, and stores its code point; 0: the bytes are not
 * UTF-8.  Overlong forms and surrogates are not.
 */
int tool_decode(const unsigned char *text, unsigned *code);

/*
 * Parse a time such as "500ms", "2s", "1.5m" or "3" (seconds) into nanoseconds.  Returns false if
 * the text is not a time, or not from min to max seconds.
 */
bool tool_read_time(const char *text, double min, double max, int64_t *ns);

/*
 * Returns the number of a signal by its name, "HUP", "SIGHUP", "RTMIN+1", or by its number; 0: the
 * text is no signal.  The inverse function returns the name, which it may store in buffer.
 */
int tool_read_signal(const char *text);
const char *tool_signal_name(int number, char *buffer, size_t size);

/*
 * Flush standard output.  Returns false if that, or an earlier write, has failed.  Prints the error
 * of the first failed flush, unless the reader has exited or a signal has interrupted the flush.
 */
bool tool_flush(void);

void tool_print_help(const struct tool_usage *usage);
void tool_print_version(void);

#endif

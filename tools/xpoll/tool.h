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
	TOOL_TIME,    /* "500ms", min to max seconds; ns, into an int64_t */
	TOOL_CHOICE,  /* one of the choices: its index, into an int */
	TOOL_TEXT,    /* anything but nothing, into a const char * */
	TOOL_LIST,    /* the same, each time: behind a struct tool_list */
	TOOL_FLAG,    /* no value: true, into a bool */
	TOOL_REST,    /* every argument behind it, into a char ** */
};

/* Arguments in their order; option is NULL for one that is no option. */
struct tool_item {
	const char *option; /* "--file" */
	const char *text;
};

struct tool_list {
	struct tool_item *items; /* the caller's, with room for argc of them */
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
	void *value; /* where it goes; holds the default, below min: none */
};

/* What tool_parse and --help need to know of a (sub)command. */
struct tool_usage {
	const char *name;     /* "xpoll bench looptest" */
	const char *synopsis; /* what follows the name: "[OPTION]..." */
	const char *text;     /* paragraphs for --help */
	const struct tool_option *options; /* NULL: none */
	struct tool_list *operands; /* for what is no option; NULL: an error */
};

struct tool_command {
	const char *name;
	const char *summary;
	/* argv[0] is the name of the subcommand; returns an exit code. */
	int (*run)(int argc, char **argv);
};

/* Those of this system; ends with NULL. */
extern const struct tool_command *const tool_commands[];

extern const struct tool_command tool_info;
extern const struct tool_command tool_bench;
extern const struct tool_command tool_run;
extern const struct tool_command tool_selftest;
extern const struct tool_command tool_watch;

/*
 * Read all arguments as options, --help and --version among them.  Returns
 * TOOL_GO_ON, or the exit code to end with; then everything has been said.
 */
int tool_parse(const struct tool_usage *usage, int argc, char **argv);

/* Before all else: nothing that this process was given shall be in the way. */
void tool_begin(void);

/* Signals as this command got them, for a program that takes its place. */
void tool_restore_signals(void);

/* Say what is wrong with the arguments; returns TOOL_USAGE. */
int tool_complain(const struct tool_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * The path of a library that was built or installed with this command; NULL if
 * it is not there.  Valid until the next call.
 */
const char *tool_find_library(const char *name);

/* Say what went wrong, or is not as it should be. */
void tool_warn(const struct tool_usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * After xpoll_open(NULL) has failed: say why, and what XPOLL_BACKEND may be if that is
 * the mistake.  Returns the exit code.
 */
int tool_complain_no_queue(const struct tool_usage *usage);

/* Text as a string of JSON, pure ASCII: a byte that is not UTF-8 becomes \udcNN. */
void tool_print_json(const char *text);

/*
 * The length of the UTF-8 sequence at text, and its code point; 0 if it is
 * none.  Overlong forms and surrogates are none.
 */
int tool_decode(const unsigned char *text, unsigned *code);

/*
 * A time as people write it, "500ms" "2s" "1.5m" "3": nanoseconds.  False if it
 * is none, or not from min to max seconds.
 */
bool tool_read_time(const char *text, double min, double max, int64_t *ns);

/*
 * A signal by its name, "HUP" "SIGHUP" "RTMIN+1", or its number; 0: there is
 * none such.  The other way round the text goes to buffer and is returned.
 */
int tool_read_signal(const char *text);
const char *tool_signal_name(int number, char *buffer, size_t size);

/*
 * Write out what was printed so far.  False if standard output is broken;
 * this has been said then, unless its reader just went away.
 */
bool tool_flush(void);

void tool_print_help(const struct tool_usage *usage);
void tool_print_version(void);

#endif

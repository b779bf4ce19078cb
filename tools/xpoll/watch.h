/*
 * Declarations that the files of xpoll watch share.
 *
 * A source is one thing that the command line asks to watch.  Each watched
 * object is a struct that begins with a watch_item, to which the udata of its
 * registrations points.  The loop in cmd_watch.c takes one event at a time from
 * the queue and passes it to the item, so an item may delete its registrations,
 * and free itself, whenever it is called: no event that was taken earlier can
 * point to it.
 *
 * Functions that add a source return TOOL_GO_ON; or the exit code after they
 * have printed a message.
 */
#ifndef XPOLL_WATCH_H
#define XPOLL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <xpoll.h>

#include "tool.h"

#define WATCH_SECOND 1000000000LL /* ns */

struct watch;
struct watch_item;

typedef void watch_handler(struct watch *, struct watch_item *,
                           const struct xpoll_event *);

struct watch_item {
	watch_handler *happened; /* called with each event of the item's registrations */

	struct watch_item *next; /* in watch.items */
	/* Called when the command ends, for all linked items, the last linked one first. */
	void (*close)(struct watch *, struct watch_item *);
};

struct watch {
	const struct tool_usage *usage;
	struct xpoll *queue;

	/* The options. */
	bool json, quiet, recursive;
	bool colour; /* colour the text, on a terminal */
	int count;       /* number of lines after which the command ends; 0: any number */
	uint32_t notes;  /* requested notes of files, XPOLL_NOTE_... */
	uint32_t names;  /* requested changes of names, WATCH_CREATE ... */
	const struct tool_list *excluded; /* patterns of --exclude */
	const char *run; /* shell command of --run; NULL: none */
	int64_t deadline_ns; /* when --timeout ends the command, monotonic; INT64_MAX: never */

	/* The state. */
	struct watch_item *items;
	int sources;  /* number of sources that may still report something; 0: end */
	int shown;    /* number of lines printed, or counted with -q */
	bool incomplete; /* something that was requested cannot be watched: exit code 1 */
	bool broken;  /* standard output cannot be written: end with exit code 1 */
	bool failed;  /* the queue or a tree has failed: exit code 1 */
	pid_t child;  /* the command of --exec; 0: none, or it has ended */
	int status;   /* the exit code of `child`, once it has ended */
	pid_t runner; /* the command of --run; 0: none is running */

	/* Used by watch_tree.c. */
	int unwatched; /* number of entries that cannot be watched */
	int limit;     /* first errno value not about permissions or a long name; 0: none */

	/* Used by watch_settle_soon. */
	int64_t settle_ns;  /* when to compare names next; INT64_MAX: no comparison is needed */
	int64_t rest_until_ns; /* earliest time of the next comparison */
};

/* --- watch_item.c: items and their registrations -------------------------- */

int64_t watch_now_ns(void); /* monotonic */

/* Add an item to the list, whose items are closed when the command ends; remove one. */
void watch_link(struct watch *w, struct watch_item *item);
void watch_unlink(struct watch *w, struct watch_item *item);

/* Make or change a registration, whose events go to item.  Returns 0 or an errno value. */
int watch_register(struct watch *w, uint64_t ident, int filter, int flags,
                   uint32_t fflags, int64_t data, struct watch_item *item);

/* Returns true if there is such a registration: then a source given twice needs no second one. */
bool watch_has(const struct watch *w, uint64_t ident, int filter);

/*
 * Register a new source, link and count it.  Returns TOOL_GO_ON, or an exit code after a message.
 */
int watch_add(struct watch *w, const struct tool_item *argument, uint64_t ident,
              int filter, int flags, uint32_t fflags, int64_t data,
              struct watch_item *item);

/* Print why the object of an argument cannot be watched.  Returns TOOL_USAGE. */
int watch_refuse(const struct watch *w, const struct tool_item *argument,
                 int error);

/* Returns a text for an errno value of a registration, with the name of an exhausted limit. */
const char *watch_reason(int error);

/*
 * To be called when names were added or removed: have them compared a little later, by
 * watch_file_settle.  By then related reports, such as the two of a rename, will have arrived.
 */
void watch_settle_soon(struct watch *w);

/* --- watch_show.c: lines of text, or objects of JSON ---------------------- */

#define WATCH_WORDS 16
#define WATCH_PARTS 4

/* A word for something that happened, perhaps with a number: "read 12". */
struct watch_word {
	const char *word; /* "write" */
	const char *key;  /* the name of `number` in JSON; NULL: the word has no number */
	int64_t number;
};

/* An object that took part in the event, such as a path; a text or a number. */
struct watch_part {
	const char *before; /* printed before it in lines of text: " -> " */
	const char *key;    /* its name in JSON: "path" */
	const char *text;   /* NULL: `number` is the value */
	int64_t number;
	int brief; /* most bytes to print in lines of text; 0: all */
};

/* One line of output. */
struct watch_record {
	const char *source; /* "file" */
	struct watch_word words[WATCH_WORDS];
	struct watch_part parts[WATCH_PARTS]; /* the first is the object that it happened to */
	int words_len, parts_len;
};

/* Append a word; words beyond WATCH_WORDS are left out. */
void watch_say(struct watch_record *record, const char *word);
void watch_say_number(struct watch_record *record, const char *word, const char *key,
                      int64_t number);
/* Append a part; text NULL appends none. */
void watch_about(struct watch_record *record, const char *before, const char *key,
                 const char *text);
void watch_about_brief(struct watch_record *record, const char *before,
                       const char *key, const char *text, int brief);
void watch_about_number(struct watch_record *record, const char *before,
                        const char *key, int64_t number);

/* Print a record, count it, and pass it to --run; does nothing if it has no words. */
void watch_show(struct watch *w, const struct watch_record *record);

/* --- watch_simple.c ------------------------------------------------------- */

int watch_add_timer(struct watch *w, const struct tool_item *argument);
int watch_add_signal(struct watch *w, const struct tool_item *argument);
int watch_add_fd(struct watch *w, const struct tool_item *argument);

/* --- watch_listen.c ------------------------------------------------------- */

int watch_add_listen(struct watch *w, const struct tool_item *argument);

/* --- watch_notes.c: the words of --events, and opening what is watched ---- */

/* Changes of names; bits of watch.names. */
#define WATCH_CREATE 0x1u
#define WATCH_DELETE 0x2u
#define WATCH_RENAME 0x4u

/* Notes that are certain in an event with data 1: reports were dropped, so others are guesses. */
#define WATCH_CERTAIN \
	(XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE | XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE)

/* Set w->notes and w->names from a list such as "write,create"; NULL: the default. */
int watch_choose_events(struct watch *w, const char *list);

/* Add the requested notes among fflags to the record. */
void watch_say_notes(const struct watch *w, struct watch_record *record,
                     uint32_t fflags);

/* Print one line about a change of the name `path`; to: the new name after a rename, or NULL. */
void watch_show_name(struct watch *w, const char *source, uint32_t what,
                     const char *path, const char *to);

/* Open a file to watch it, without reading it.  Returns the descriptor, or -1 with errno. */
int watch_open(const char *name, int flags);

/* --- watch_file.c, watch_tree.c ------------------------------------------- */

int watch_add_file(struct watch *w, const struct tool_item *argument);
int watch_add_tree(struct watch *w, const struct tool_item *argument);
int watch_add_path(struct watch *w, const struct tool_item *argument);

/* Find out which files have the names of --file now, in directories that have changed. */
void watch_file_settle(struct watch *w);

/* --- watch_process.c ------------------------------------------------------ */

int watch_add_pid(struct watch *w, const struct tool_item *argument);
int watch_add_exec(struct watch *w, char **command);

/* --- watch_spawn.c -------------------------------------------------------- */

/*
 * Install handlers of the signals that end xpoll watch, and raise the limit of open files.  The
 * second function restores the dispositions of all signals.
 */
void watch_signals_open(struct watch *w);
void watch_signals_close(void);

/* Ignore and unblock a signal; commands that are started still get its former disposition. */
void watch_signal_ignore(int number);

/*
 * Returns the first signal that came to end xpoll watch; 0: none.  Passes a signal on to the
 * commands of --exec and --run if it was not sent to them as well.
 */
int watch_stopped(const struct watch *w);
bool watch_stopped_twice(void); /* such signals have come more than once */

/* A child that was forked; one of the two functions below releases the descriptors. */
struct watch_spawned {
	pid_t pid;
	int gate, failure; /* descriptors of two pipes, see watch_spawn.c */
};

/* Fork a child, which executes argv after watch_spawn_go.  Returns 0, or -1 with errno. */
int watch_spawn(const struct watch *w, char *const argv[],
                struct watch_spawned *spawned);
/* Let the child execute its program.  Returns 0, or the errno value with which exec failed. */
int watch_spawn_go(struct watch_spawned *spawned);
/* End the child without executing its program. */
void watch_spawn_cancel(struct watch_spawned *spawned);

/* Reap a child.  Returns the exit code that a shell has for it: 128 + the signal if killed. */
int watch_reap(pid_t pid);

/* --- watch_run.c ---------------------------------------------------------- */

/* Record that a line was shown, so that the command of --run has to run. */
void watch_run_note(struct watch *w);
/* Start the command of --run if its time has come. */
void watch_run_step(struct watch *w, int64_t now_ns);
/* Returns when to call watch_run_step; INT64_MAX: not before another event. */
int64_t watch_run_due_ns(const struct watch *w);
/* Returns true if the command of --run runs, or has to. */
bool watch_run_busy(const struct watch *w);

/* Returns true once xpoll watch has to end; loops over several changes check this, too. */
bool watch_has_ended(const struct watch *w, bool queue_is_empty, int64_t now_ns);

#endif

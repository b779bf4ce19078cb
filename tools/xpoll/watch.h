/*
 * xpoll watch: what its files share.
 *
 * Whatever is watched is a struct that begins with a watch_item; the udata of
 * its registrations points there.  The loop in cmd_watch.c takes one event at
 * a time from the queue and hands it to the item, so an item may delete its
 * registrations, and free itself, whenever it is called: no event that was
 * taken earlier can point to it.
 *
 * Functions that add a source return TOOL_GO_ON, or have said what is wrong
 * and return the exit code.
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
	watch_handler *happened;

	/* Links the list of all items; the end closes them, the last linked one first. */
	struct watch_item *next;
	void (*close)(struct watch *, struct watch_item *);
};

struct watch {
	const struct tool_usage *usage;
	struct xpoll *queue;

	/* The options. */
	bool json, quiet, recursive;
	bool colour; /* colour the text, on a terminal */
	int count;       /* lines to end after; 0: any number */
	uint32_t notes;  /* requested notes of files, XPOLL_NOTE_... */
	uint32_t names;  /* requested changes of names, WATCH_CREATE ... */
	const struct tool_list *excluded;
	const char *run; /* NULL: nothing */
	int64_t deadline_ns; /* INT64_MAX: none */

	/* The state. */
	struct watch_item *items;
	int sources;  /* number of sources that may still report something */
	int shown;    /* lines */
	bool partly;  /* something that was requested cannot be watched */
	bool broken;  /* standard output cannot be written */
	bool failed;
	pid_t child;  /* the command of --exec; 0: none, or it has ended */
	int status;   /* its exit code, once it has ended */
	pid_t runner; /* the command of --run; 0: it is not running */

	/* Used by watch_tree.c. */
	int unwatched; /* number of entries that cannot be watched */
	int limit;     /* the errno value, if that is for lack of a resource */

	/* Used by watch_settle_soon. */
	int64_t settle_ns;  /* when to compare names; INT64_MAX: never */
	int64_t rested_ns;  /* not before */
};

/* --- watch_item.c: what is watched ---------------------------------------- */

int64_t watch_now_ns(void); /* monotonic */

void watch_link(struct watch *w, struct watch_item *item);
void watch_unlink(struct watch *w, struct watch_item *item);

/* Make a registration; its events go to item.  Returns 0 or an errno. */
int watch_register(struct watch *w, uint64_t ident, int filter, int flags,
                   uint32_t fflags, int64_t data, struct watch_item *item);

/* Returns true if the object is registered already: one registration reports everything. */
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

/* Returns the meaning of an errno value here, with the limit that was exhausted. */
const char *watch_reason(int error);

/*
 * Names were added or removed: compare them a little later.  By then related reports, such as the
 * two ends of a rename, will have arrived.
 */
void watch_settle_soon(struct watch *w);

/* --- watch_show.c: lines of text, or objects of JSON ---------------------- */

#define WATCH_WORDS 16
#define WATCH_PARTS 4

struct watch_word {
	const char *word; /* "write" */
	const char *key;  /* the name of its number in JSON; NULL: it has no number */
	int64_t number;
};

struct watch_part {
	const char *before; /* in text: " -> " */
	const char *key;    /* in JSON: "path" */
	const char *text;   /* NULL: the number */
	int64_t number;
	int brief; /* most bytes to print in text; 0: all */
};

struct watch_record {
	const char *source; /* "file" */
	struct watch_word words[WATCH_WORDS];
	/* the objects of the event; the first is its subject */
	struct watch_part parts[WATCH_PARTS];
	int words_len, parts_len;
};

void watch_say(struct watch_record *record, const char *word);
void watch_say_number(struct watch_record *record, const char *word, const char *key,
                      int64_t number);
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

/* With data 1, for reports that were dropped, other notes are suspicion only. */
#define WATCH_CERTAIN \
	(XPOLL_NOTE_EXTEND | XPOLL_NOTE_TRUNCATE | XPOLL_NOTE_LINK | XPOLL_NOTE_DELETE)

/* Set notes and names from "write,create"; NULL: the default. */
int watch_choose_events(struct watch *w, const char *list);

/* Add the requested notes among fflags to the record. */
void watch_say_notes(const struct watch *w, struct watch_record *record,
                     uint32_t fflags);

/* Print one line: a change of the name path, which is now `to`, or NULL. */
void watch_show_name(struct watch *w, const char *source, uint32_t what,
                     const char *path, const char *to);

/* Open a file to watch it, without reading it.  Returns the descriptor, or -1 with errno. */
int watch_open(const char *name, int flags);

/* --- watch_file.c, watch_tree.c ------------------------------------------- */

int watch_add_file(struct watch *w, const struct tool_item *argument);
int watch_add_tree(struct watch *w, const struct tool_item *argument);
int watch_add_path(struct watch *w, const struct tool_item *argument);

void watch_file_settle(struct watch *w);

/* --- watch_process.c ------------------------------------------------------ */

int watch_add_pid(struct watch *w, const struct tool_item *argument);
int watch_add_exec(struct watch *w, char **command);

/* --- watch_spawn.c -------------------------------------------------------- */

/* Set up the signals that end us, and limits; close restores them. */
void watch_signals_open(struct watch *w);
void watch_signals_close(void);

/* Ignore a signal; commands that we start still get its old disposition. */
void watch_signal_ignore(int number);

/* Returns the signal that is to end us, and passes it on to our commands; 0: none. */
int watch_stopped(const struct watch *w);
bool watch_stopped_twice(void);

struct watch_spawned {
	pid_t pid;
	int gate, failure; /* of watch_spawn.c */
};

/* Fork a child, which executes argv after watch_spawn_go.  Returns 0, or -1 with errno. */
int watch_spawn(const struct watch *w, char *const argv[],
                struct watch_spawned *spawned);
int watch_spawn_go(struct watch_spawned *spawned); /* returns 0, or the error */
void watch_spawn_cancel(struct watch_spawned *spawned);

/* Returns the exit code of a child that has exited, as in a shell. */
int watch_reap(pid_t pid);

/* --- watch_run.c ---------------------------------------------------------- */

void watch_run_note(struct watch *w); /* an event has occurred */
void watch_run_step(struct watch *w, int64_t now_ns);
int64_t watch_run_due_ns(const struct watch *w); /* when to step; INT64_MAX: no need */
bool watch_run_busy(const struct watch *w);      /* the command runs, or has to */

/* Returns true once the command has nothing more to do; for loops over events, too. */
bool watch_has_ended(const struct watch *w, bool queue_is_empty, int64_t now_ns);

#endif

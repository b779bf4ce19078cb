/*
 * xpoll watch --pid and --exec: processes and their children.
 *
 * The queue tracks children, and reports each by an event with the udata of the first process.  A
 * source (that process and its descendants) ends when all its reported processes have exited; if a
 * child is reported after that, the source counts again until the child exits.
 *
 * If tracking is refused, at least the exit of the process itself is reported, and a message says
 * what is missing.
 */
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watch.h"

#define COMMAND_MAX 1024 /* bytes of a command line */

/* A process that the command line asks to watch, and its descendants. */
struct processes {
	struct watch_item item;
	void *known; /* a tree (tsearch(3)) of struct process: processes that have not exited */
	int alive;   /* number of processes in the tree */
	pid_t child; /* the process of --exec; 0: none */
};

struct process {
	int64_t pid;
	char command[COMMAND_MAX];
};

static int process_order(const void *a, const void *b)
{
	int64_t x = ((const struct process *)a)->pid;
	int64_t y = ((const struct process *)b)->pid;

	return x < y ? -1 : x > y;
}

static struct process *process_find(struct processes *its, int64_t pid)
{
	const struct process wanted = { .pid = pid };
	void *const *found = tfind(&wanted, &its->known, process_order);

	return found != NULL ? *found : NULL;
}

/*
 * Add a process, unless it is known; command may be NULL.  Returns NULL if memory is lacking: then
 * lines about the process have no command.
 */
static struct process *process_know(struct processes *its, int64_t pid,
                                    const char *command)
{
	struct process *it = process_find(its, pid);

	if (it != NULL)
		return it;
	it = calloc(1, sizeof *it);
	if (it == NULL)
		return NULL;
	it->pid = pid;
	snprintf(it->command, sizeof it->command, "%s", command != NULL ? command : "");
	if (tsearch(it, &its->known, process_order) == NULL) {
		free(it);
		return NULL;
	}
	its->alive++;
	return it;
}

static void process_forget(struct processes *its, struct process *it)
{
	tdelete(it, &its->known, process_order);
	free(it);
	its->alive--;
}

/* Read a file of /proc/PID.  Returns the number of bytes; 0: none, or it cannot be opened. */
static size_t read_proc(int64_t pid, const char *name, char *text, size_t size)
{
	char path[48];
	FILE *file;
	size_t len;

	snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	len = fread(text, 1, size - 1, file);
	fclose(file);
	return len;
}

/* Returns true if process IDs in /proc belong to the PID namespace of this process. */
static bool proc_is_ours(void)
{
	char name[16];
	ssize_t len = readlink("/proc/self", name, sizeof name - 1);

	if (len <= 0)
		return false;
	name[len] = '\0';
	return strtol(name, NULL, 10) == (long)getpid();
}

/*
 * Store the command line of a running process, or the program's name of one that has just exited.
 * Stores "" if the process is gone; leaves the command as it is if there is no usable /proc.
 */
static void process_read_command(struct process *it)
{
	size_t len = 0;

	if (!proc_is_ours())
		return;
	len = read_proc(it->pid, "cmdline", it->command, sizeof it->command);
	if (len == 0)
		len = read_proc(it->pid, "comm", it->command, sizeof it->command);
	for (size_t i = 0; i < len; i++)
		if (it->command[i] == '\0' || it->command[i] == '\n')
			it->command[i] = ' ';
	while (len > 0 && it->command[len - 1] == ' ')
		len--;
	it->command[len] = '\0';
}

/* Append how the process has ended. */
static void say_end(struct watch_record *record, const struct xpoll_event *event,
                    char *name, size_t size)
{
	int status = (int)event->data;

	if ((event->fflags & XPOLL_NOTE_STATUS_UNKNOWN) != 0) {
		watch_say(record, "exit");
	} else if (WIFSIGNALED(status)) {
		watch_say(record, "killed");
		watch_about(record, ": SIG", "signal",
		            tool_signal_name(WTERMSIG(status), name, size));
	} else {
		watch_say_number(record, "exit", "status", WEXITSTATUS(status));
	}
}

/* Print a line for all notes of an event; it: the process, NULL if memory was lacking. */
static void process_show(struct watch *w, struct process *it,
                         const struct xpoll_event *event)
{
	struct watch_record record = { .source = "process" };
	char name[16];

	if ((event->fflags & XPOLL_NOTE_CHILD) != 0)
		watch_say(&record, "child");
	if ((event->fflags & XPOLL_NOTE_FORK) != 0)
		watch_say(&record, "fork");
	if ((event->fflags & XPOLL_NOTE_EXEC) != 0)
		watch_say(&record, "exec");
	if ((event->fflags & XPOLL_NOTE_TRACKERR) != 0) {
		watch_say(&record, "missed");
		w->incomplete = true;
	}
	watch_about_number(&record, "", "pid", (int64_t)event->ident);
	/* Print the whole command line after an exec only, otherwise its first word. */
	if (it != NULL && it->command[0] != '\0')
		watch_about_brief(&record, " ", "command", it->command,
		                  (event->fflags & XPOLL_NOTE_EXEC) != 0
		                  ? 0 : (int)strcspn(it->command, " "));
	if ((event->fflags & XPOLL_NOTE_EXIT) != 0)
		say_end(&record, event, name, sizeof name);
	else if ((event->fflags & XPOLL_NOTE_CHILD) != 0)
		watch_about_number(&record, ", child of ", "parent", event->data);
	watch_show(w, &record);
}

static void process_happened(struct watch *w, struct watch_item *item,
                             const struct xpoll_event *event)
{
	struct processes *its = (struct processes *)item;
	int64_t pid = (int64_t)event->ident;
	struct process *it = process_find(its, pid);
	bool was_alive = its->alive > 0;

	if (it == NULL) {
		struct process *parent = (event->fflags & XPOLL_NOTE_CHILD) != 0
		                         ? process_find(its, event->data) : NULL;

		it = process_know(its, pid, parent != NULL ? parent->command : NULL);
	}
	if (it != NULL && (event->fflags & XPOLL_NOTE_EXEC) != 0)
		process_read_command(it);
	process_show(w, it, event);
	if (it != NULL && (event->fflags & XPOLL_NOTE_EXIT) != 0)
		process_forget(its, it);
	if (pid == its->child && (event->fflags & XPOLL_NOTE_EXIT) != 0) {
		its->child = 0;
		w->child = 0;
		w->status = watch_reap((pid_t)pid);
	}
	w->sources += (its->alive > 0) - was_alive;
}

static void processes_close(struct watch *w, struct watch_item *item)
{
	struct processes *its = (struct processes *)item;

	(void)w;
	while (its->known != NULL)
		process_forget(its, *(struct process **)its->known);
	free(its);
}

/*
 * Register the process for these notes, or, if that fails, for its exit alone, after a message.
 * Returns 0 or an errno value.
 */
static int process_register(struct watch *w, const struct tool_item *argument,
                            struct processes *its, pid_t pid, uint32_t fflags)
{
	int error = watch_register(w, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD, fflags, 0,
	                           &its->item);

	if (error == 0 || error == ESRCH || (fflags & ~XPOLL_NOTE_EXIT) == 0)
		return error;
	if (watch_register(w, (uint64_t)pid, XPOLL_FILT_PROC, XPOLL_ADD, XPOLL_NOTE_EXIT,
	                   0, &its->item) != 0)
		return error;
	tool_warn(w->usage, "%s %s: only its end is reported, no forks and execs: %s",
	          argument->option, argument->text, strerror(error));
	w->incomplete = true;
	return 0;
}

static struct processes *processes_new(pid_t pid)
{
	struct processes *its = calloc(1, sizeof *its);
	struct process *first;

	if (its == NULL)
		return NULL;
	its->item.happened = process_happened;
	its->item.close = processes_close;
	first = process_know(its, pid, NULL);
	if (first == NULL) {
		free(its);
		return NULL;
	}
	process_read_command(first);
	return its;
}

static int processes_add(struct watch *w, const struct tool_item *argument, pid_t pid,
                         uint32_t fflags, struct processes **added)
{
	struct processes *its = processes_new(pid);
	int error = its != NULL ? process_register(w, argument, its, pid, fflags) : ENOMEM;

	if (error != 0) {
		if (its != NULL)
			processes_close(w, &its->item);
		return watch_refuse(w, argument, error);
	}
	watch_link(w, &its->item);
	w->sources++;
	*added = its;
	return TOOL_GO_ON;
}

int watch_add_pid(struct watch *w, const struct tool_item *argument)
{
	size_t digits = strspn(argument->text, "0123456789");
	long number = strtol(argument->text, NULL, 10);
	uint32_t fflags = XPOLL_NOTE_EXIT | XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC;
	struct processes *its;

	if (argument->text[digits] != '\0' || number < 1 || number > INT_MAX)
		return tool_complain(w->usage, "%s %s: expected a process id",
		                     argument->option, argument->text);
	if (watch_has(w, (uint64_t)number, XPOLL_FILT_PROC))
		return TOOL_GO_ON;
	if (w->recursive)
		fflags |= XPOLL_NOTE_TRACK;
	return processes_add(w, argument, (pid_t)number, fflags, &its);
}

int watch_add_exec(struct watch *w, char **command)
{
	const struct tool_item argument = { .option = "--exec", .text = command[0] };
	struct watch_spawned spawned;
	struct processes *its;
	int result, error = 0;

	if (watch_spawn(w, command, &spawned) < 0)
		return watch_refuse(w, &argument, errno);
	result = processes_add(w, &argument, spawned.pid,
	                       XPOLL_NOTE_EXIT | XPOLL_NOTE_FORK | XPOLL_NOTE_EXEC |
	                       XPOLL_NOTE_TRACK, &its);
	if (result == TOOL_GO_ON) {
		its->child = w->child = spawned.pid;
		error = watch_spawn_go(&spawned);
	} else {
		watch_spawn_cancel(&spawned);
	}
	if (error != 0) {
		w->child = 0;
		return watch_refuse(w, &argument, error);
	}
	return result;
}

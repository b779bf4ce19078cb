/*
 * The delivered events of processes, merged for each process, because one event
 * or several may report its changes.  Events of several processes come in any
 * order, except that the exit of a process comes after the forks of its
 * children.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include "helper.h"

#define PROC XPOLL_FILT_PROC
#define EXIT XPOLL_NOTE_EXIT
#define FORK XPOLL_NOTE_FORK
#define EXEC XPOLL_NOTE_EXEC
#define TRACK XPOLL_NOTE_TRACK
#define CHILD XPOLL_NOTE_CHILD
#define TRACKERR XPOLL_NOTE_TRACKERR
#define UNKNOWN XPOLL_NOTE_STATUS_UNKNOWN
#define ALL (EXIT | FORK | EXEC | TRACK)

enum { HISTORY_MOST = 40000 };

struct told {
	pid_t pid;
	uint32_t notes;
	pid_t parent; /* valid if `notes` has CHILD */
	int status;   /* valid if `notes` has EXIT */
	int events;
};

struct history {
	struct told *told; /* freed with the process */
	int len;
};

/* Register a process.  Returns 0 or an errno value. */
int history_watch(struct xpoll *queue, pid_t pid, uint32_t fflags);
/* Start a new helper, and register it with these fflags. */
struct helper history_helper(struct xpoll *queue, uint32_t fflags);

/* Returns true if this system can report forks; otherwise the test is skipped. */
bool history_can_be_told(void);
#define HISTORY_OR_SKIP()                                              \
	do {                                                         \
		if (!history_can_be_told())                            \
			XT_SKIP("forks cannot be traced this way here"); \
	} while (0)

/*
 * Returns true if forks are reported by the process connector, which reports those of all
 * processes.
 */
bool history_by_connector(void);

/* Add the events that are ready to the history. */
void history_hear(struct xpoll *queue, struct history *history);
/* Wait until all these notes of the process have been delivered. */
bool history_until(struct xpoll *queue, struct history *history, pid_t pid,
                   uint32_t notes);
/* Wait until all these notes of this many processes have been delivered. */
bool history_until_count(struct xpoll *queue, struct history *history, int count,
                         uint32_t notes);

/* Returns the history of a process, never NULL: without an event all members are 0. */
const struct told *history_of(const struct history *history, pid_t pid);
/* Returns the number of processes with all these notes. */
int history_count(const struct history *history, uint32_t notes);

/* Returns true if one event reports the end of a child, and waitpid(2) returns the same status. */
bool history_ends_with(struct xpoll *queue, struct helper helper, int status);

#endif

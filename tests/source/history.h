/*
 * The events of processes that a queue has delivered, merged: one event or several may report the
 * changes of a process, and events of several processes come in any order, except that a process's
 * end comes after the forks of its children.
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
	pid_t parent; /* if CHILD */
	int status;   /* if EXIT */
	int events;
};

struct history {
	struct told *told; /* freed with the process */
	int len;
};

/* A registration; 0 or an errno. */
int history_watch(struct xpoll *queue, pid_t pid, uint32_t fflags);
/* A new helper, registered so. */
struct helper history_helper(struct xpoll *queue, uint32_t fflags);

/* Is there a way to learn of forks here?  Else the test is skipped. */
bool history_can_be_told(void);
#define HISTORY_OR_SKIP()                                              \
	do {                                                         \
		if (!history_can_be_told())                            \
			XT_SKIP("forks cannot be traced this way here"); \
	} while (0)

/* By the process connector, which hears of everybody. */
bool history_by_connector(void);

/* Add the events that are ready to the history. */
void history_hear(struct xpoll *queue, struct history *history);
/* Wait until all this of the process has been delivered. */
bool history_until(struct xpoll *queue, struct history *history, pid_t pid,
                   uint32_t notes);
/* Wait until so many processes have. */
bool history_until_count(struct xpoll *queue, struct history *history, int count,
                         uint32_t notes);

/* Never NULL: of a process without an event all is 0. */
const struct told *history_of(const struct history *history, pid_t pid);
/* How many processes did all this. */
int history_count(const struct history *history, uint32_t notes);

/* Returns true if one event reports the end of a child, and waitpid(2) returns the same status. */
bool history_ends_with(struct xpoll *queue, struct helper helper, int status);

#endif

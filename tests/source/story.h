/*
 * What a queue tells of processes, put together: events of one process may be
 * merged or not, and those of several come in any order.
 */
#ifndef STORY_H
#define STORY_H

#include "puppet.h"

#define PROC XPOLL_FILT_PROC
#define EXIT XPOLL_NOTE_EXIT
#define FORK XPOLL_NOTE_FORK
#define EXEC XPOLL_NOTE_EXEC
#define TRACK XPOLL_NOTE_TRACK
#define CHILD XPOLL_NOTE_CHILD
#define TRACKERR XPOLL_NOTE_TRACKERR
#define UNKNOWN XPOLL_NOTE_STATUS_UNKNOWN
#define ALL (EXIT | FORK | EXEC | TRACK)

enum { STORY_MOST = 40000 };

struct told {
	pid_t pid;
	uint32_t notes;
	pid_t parent; /* if CHILD */
	int status;   /* if EXIT */
	int events;
};

struct story {
	struct told *told; /* freed with the process */
	int len;
};

/* A registration; 0 or an errno. */
int story_watch(struct xpoll *queue, pid_t pid, uint32_t fflags);

/* Is there a way to learn of forks here?  Else the test is skipped. */
bool story_can_be_told(void);
#define STORY_OR_SKIP()                                              \
	do {                                                         \
		if (!story_can_be_told())                            \
			XT_SKIP("forks cannot be traced this way here"); \
	} while (0)

/* By the process connector, which hears of everybody. */
bool story_by_connector(void);

/* Take what there is. */
void story_hear(struct xpoll *queue, struct story *story);
/* Wait until this process has been told to have done all this. */
bool story_until(struct xpoll *queue, struct story *story, pid_t pid,
                 uint32_t notes);
/* Wait until so many processes have. */
bool story_until_count(struct xpoll *queue, struct story *story, int count,
                       uint32_t notes);

/* Never NULL: of a process that was not told of, all is 0. */
const struct told *story_of(const struct story *story, pid_t pid);
/* How many processes did all this. */
int story_count(const struct story *story, uint32_t notes);

/* One event tells the end of a child, and waitpid(2) then says the same. */
bool story_ends_with(struct xpoll *queue, struct puppet puppet, int status);

#endif

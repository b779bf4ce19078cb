/* The orders that a test writes to a helper, and how a helper is started. */
#ifndef HELPER_LETTER_H
#define HELPER_LETTER_H

enum order {
	FORK,
	FORK_BY_THREAD,
	VFORK,
	GROW,
	STORM,
	BURST,
	REAP,
	THREAD,
	THREAD_OBEYS,
	LEADER_ENDS,
	EXEC,
	EXEC_BY_THREAD,
	EXEC_FAILS,
	EXEC_COPY,
	EXEC_OTHER,
	IGNORE_CHILDREN,
	EXIT,
	KILL,
};

struct letter {
	int order;
	int argument;
	int other;
	char path[100];
};

/* Room for a control message with one descriptor. */
union letter_cover {
	struct cmsghdr header;
	char room[64]; /* CMSG_SPACE is not a constant on every system */
};

extern char helper_option[];     /* first argument of a helper; the second one is a descriptor */

#endif

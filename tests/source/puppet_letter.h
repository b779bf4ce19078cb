/* What a test writes to a puppet, and how a puppet is started. */
#ifndef PUPPET_LETTER_H
#define PUPPET_LETTER_H

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

extern char puppet_option[];     /* its first argument; then a descriptor */

#endif

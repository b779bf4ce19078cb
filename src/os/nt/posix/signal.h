/* There are no signals that a thread could block: the names alone. */
#ifndef XP_OS_NT_SIGNAL_H
#define XP_OS_NT_SIGNAL_H

typedef struct {
	unsigned long none;
} sigset_t;

struct sigaction;

#endif

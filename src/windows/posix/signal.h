/* <signal.h> for a system whose threads cannot block signals: types and a few numbers. */
#ifndef XP_WINDOWS_POSIX_SIGNAL_H
#define XP_WINDOWS_POSIX_SIGNAL_H

typedef struct {
	unsigned long none;
} sigset_t;

struct sigaction;

/* The numbers of the C library. */
#define SIGINT   2
#define SIGTERM  15
#define SIGBREAK 21
#define NSIG     23

#endif
